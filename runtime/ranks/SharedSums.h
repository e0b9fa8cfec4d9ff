// Sums over the ranks of one host, built on memory that all of them have mapped.
#ifndef RUNTIME_RANKS_SHAREDSUMS_H
#define RUNTIME_RANKS_SHAREDSUMS_H

#include "runtime/ranks/HostSegments.h"
#include "runtime/ranks/MessageSums.h"
#include "runtime/ranks/Messages.h"

#include <atomic>
#include <deque>
#include <memory>

namespace gradc::runtime {

/// Each rank has a ring of slots, through which all sums pass chunk by chunk in the order of their
/// starts:
/// 1. A rank packs what the others own of a chunk into its slot.
/// 2. Once all have, it adds up what it owns in the order of ranks, in place and into its slot.
/// 3. Once all have, it takes the sums of the others from their slots; then they are free.
///
/// A scatter leaves out what the third step does, a gather what the first one does. Owners are
/// those of MessageSums, and so are the bits. What a rank packs or adds up is read from the cache
/// that it shares with the others, unless one of them is far behind.
class SharedSums final : public Communicator {
public:
  /// Of each rank; for many ranks it is less.
  static constexpr size_t mostRingBytes = 16 << 20;

  /// Null where ranks share no memory. All ranks call it; `messages` outlives the sums.
  static Result<std::unique_ptr<SharedSums>> create(Messages &messages,
                                                    size_t ringBytes = mostRingBytes);
  ~SharedSums() override;

  int rank() const override { return messages.rank(); }
  int size() const override { return messages.size(); }
  Result<uint64_t> start(std::span<const Piece> pieces, const Exchange &exchange) override;
  Status progress() override;
  Status waitFor(uint64_t sum) override;
  std::vector<int64_t> divide(std::span<const gradc_artifact_cut> cuts) const override {
    return agreements.divide(cuts);
  }
  Result<std::vector<std::string>> share(const std::string &mine) override {
    return agreements.share(mine);
  }
  Status agree(const Status &mine, std::span<const Fact> facts) override {
    return agreements.agree(mine, facts);
  }
  /// What the others have read of it.
  uint64_t sentBytes() const override { return sent; }

private:
  enum Stage : uint8_t { packing, adding, taking, stages };
  struct Sum;
  struct Header;

  explicit SharedSums(Messages &messages);
  Header &header(int rank) const;
  std::byte *slot(int ofRank, uint64_t chunk, int part) const;
  Sum *nextOf(Stage stage);
  void run(Stage stage, Sum &sum);
  void pack(const Sum &sum, uint64_t chunk);
  void addUp(const Sum &sum, uint64_t chunk);
  void take(const Sum &sum, uint64_t chunk);
  bool advance();
  bool canMove();
  void wakeOthers();
  void sleep();

  Messages &messages;
  MessageSums agreements;
  std::unique_ptr<HostSegments> segments;
  uint64_t slots = 0;   ///< of each rank
  size_t partBytes = 0; ///< of a slot, for each owner
  std::deque<std::unique_ptr<Sum>> active;
  std::vector<std::unique_ptr<Sum>> spare;
  std::vector<const std::byte *> others; ///< [rank], of the chunk that is added up
  uint64_t started = 0, ended = 0, sent = 0;
  uint64_t chunks = 0;        ///< of all sums so far
  uint64_t done[stages] = {}; ///< chunks, of this rank
};

} // namespace gradc::runtime

#endif
