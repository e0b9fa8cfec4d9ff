// The model of a map stage: an entry of the artifact whose ports are fields.
#ifndef RUNTIME_DATA_TRANSFORM_MAPMODEL_H
#define RUNTIME_DATA_TRANSFORM_MAPMODEL_H

#include "runtime/core/Session.h"
#include "runtime/core/artifact/Config.h"
#include "runtime/core/entry/Program.h"
#include "runtime/data/Random.h"
#include "runtime/data/Row.h"

#include <memory>

namespace gradc::runtime {

struct MapModel {
  /// The model of a `map { model }` block; `models` may be null. `tail` selects the model for a
  /// smaller last batch, which may be null.
  static Result<std::shared_ptr<const MapModel>> find(Config map, const Session *models, bool tail);

  /// The maximum number of rows, the first dim of all ports; 0 if ports have the shape of a row.
  int64_t batch() const { return entry->batch; }
  bool takesAnyRows() const { return entry->any_rows; }
  size_t rows() const { return batch() ? size_t(batch()) : 1; }
  /// The size of an input, in whole cache lines.
  size_t bytesOf(size_t input) const;
  /// Fails if a field does not have the type of its input.
  Status check(size_t input, const Field &field, const std::string &where) const;

  std::string name; ///< for messages: "model 'augment.onnx'"
  const Session *session = nullptr;
  const gradc_artifact_entry *entry = nullptr;
  std::vector<Field> inputs, outputs; ///< of one row
  std::vector<uint32_t> ports;        ///< of the inputs
};

/// A model with its own memory, for one thread.
class ModelRun {
public:
  /// The run for `rows` rows: the model's number, or fewer if the model accepts that. Stored in the
  /// slot, which belongs to the model.
  static Result<ModelRun *> of(const MapModel &model, ScratchSlot &slot, size_t rows);

  /// Points an input to its values, which must stay in place until `run`.
  void bind(size_t input, const std::byte *values);
  Status run(Random random);
  /// An output of the last run.
  const std::byte *output(size_t output) const;

  RowRef made = {0, -1}; ///< of the last run, for callers that ask for a row's fields one by one

private:
  ModelRun(const MapModel &model, std::byte *scalars) : model(model), scalars(scalars) {}

  std::byte *scalarOf(const gradc_artifact_port &port);
  void setRows(size_t rows);

  const MapModel &model;
  std::unique_ptr<Program> program;
  size_t rows = 0;
  /// One cache line each for the seed, the counter, and the number of rows, then room for inputs
  /// that are not aligned to 64 bytes.
  std::byte *scalars;
};

} // namespace gradc::runtime

#endif
