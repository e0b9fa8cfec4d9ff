// Memory of all ranks of one host, which each of them has mapped.
#ifndef RUNTIME_RANKS_HOSTSEGMENTS_H
#define RUNTIME_RANKS_HOSTSEGMENTS_H

#include "runtime/ranks/Communicator.h"

#include <memory>

namespace gradc::runtime {

/// A segment of each rank. They are files without names, so nothing is left of them when the ranks
/// have ended, however they ended.
class HostSegments {
public:
  /// All ranks call it and get the same answer; null: they cannot share memory, being on several
  /// hosts, in separate containers, or short of memory. Each segment begins with zeros.
  static Result<std::unique_ptr<HostSegments>> map(Communicator &ranks, size_t bytes);
  ~HostSegments();
  HostSegments(const HostSegments &) = delete;

  std::byte *of(int rank) const { return static_cast<std::byte *>(starts[size_t(rank)]) + offset; }

private:
  HostSegments(int ranks, size_t bytes);
  int make(uint64_t mark);
  bool open(int rank, const std::string &said);
  bool mapFile(int rank, int descriptor);

  /// Of what callers have of a segment: the mark by which a segment is known for the right one lies
  /// before it.
  static constexpr size_t offset = 128;
  std::vector<void *> starts; ///< [rank]
  size_t bytes;               ///< of a segment
};

} // namespace gradc::runtime

#endif
