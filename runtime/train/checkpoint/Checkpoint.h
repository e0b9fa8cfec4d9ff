// Checkpoints: all states of a session and the position of its training, in one file.
#ifndef RUNTIME_TRAIN_CHECKPOINT_CHECKPOINT_H
#define RUNTIME_TRAIN_CHECKPOINT_CHECKPOINT_H

#include "runtime/core/Session.h"
#include "runtime/data/Dataset.h"
#include "runtime/data/Pipeline.h"
#include "runtime/data/source/MappedFile.h"

namespace gradc::runtime {

/// Numbers that a run keeps between its steps besides the model's states, keyed by the name of
/// their owner.
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

/// Atomic: the file is complete or absent, and a file that it replaces stays until then.
Status writeCheckpoint(const std::string &path, Session &session, const TrainPosition &position,
                       bool isDurable = true);

/// Called by other ranks while the first one writes a checkpoint: sends it the parts that they own.
Status joinCheckpoint(Session &session);

/// For example "f32[4, 3]".
std::string typeText(uint32_t dtype, std::span<const int64_t> shape);

/// The name of the model's tensor that a state of that name and kind holds or averages.
std::string_view modelName(std::string_view name, uint32_t kind);

/// An open checkpoint, complete and undamaged.
class Checkpoint {
public:
  struct State {
    std::string_view name;
    gradc_dtype dtype;
    gradc_state_kind kind;
    std::span<const int64_t> shape;
    std::span<const std::byte> bytes;                             ///< row-major
    std::shared_ptr<const std::vector<std::byte>> converted = {}; ///< `bytes`, if not the file's
    /// As in the artifact: what keeps a slot, or adds a range; "" if there is none or it is not
    /// known.
    std::string_view rule = {};

    /// The same values in a type that may differ if one is f32 and the other a 16-bit float.
    State as(gradc_dtype type) const;
    /// Whether this is no state of the run or the data's stages.
    bool isOfModel() const;
    /// Whether this is a tensor of the model or its average, not a state of the optimizer, the run,
    /// or the data's stages.
    bool isWeight() const;
  };

  static Result<Checkpoint> open(const std::string &path);

  const std::string &file() const { return path; }
  uint64_t modelHash() const { return theModelHash; }
  const TrainPosition &position() const { return thePosition; }
  /// The CPU level used for training.
  const std::string &level() const { return theLevel; }
  /// The kinds of the training's optimizers; empty if it had none, or an earlier version wrote the
  /// file.
  const std::vector<std::string> &optimizers() const { return theOptimizers; }
  std::span<const State> states() const { return theStates; }

  /// The tensors of the model as they are exported: averages instead of their weights, and in
  /// their type.
  std::vector<State> weights() const;

  /// Whether the artifact averages weights and the checkpoint has no averages, so that they start
  /// at the weights.
  bool lacksAverages(const Artifact &artifact) const;
  /// The state that each of the artifact's states starts from; null for its constants. Fails if the
  /// checkpoint is of another model, optimizer or job. Without `withSlots`, the optimizer's states
  /// do not count, and stay. A model that does not train then takes averages for their weights, as
  /// `weights` does, and leaves out what stages of the data found.
  Result<std::vector<const State *>> match(const Artifact &artifact, bool withSlots) const;
  /// Writes the states to a session, whose artifact must have the same model, and optimizer.
  Status restore(Session &session, bool withSlots = true) const;

private:
  Status parse();
  bool takeRule(std::string_view rule, std::span<const double> states);
  const State *find(std::string_view name) const;
  const State *averageOf(const State &weight) const;
  std::string otherOptimizers(const Artifact &artifact) const;
  bool lacksRules() const;
  std::string whyLacking(std::string_view state, uint32_t kind, std::string_view rule) const;

  std::string path;
  std::shared_ptr<const MappedFile> mapped;
  uint64_t theModelHash = 0;
  TrainPosition thePosition;
  std::string theLevel;
  std::vector<std::string> theOptimizers;
  std::vector<State> theStates;
};

} // namespace gradc::runtime

#endif
