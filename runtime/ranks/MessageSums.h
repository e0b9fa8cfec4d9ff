// Sums over ranks, built on messages from rank to rank.
#ifndef RUNTIME_RANKS_MESSAGESUMS_H
#define RUNTIME_RANKS_MESSAGESUMS_H

#include "runtime/ranks/Communicator.h"
#include "runtime/ranks/DivideCuts.h"
#include "runtime/ranks/Messages.h"
#include "runtime/ranks/Transfers.h"

#include <memory>

namespace gradc::runtime {

/// A communicator whose exchanges can be asked about without waiting.
class PolledSums : public Communicator {
public:
  virtual bool hasEnded(uint64_t exchange) const = 0;
};

/// 1. Each rank owns an equal part of the array. It receives that part from all other ranks and
///    adds all contributions, including its own, in rank order.
/// 2. It sends the sum of its part to all other ranks.
///
/// Each rank sends 2 (n-1)/n of the array, and all ranks have the bits that the owner computed. A
/// scatter is the first half only, a gather the second half only. Transfers are as in Transfers.h.
///
/// Large values that are not converted for the wire travel from and to their own memory. Buffers
/// are reused: a step that starts the same sums as the previous step allocates none.
class MessageSums final : public PolledSums {
public:
  /// `messages` must outlive this object.
  explicit MessageSums(Messages &messages);
  ~MessageSums() override;

  int rank() const override { return messages.rank(); }
  int size() const override { return messages.size(); }
  Result<uint64_t> start(std::span<const Piece> pieces, const Exchange &exchange) override;
  Status progress() override;
  Status waitFor(uint64_t sum) override;
  bool hasEnded(uint64_t exchange) const override;
  Status settle() override { return transfers.settle(); }
  std::vector<int64_t> divide(std::span<const gradc_artifact_cut> cuts) const override {
    return divideCuts(cuts, size());
  }
  Result<std::vector<std::string>> share(const std::string &mine) override;
  Status agree(const Status &mine, std::span<const Fact> facts) override;
  uint64_t sentBytes() const override { return sent + transfers.sentBytes(); }

private:
  struct Sum;
  struct Texts;

  std::vector<std::byte> takeSpare(size_t bytes);
  Status advance(Sum &sum);
  Status sendParts(Sum &sum);
  Status sendSums(Sum &sum);
  Status send(Sum &sum, int part, int to, int tag);
  Status receive(Sum &sum, std::span<std::byte> bytes, int from, int tag);
  Status complete(Messages::Requests &requests);
  Status exchange(Texts &texts, bool isText);

  Messages &messages;
  Transfers transfers;
  std::vector<std::unique_ptr<Sum>> active;
  std::vector<std::vector<std::byte>> spare; ///< buffers of ended sums
  uint64_t started = 0, sent = 0;
};

} // namespace gradc::runtime

#endif
