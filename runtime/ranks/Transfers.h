// Values that one rank gives to another, built on messages.
#ifndef RUNTIME_RANKS_TRANSFERS_H
#define RUNTIME_RANKS_TRANSFERS_H

#include "runtime/ranks/Communicator.h"
#include "runtime/ranks/Messages.h"

#include <memory>

namespace gradc::runtime {

/// The transfers of a pipeline's steps. A send copies its values, so neither rank waits for the
/// other to get ready; a receive takes a message into place. A transfer's tag is its number, so the
/// two ranks may begin their transfers in different orders.
class Transfers {
public:
  /// `messages` must outlive this object.
  explicit Transfers(Messages &messages) : messages(messages) {}

  /// As of a Communicator. The numbers that `start` returns have `mark`.
  static constexpr uint64_t mark = uint64_t(1) << 63;
  static bool isOne(uint64_t exchange) { return exchange & mark; }
  Result<uint64_t> start(std::span<const Communicator::Piece> pieces,
                         const Communicator::Exchange &exchange);
  Status progress();
  Status waitFor(uint64_t receive);
  /// A send counts as ended.
  bool hasEnded(uint64_t transfer) const { return transfer == mark || !isActive(transfer); }
  Status settle();
  uint64_t sentBytes() const { return sent; }

private:
  struct Transfer {
    uint64_t number = 0; ///< 0: a send
    Messages::Requests requests;
    std::vector<std::byte> copy; ///< of what is sent
  };

  bool isActive(uint64_t number) const;
  template <typename Done> Status waitUntil(Done &&done);

  Messages &messages;
  std::vector<std::unique_ptr<Transfer>> active, spare;
  uint64_t started = 0, sent = 0;
};

} // namespace gradc::runtime

#endif
