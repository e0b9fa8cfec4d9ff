// The records of a TFRecord file.
#ifndef RUNTIME_DATA_SOURCE_TFRECORD_H
#define RUNTIME_DATA_SOURCE_TFRECORD_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gradc::runtime {

/// The offsets of a file's records. A record with a damaged header or truncated data is the last in
/// the list, because no later one can be found; reading it gives the error.
std::vector<uint64_t> indexTfRecords(std::span<const std::byte> file);

/// Fails if the list ends before the file does, with the problem of its last record.
Status checkTfRecords(std::span<const std::byte> file);

/// The data of the record at `offset`, with its checksum checked. Messages do not name the record.
Result<std::span<const std::byte>> readTfRecord(std::span<const std::byte> file, uint64_t offset);

} // namespace gradc::runtime

#endif
