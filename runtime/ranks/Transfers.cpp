// One message per transfer.
#include "runtime/ranks/Transfers.h"

#include "runtime/base/DataType.h"
#include "runtime/include/gradc/artifact.h"

#include <algorithm>
#include <cstring>

namespace gradc::runtime {

/// MPI promises tags up to this one.
static_assert(Messages::tags + GRADC_MAX_TRANSFERS <= 32767);

Result<uint64_t> Transfers::start(std::span<const Communicator::Piece> pieces,
                                  const Communicator::Exchange &exchange) {
  // A transfer has one piece.
  std::span<std::byte> bytes(static_cast<std::byte *>(pieces[0].values),
                             size_t(pieces[0].count) * findDataType(exchange.type)->bytes);
  auto transfer = spare.empty() ? std::make_unique<Transfer>() : std::move(spare.back());
  if (!spare.empty())
    spare.pop_back();
  int tag = Messages::tags + 1 + exchange.number; // heartbeats have the tag before
  Status status;
  if (exchange.kind == Communicator::Kind::send) {
    transfer->number = 0;
    transfer->copy.assign(bytes.begin(), bytes.end());
    sent += bytes.size();
    status = messages.send(transfer->copy, exchange.peer, tag, transfer->requests);
  } else {
    transfer->number = ++started | mark;
    status = messages.receive(bytes, exchange.peer, tag, transfer->requests);
  }
  uint64_t number = transfer->number | mark;
  active.push_back(std::move(transfer)); // a part may be on its way even if the rest failed
  return status.ok() ? Result<uint64_t>(number) : Result<uint64_t>(status);
}

Status Transfers::progress() {
  for (size_t i = 0; i < active.size();) {
    auto ended = messages.haveEnded(active[i]->requests);
    if (!ended)
      return ended.status();
    if (!*ended) {
      ++i;
      continue;
    }
    active[i]->requests.clear();
    spare.push_back(std::move(active[i]));
    active.erase(active.begin() + long(i));
  }
  return {};
}

bool Transfers::isActive(uint64_t number) const {
  return std::ranges::any_of(active, [&](const auto &one) { return one->number == number; });
}

template <typename Done> Status Transfers::waitUntil(Done &&done) {
  for (;;) {
    if (Status status = progress(); !status.ok())
      return status;
    if (done())
      return {};
    if (Status status = messages.pause(); !status.ok())
      return status;
  }
}

Status Transfers::waitFor(uint64_t receive) {
  return waitUntil([&] { return hasEnded(receive); });
}

Status Transfers::settle() {
  return waitUntil([&] { return active.empty(); });
}

} // namespace gradc::runtime
