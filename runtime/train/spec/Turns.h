// Determines the kind of each step of a run: whose turn it is in the cycle of the spec's `train`
// blocks, and which groups are frozen.
#ifndef RUNTIME_TRAIN_SPEC_TURNS_H
#define RUNTIME_TRAIN_SPEC_TURNS_H

#include "runtime/core/artifact/Config.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace gradc::runtime {

/// The kind of a step only depends on the step's number, so a resume needs no state.
class Turns {
public:
  struct Entry {
    std::string name;  ///< in the artifact: "train", "train.critic.until.100"
    std::string block; ///< "critic"; "" without `train` blocks
    int64_t until;     ///< steps of the run
    double share;      ///< relative to the run's learning rate
    double momentum;   ///< of its optimizer, unless a schedule changes it
  };

  /// `exists`: whether the artifact has an entry of that name.
  Turns(Config job, const std::function<bool(std::string_view name)> &exists);

  const std::vector<Entry> &entries() const { return all; }
  /// The index of the entry that runs the step after `done` steps.
  size_t entryOf(int64_t done) const;
  /// The entry of a block; entries().size() if there is no block of that name.
  size_t entryOf(std::string_view block, int64_t done) const;
  /// The patterns of groups that are frozen up to this step: "'body.*' and 'norm*'"; "" if there
  /// are none.
  std::string thawnAfter(int64_t done) const;

private:
  struct Block {
    int64_t steps;     ///< in a row
    size_t first, end; ///< of its entries, in the order of their phases
  };
  size_t inPhase(const Block &block, int64_t done) const;

  std::vector<Entry> all;
  std::vector<Block> blocks;
  std::vector<std::pair<int64_t, std::string>> thaws; ///< a step, and a pattern
  int64_t cycle = 0;
};

/// The learning rate that the rates of all blocks and groups are relative to: that of the spec's
/// optimizer, or of the first block's.
double commonRate(Config job);
/// "critic" for "train.critic.until.100"; "" if the entry is not a block's.
std::string_view blockOf(std::string_view entryName);
/// The rate of a group, identified by its first pattern, divided by that of the block that trains
/// it.
double shareOfGroup(Config job, std::string_view block, std::string_view group);

} // namespace gradc::runtime

#endif
