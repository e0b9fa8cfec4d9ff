// Exchanges within a replica of the model, and between replicas.
#ifndef RUNTIME_RANKS_GROUPSUMS_H
#define RUNTIME_RANKS_GROUPSUMS_H

#include "runtime/ranks/MessageSums.h"
#include "runtime/ranks/RankPages.h"

#include <memory>

namespace gradc::runtime {

/// The two groups of each rank where several replicas of the model have several ranks each: the
/// ranks of its replica, and the ranks with its part of the model in all replicas. Each group has
/// its own messages and, on one host, its own rings.
class GroupSums {
public:
  /// Collective call. Each `modelRanks` successive ranks have a replica; there are at least two
  /// replicas. `messages` are those of all ranks. The arguments must outlive the result; `pages`
  /// may be null, as in SharedSums::create.
  static Result<std::unique_ptr<GroupSums>> create(Messages &messages, RankPages *pages,
                                                   int modelRanks);

  /// As of a Communicator, for the group that the exchange names, which is not all ranks. The
  /// numbers that `start` returns have a mark.
  static bool isOne(uint64_t exchange) { return exchange & anyMark; }
  Result<uint64_t> start(std::span<const Communicator::Piece> pieces,
                         const Communicator::Exchange &exchange);
  Status progress();
  Status waitFor(uint64_t exchange);
  Status settle();
  uint64_t sentBytes() const;

private:
  /// Bits of exchange numbers that no single group uses.
  static constexpr uint64_t dataMark = uint64_t(1) << 61, modelMark = uint64_t(1) << 62,
                            anyMark = dataMark | modelMark;
  struct Group {
    std::unique_ptr<Messages> messages;
    std::unique_ptr<PolledSums> sums;
  };
  static Result<Group> join(Messages &messages, RankPages *pages, int color);

  explicit GroupSums(Messages &messages) : messages(messages) {}

  Messages &messages;
  Group model, data;
};

} // namespace gradc::runtime

#endif
