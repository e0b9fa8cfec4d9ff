// The parts of a training spec that define one kind of step: those of a `train` block, and those of
// the surrounding spec if the block does not set them.
#ifndef COMPILER_IMPORT_SPEC_STEPSPEC_H
#define COMPILER_IMPORT_SPEC_STEPSPEC_H

#include "compiler/import/spec/TrainingSpec.h"
#include "runtime/include/gradc/entries.h"

namespace gradc {

/// The path to a field.
class SpecPlace {
public:
  SpecPlace(std::initializer_list<SpecFile::Step> steps) : steps(steps) {}
  SpecPlace operator+(SpecFile::Step step) const {
    SpecPlace place(*this);
    place.steps.push_back(step);
    return place;
  }
  operator llvm::ArrayRef<SpecFile::Step>() const { return steps; }

private:
  llvm::SmallVector<SpecFile::Step, 4> steps;
};

class StepSpec {
public:
  /// `block` is the index of a `train` block of the spec; -1 for the spec itself.
  explicit StepSpec(const spec::Training &training, int block = -1)
      : training(&training), index(block) {}

  bool isBlock() const { return index >= 0; }
  /// For example "critic"; "" for the spec itself.
  std::string name() const { return isBlock() ? block().name() : ""; }
  /// For example "train.critic" or "train".
  std::string entryName() const {
    return isBlock() ? GRADC_TRAIN_PREFIX + name() : GRADC_TRAIN_ENTRY;
  }
  /// The number of steps in a row of this kind.
  int64_t count() const { return isBlock() ? block().steps() : 1; }
  /// Whether the step trains this initializer, if it trains at all.
  bool trains(llvm::StringRef initializer) const;

  using Losses = google::protobuf::RepeatedPtrField<spec::Loss>;
  const Losses &losses() const { return hasOwnLosses() ? block().loss() : training->loss(); }
  /// Whether the losses come from a block, not from the spec.
  bool hasOwnLosses() const { return isBlock() && block().loss_size(); }
  SpecPlace lossPlace(int loss) const { return place(hasOwnLosses(), {"loss", loss}); }
  /// The steps of a block have no metrics.
  using Metrics = google::protobuf::RepeatedPtrField<spec::Metric>;
  const Metrics &metrics() const {
    static const Metrics none;
    return isBlock() ? none : training->metric();
  }
  const spec::Optimizer &optimizer() const {
    return isBlock() && hasOwnOptimizer() ? block().optimizer() : training->optimizer();
  }
  SpecPlace optimizerPlace() const { return place(isBlock() && hasOwnOptimizer(), {"optimizer"}); }
  /// Null if gradients are not clipped.
  const spec::Clip *clip() const {
    return ownClip() ? ownClip() : training->has_clip() ? &training->clip() : nullptr;
  }

  /// Whether the step's optimizer is in its own block. A spec with blocks needs no optimizer
  /// itself.
  bool hasOwnOptimizer() const {
    return isBlock() ? block().has_optimizer()
                     : training->has_optimizer() || !training->train_size();
  }
  const spec::Clip *ownClip() const {
    if (isBlock())
      return block().has_clip() ? &block().clip() : nullptr;
    return training->has_clip() ? &training->clip() : nullptr;
  }
  using Groups = google::protobuf::RepeatedPtrField<spec::Group>;
  const Groups &ownGroups() const { return isBlock() ? block().group() : training->group(); }
  SpecPlace ownPlace(SpecFile::Step field) const { return place(isBlock(), field); }

private:
  const spec::Train &block() const { return training->train(index); }
  SpecPlace place(bool inBlock, SpecFile::Step field) const {
    return inBlock ? SpecPlace{{"train", index}, field} : SpecPlace{field};
  }

  const spec::Training *training;
  int index;
};

/// The kinds of steps of a spec, in the spec's order: its `train` blocks, or the spec itself.
llvm::SmallVector<StepSpec> stepsOf(const spec::Training &training);

} // namespace gradc

#endif
