// Sums over the ranks of one host, built on shared memory.
#ifndef RUNTIME_RANKS_SHAREDSUMS_H
#define RUNTIME_RANKS_SHAREDSUMS_H

#include "runtime/ranks/HostSegments.h"
#include "runtime/ranks/MessageSums.h"
#include "runtime/ranks/Messages.h"
#include "runtime/ranks/RankPages.h"
#include "runtime/ranks/SumArray.h"

#include <atomic>
#include <deque>
#include <memory>

namespace gradc::runtime {

/// Each rank has a ring of slots. All sums pass through it chunk by chunk, in the order in which
/// they were started:
/// 1. Each rank packs the values of a chunk that other ranks own into its slot.
/// 2. Once all ranks have packed, each adds up the values that it owns, in rank order, in place and
///    into its slot.
/// 3. Once all ranks have added, each takes the other ranks' sums from their slots, which are then
///    free.
///
/// A scatter omits the work of step 3, a gather that of step 1. Values in a rank's pages that need
/// no conversion are not copied to the slot: the slot names their place, and other ranks read them
/// there. The sum ends on that rank when all of them have done so.
/// Transfers between two ranks are messages. Owners, and therefore bits, are the same as in
/// MessageSums. Slots are read from the cache that ranks share, unless a rank is far behind.
class SharedSums final : public PolledSums {
public:
  /// Max ring bytes per rank; less with many ranks.
  static constexpr size_t mostRingBytes = 16 << 20;

  /// Collective call. Null: the ranks share no memory. The arguments must outlive the result.
  /// `pages`, unless null, are this rank's, in which exchanges find its values in place.
  static Result<std::unique_ptr<SharedSums>> create(Messages &messages, RankPages *pages,
                                                    size_t ringBytes = mostRingBytes);
  ~SharedSums() override;

  int rank() const override { return messages.rank(); }
  int size() const override { return messages.size(); }
  Result<uint64_t> start(std::span<const Piece> pieces, const Exchange &exchange) override;
  Status progress() override;
  Status waitFor(uint64_t sum) override;
  Pages *pages() override { return ownPages; }
  bool hasEnded(uint64_t exchange) const override {
    return Transfers::isOne(exchange) ? agreements.hasEnded(exchange) : exchange <= ended;
  }
  Status settle() override { return agreements.settle(); }
  std::vector<int64_t> divide(std::span<const gradc_artifact_cut> cuts) const override {
    return agreements.divide(cuts);
  }
  Result<std::vector<std::string>> share(const std::string &mine) override {
    return agreements.share(mine);
  }
  Status agree(const Status &mine, std::span<const Fact> facts) override {
    return agreements.agree(mine, facts);
  }
  /// Bytes that other ranks have read from this rank's segment and pages.
  uint64_t sentBytes() const override { return sent + agreements.sentBytes(); }

private:
  enum Stage : uint8_t { packing, adding, taking, stages };
  struct Sum;
  struct Header;

  SharedSums(Messages &messages, RankPages *pages);
  Header &header(int rank) const;
  struct Slot;
  Slot &slot(int ofRank, uint64_t chunk, int part) const;
  bool lend(const Sum &sum, int64_t from, int64_t to, Slot &out);
  void put(const Sum &sum, int64_t from, int64_t to, Slot &out);
  SumArray::Source source(int ofRank, uint64_t chunk, int part);
  bool frontHasEnded() const;
  Sum *nextOf(Stage stage);
  void run(Stage stage, Sum &sum);
  void pack(const Sum &sum, uint64_t chunk);
  void addUp(Sum &sum, uint64_t chunk);
  void take(const Sum &sum, uint64_t chunk);
  bool advance();
  bool canMove();
  void wakeOthers();
  void sleep();

  Messages &messages;
  RankPages *ownPages;
  MessageSums agreements;
  std::unique_ptr<HostSegments> segments;
  std::unique_ptr<RankViews> views;
  uint64_t slots = 0;       ///< per rank
  size_t partBytes = 0;     ///< bytes per owner in a slot
  Status failure;           ///< after which this rank takes no part in sums
  bool isUnsettled = false; ///< pages may have to become huge
  std::deque<std::unique_ptr<Sum>> active;
  std::vector<std::unique_ptr<Sum>> spare;
  std::vector<SumArray::Source> others; ///< [rank], contributions to the chunk being added
  uint64_t started = 0, ended = 0, sent = 0;
  uint64_t chunks = 0;        ///< of all sums so far
  uint64_t done[stages] = {}; ///< chunks that have passed each stage on this rank
};

} // namespace gradc::runtime

#endif
