// Checkpoints: every state of a session and the position of its training, in one file.
#ifndef RUNTIME_TRAIN_CHECKPOINT_H
#define RUNTIME_TRAIN_CHECKPOINT_H

#include "runtime/core/Session.h"
#include "runtime/data/Dataset.h"
#include "runtime/data/Pipeline.h"
#include "runtime/data/source/MappedFile.h"

namespace gradc::runtime {

/// Numbers that a run keeps between its steps besides the model's states, by the name of what keeps
/// them.
using RunState = std::map<std::string, std::vector<double>>;

/// The position of a training.
struct TrainPosition {
  uint64_t step = 0; ///< steps done
  Position data;     ///< of the training data's iterator
  uint64_t rows = 0; ///< of the training data, per epoch
  uint64_t seed = 0;
  DataState dataState; ///< found out by the data's stages
  RunState runState = {};
};

/// Atomic: the file is whole or absent, and a file that it replaces stays until then.
Status writeCheckpoint(const std::string &path, Session &session, const TrainPosition &position,
                       bool isDurable = true);

/// What other ranks do while the first one writes a checkpoint: they give it what they own.
Status joinCheckpoint(Session &session);

/// The name of the model's tensor that is held by a state of that name and kind, or averaged by it.
std::string_view modelName(std::string_view name, uint32_t kind);

/// An opened checkpoint, complete and undamaged.
class Checkpoint {
public:
  struct State {
    std::string_view name;
    gradc_dtype dtype;
    gradc_state_kind kind;
    std::span<const int64_t> shape;
    std::span<const std::byte> bytes; ///< row-major

    /// A tensor of the model, or its average; else the optimizer's, the run's, or what the data's
    /// stages have found out.
    bool isWeight() const;
  };

  /// The beginning of a checkpoint file.
  static constexpr std::string_view magic = "GRADCCKP";

  static Result<Checkpoint> open(const std::string &path);

  const std::string &file() const { return path; }
  uint64_t modelHash() const { return theModelHash; }
  const TrainPosition &position() const { return thePosition; }
  /// The CPU level that it was trained on.
  const std::string &level() const { return theLevel; }
  std::span<const State> states() const { return theStates; }

  /// The tensors of the model as they are exported: averages in place of their weights.
  std::vector<State> weights() const;

  /// Whether the artifact averages weights and the checkpoint has no averages: they begin at the
  /// weights.
  bool lacksAverages(const Artifact &artifact) const;
  /// Writes the states into a session; its artifact must be of the same model.
  Status restore(Session &session) const;

private:
  Status parse();
  const State *find(std::string_view name) const;

  std::string path;
  std::shared_ptr<const MappedFile> mapped;
  uint64_t theModelHash = 0;
  TrainPosition thePosition;
  std::string theLevel;
  std::vector<State> theStates;
};

} // namespace gradc::runtime

#endif
