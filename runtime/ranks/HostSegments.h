// Shared memory segments of the ranks of one host, mapped by all of them.
#ifndef RUNTIME_RANKS_HOSTSEGMENTS_H
#define RUNTIME_RANKS_HOSTSEGMENTS_H

#include "runtime/ranks/Communicator.h"

#include <memory>

namespace gradc::runtime {

/// One segment per rank. Segments are unnamed files, so none remains after the ranks have ended,
/// even if they crashed.
class HostSegments {
public:
  /// Collective call with the same answer on all ranks. Null: the ranks cannot share memory because
  /// they are on several hosts, in separate containers, or short of memory. Segments are zeroed.
  static Result<std::unique_ptr<HostSegments>> map(Communicator &ranks, size_t bytes);
  ~HostSegments();
  HostSegments(const HostSegments &) = delete;

  /// The process of a rank.
  int process(int rank) const { return processes[size_t(rank)]; }
  std::byte *of(int rank) const { return static_cast<std::byte *>(starts[size_t(rank)]) + offset; }

private:
  HostSegments(int ranks, size_t bytes);
  int make(uint64_t mark);
  bool open(int rank, const std::string &said);
  bool mapFile(int rank, int descriptor);

  /// Offset of the callers' bytes in a segment. Before it lies the mark that identifies the segment
  /// as the right one.
  static constexpr size_t offset = 128;
  std::vector<void *> starts; ///< [rank]
  std::vector<int> processes; ///< [rank]
  size_t bytes;               ///< of a segment
};

} // namespace gradc::runtime

#endif
