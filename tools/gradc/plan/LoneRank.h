// One rank whose other ranks do not exist.
#ifndef TOOLS_GRADC_PLAN_LONERANK_H
#define TOOLS_GRADC_PLAN_LONERANK_H

#include "runtime/ranks/Communicator.h"
#include "runtime/ranks/DivideCuts.h"

namespace gradc {

/// Lets the first rank of a divided model compute its part alone, to measure it. Its exchanges cost
/// nothing and leave the values as they are, so that sums lack the terms of all other ranks.
class LoneRank final : public runtime::Communicator {
public:
  explicit LoneRank(int ranks) : ranks(ranks) {}

  int rank() const override { return 0; }
  int size() const override { return ranks; }
  int modelRanks() const override { return ranks; }

  runtime::Result<uint64_t> start(std::span<const Piece>, const Exchange &) override { return 0; }
  runtime::Status progress() override { return {}; }
  runtime::Status waitFor(uint64_t) override { return {}; }
  std::vector<int64_t> divide(std::span<const gradc_artifact_cut> cuts) const override {
    return runtime::divideCuts(cuts, ranks);
  }
  runtime::Result<std::vector<std::string>> share(const std::string &mine) override {
    return std::vector<std::string>(size_t(ranks), mine);
  }
  runtime::Status agree(const runtime::Status &mine, std::span<const Fact>) override {
    return mine;
  }
  uint64_t sentBytes() const override { return 0; }

private:
  const int ranks;
};

} // namespace gradc

#endif
