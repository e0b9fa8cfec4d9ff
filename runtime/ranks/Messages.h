// Point-to-point messages between ranks: the subset of MPI that sums need.
#ifndef RUNTIME_RANKS_MESSAGES_H
#define RUNTIME_RANKS_MESSAGES_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace gradc::runtime {

/// Messages with the same sender, receiver and tag arrive in the order in which they were sent. The
/// receiver must know a message's exact size.
class Messages {
public:
  using Request = void *;
  using Requests = std::vector<Request>;
  /// Valid tags are 0 <= tag < tags, and as many from there on for transfers.
  static constexpr int tags = 1 << 14;

  virtual ~Messages() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// `send` and `receive` start a transfer, and append what to ask for its end; the bytes must stay
  /// untouched until then.
  virtual Status send(std::span<const std::byte> bytes, int to, int tag, Requests &requests) = 0;
  virtual Status receive(std::span<std::byte> bytes, int from, int tag, Requests &requests) = 0;
  /// Advances transfers. True: all of these have ended, and their requests are freed.
  virtual Result<bool> haveEnded(std::span<Request> requests) = 0;
  /// Called repeatedly while waiting: lets other threads run, and fails once a rank is lost.
  virtual Status pause() = 0;
  /// Messages among the ranks that pass the same color, numbered in their order; they are separate
  /// from messages of other groups. All ranks must call it. The result must not outlive this
  /// object.
  virtual Result<std::unique_ptr<Messages>> split(int color) = 0;
};

} // namespace gradc::runtime

#endif
