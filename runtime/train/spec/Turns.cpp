// Lists the entries of each block in the order of its phases, which end where groups thaw.
#include "runtime/train/spec/Turns.h"

#include "runtime/base/Text.h"
#include "runtime/include/gradc/entries.h"
#include "runtime/train/spec/Optimizers.h"

#include <algorithm>
#include <limits>

namespace gradc::runtime {

static constexpr int64_t forever = std::numeric_limits<int64_t>::max();

/// The spec's own optimizer, or the first block's.
static Config commonOptimizer(Config job) {
  Config own = job.child("optimizer");
  for (Config block : job.children("train"))
    if (!own)
      own = block.child("optimizer");
  return own;
}

double commonRate(Config job) { return optimizerRate(commonOptimizer(job)); }

std::string_view blockOf(std::string_view entryName) {
  constexpr std::string_view prefix = GRADC_TRAIN_PREFIX;
  if (!entryName.starts_with(prefix))
    return {};
  entryName.remove_prefix(prefix.size());
  std::string_view name = entryName.substr(0, entryName.find('.'));
  return gradc_begins_suffix(name.data(), name.size()) ? std::string_view() : name;
}

double shareOfGroup(Config job, std::string_view block, std::string_view group) {
  std::vector<Config> groups;
  double common = commonRate(job);
  for (Config one : job.children("train"))
    if (one.string("name") == block) {
      groups = one.children("group");
      if (Config optimizer = one.child("optimizer"))
        common = optimizerRate(optimizer);
    }
  for (Config one : job.children("group"))
    groups.push_back(one);
  for (Config one : groups) {
    if (one.string("pattern") != group)
      continue;
    double rate = common;
    if (Config optimizer = one.child("optimizer"))
      rate = optimizerRate(optimizer);
    return one.real("learning_rate", rate) / common;
  }
  return 1;
}

Turns::Turns(Config job, const std::function<bool(std::string_view name)> &exists) {
  std::vector<Config> configs = job.children("train");
  if (configs.empty())
    configs.push_back({});
  std::vector<Config> groups = job.children("group");
  for (Config block : configs)
    for (Config group : block ? block.children("group") : std::vector<Config>())
      groups.push_back(group);
  std::vector<int64_t> phases;
  for (Config group : groups)
    if (int64_t until = group.integer("frozen_until_step", 0)) {
      phases.push_back(until);
      for (Config pattern : group.children("pattern"))
        thaws.emplace_back(until, pattern.string());
    }
  std::ranges::sort(phases);
  phases.erase(std::ranges::unique(phases).begin(), phases.end());

  double common = commonRate(job);
  for (Config config : configs) {
    Block block{config ? config.integer("steps", 1) : 1, all.size(), 0};
    Entry entry{GRADC_TRAIN_ENTRY, {}, forever, 1, optimizerMomentum(commonOptimizer(job))};
    if (config) {
      entry.block = config.string("name");
      entry.name = text(GRADC_TRAIN_PREFIX, entry.block);
      if (Config optimizer = config.child("optimizer")) {
        entry.share = optimizerRate(optimizer) / common;
        entry.momentum = optimizerMomentum(optimizer);
      }
    }
    for (int64_t until : phases)
      if (std::string name = text(entry.name, GRADC_UNTIL_INFIX, until); exists(name))
        all.push_back({name, entry.block, until, entry.share, entry.momentum});
    all.push_back(std::move(entry));
    block.end = all.size();
    cycle += block.steps;
    blocks.push_back(block);
  }
}

size_t Turns::inPhase(const Block &block, int64_t done) const {
  size_t entry = block.first;
  while (done >= all[entry].until)
    ++entry;
  return entry;
}

size_t Turns::entryOf(int64_t done) const {
  int64_t at = done % cycle;
  for (const Block &block : blocks) {
    if (at < block.steps)
      return inPhase(block, done);
    at -= block.steps;
  }
  return 0; // not reached: the blocks' steps are the cycle
}

size_t Turns::entryOf(std::string_view name, int64_t done) const {
  for (const Block &block : blocks)
    if (all[block.first].block == name)
      return inPhase(block, done);
  return all.size();
}

std::string Turns::thawnAfter(int64_t done) const {
  std::string patterns;
  for (const auto &[until, pattern] : thaws)
    if (until == done)
      patterns += text(patterns.empty() ? "'" : ", '", pattern, '\'');
  return patterns;
}

} // namespace gradc::runtime
