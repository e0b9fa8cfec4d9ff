// The parts of a training spec that make one kind of step: those of a `train` block, and for what
// it does not say those around it.
#ifndef COMPILER_IMPORT_STEPSPEC_H
#define COMPILER_IMPORT_STEPSPEC_H

#include "compiler/import/spec/TrainingSpec.h"

namespace gradc {

/// The way to a field.
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
  /// `block` counts the spec's `train` blocks; -1: the spec itself.
  explicit StepSpec(const spec::Training &training, int block = -1)
      : training(&training), index(block) {}

  bool isBlock() const { return index >= 0; }
  /// "critic"; "" of the spec itself.
  std::string name() const { return isBlock() ? block().name() : ""; }
  /// "train.critic", "train".
  std::string entryName() const { return isBlock() ? "train." + name() : "train"; }
  /// Whether the step trains this initializer, if it trains at all.
  bool trains(llvm::StringRef initializer) const;

  using Losses = google::protobuf::RepeatedPtrField<spec::Loss>;
  const Losses &losses() const { return hasOwnLosses() ? block().loss() : training->loss(); }
  /// Whether the losses are a block's, not the spec's.
  bool hasOwnLosses() const { return isBlock() && block().loss_size(); }
  SpecPlace lossPlace(int loss) const { return place(hasOwnLosses(), {"loss", loss}); }
  /// A block's steps have none.
  using Metrics = google::protobuf::RepeatedPtrField<spec::Metric>;
  const Metrics &metrics() const {
    static const Metrics none;
    return isBlock() ? none : training->metric();
  }
  const spec::Optimizer &optimizer() const {
    return isBlock() && hasOwnOptimizer() ? block().optimizer() : training->optimizer();
  }
  SpecPlace optimizerPlace() const { return place(isBlock() && hasOwnOptimizer(), {"optimizer"}); }
  /// Null: gradients are not clipped.
  const spec::Clip *clip() const {
    return ownClip() ? ownClip() : training->has_clip() ? &training->clip() : nullptr;
  }

  /// Whether the step's optimizer stands in its own block. Beside blocks the spec itself needs
  /// none.
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

/// The kinds of steps that a spec trains with, in their order: its `train` blocks, or itself.
llvm::SmallVector<StepSpec> stepsOf(const spec::Training &training);

} // namespace gradc

#endif
