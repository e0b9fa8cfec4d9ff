// Messages between ranks: the part of MPI that sums are built on.
#ifndef RUNTIME_RANKS_MESSAGES_H
#define RUNTIME_RANKS_MESSAGES_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <span>

namespace gradc::runtime {

/// Messages of one sender, receiver and tag arrive in the order in which they were sent. A message
/// is received with its exact size.
class Messages {
public:
  using Request = void *;
  /// Tags are from 0 to this, without.
  static constexpr int tags = 1 << 14;

  virtual ~Messages() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Both start a transfer; the bytes stay as they are until it has ended.
  virtual Status send(std::span<const std::byte> bytes, int to, int tag, Request &request) = 0;
  virtual Status receive(std::span<std::byte> bytes, int from, int tag, Request &request) = 0;
  /// Moves transfers on; whether all of these have ended, which frees the requests.
  virtual Result<bool> haveEnded(std::span<Request> requests) = 0;
  /// Called again and again by those who wait: lets others run, and fails once a rank is lost.
  virtual Status pause() = 0;
};

} // namespace gradc::runtime

#endif
