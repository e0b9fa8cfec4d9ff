// Fields from .idx files, the format of the MNIST data, one array per file; gzip files are
// inflated.
#include "runtime/base/Bytes.h"
#include "runtime/base/Text.h"
#include "runtime/data/source/ArraySource.h"
#include "runtime/data/source/IdxHeader.h"
#include "runtime/data/source/Inflate.h"
#include "runtime/data/source/MappedFile.h"
#include "runtime/data/source/SourceMemory.h"

#include <algorithm>

namespace gradc::runtime {

namespace {

constexpr size_t maxHeaderBytes = 4 + 4 * 255;

Result<gradc_dtype> dtypeOf(uint8_t code, std::string_view what) {
  switch (code) {
  case 0x08:
    return GRADC_U8;
  case 0x09:
    return GRADC_I8;
  case 0x0B:
    return GRADC_I16;
  case 0x0C:
    return GRADC_I32;
  case 0x0D:
    return GRADC_F32;
  case 0x0E:
    return GRADC_F64;
  default:
    return Status::error(text(what, " has element type ", unsigned(code),
                              ", expected 8 (u8), 9 (i8), 11 (i16), 12 (i32), 13 (f32) or 14 "
                              "(f64)"));
  }
}

/// Parses the header at the beginning of a file.
Result<IdxHeader> parseHeader(Bytes bytes, std::string_view what) {
  if (bytes.size() < 4 || bytes[0] != std::byte() || bytes[1] != std::byte())
    return Status::error(
        text(what, " is not an idx file: expected it to begin with two zero bytes"));
  auto dtype = dtypeOf(uint8_t(bytes[2]), what);
  if (!dtype)
    return dtype.status();
  IdxHeader header;
  header.dtype = *dtype;
  auto rank = size_t(bytes[3]);
  if (rank == 0)
    return Status::error(text(what, " is a single number, expected an array of rows"));
  header.headerBytes = 4 + 4 * rank;
  if (bytes.size() < header.headerBytes)
    return Status::error(text(what, " is truncated: expected a header of ", header.headerBytes,
                              " bytes, found ", bytes.size()));
  header.dataBytes = findDataType(header.dtype)->bytes;
  for (size_t dim = 0; dim < rank; ++dim) {
    uint32_t size = 0;
    for (size_t i = 0; i < 4; ++i)
      size = size << 8 | uint32_t(bytes[4 + 4 * dim + i]);
    header.shape.push_back(size);
    if (__builtin_mul_overflow(header.dataBytes, uint64_t(size), &header.dataBytes))
      return Status::error(text(what, " has an impossible shape ", shapeText(header.shape)));
  }
  return header;
}

Status wrongSize(const IdxHeader &header, std::string_view what, std::string_view found) {
  return Status::error(text(what, " is truncated or damaged: expected ", header.dataBytes,
                            " bytes of data for shape ", shapeText(header.shape), ", ", found));
}

/// Converts big-endian elements to the machine's order. Null if memory is exhausted.
std::shared_ptr<std::byte[]> swapped(Bytes data, size_t width) {
  auto out = allocateForSource(data.size());
  for (size_t i = 0; out && i < data.size(); i += width)
    std::reverse_copy(data.data() + i, data.data() + i + width, out.get() + i);
  return out;
}

Result<IdxHeader> readHeader(Bytes bytes, std::string_view what) {
  if (!isGzip(bytes))
    return parseHeader(bytes, what);
  std::byte start[maxHeaderBytes];
  size_t count = inflateStart(bytes, start, Deflated::gzip);
  if (count == 0)
    return Status::error(text(what, " is a damaged gzip file"));
  return parseHeader({start, count}, what);
}

SourceArray makeArray(std::string name, const IdxHeader &header) {
  SourceArray array;
  array.field = {std::move(name), header.dtype, {header.shape.begin() + 1, header.shape.end()}};
  array.rows = header.shape.front();
  return array;
}

/// Reads only the header; the size of a gzip file's content is not checked.
Result<SourceArray> describeArray(std::string name, std::shared_ptr<const MappedFile> file,
                                  std::string_view what) {
  Bytes bytes = file->bytes();
  auto header = readHeader(bytes, what);
  if (!header)
    return header.status();
  uint64_t found = bytes.size() - std::min<uint64_t>(bytes.size(), header->headerBytes);
  if (!isGzip(bytes) && found != header->dataBytes)
    return wrongSize(*header, what, text("found ", found));
  return makeArray(std::move(name), *header);
}

Result<SourceArray> readIdx(std::string name, std::shared_ptr<const MappedFile> file,
                            std::string_view what) {
  // 1. Read the header, which gives the size.
  Bytes bytes = file->bytes();
  auto header = readHeader(bytes, what);
  if (!header)
    return header.status();

  // 2. Take the data as stored in the file, or inflate it.
  std::shared_ptr<const void> owner = file;
  auto noMemory = [&](uint64_t size, std::string_view why) {
    return Status::error(text("cannot allocate ", size, " bytes for ", what, why));
  };
  if (isGzip(bytes)) {
    uint64_t whole = header->headerBytes + header->dataBytes;
    if (whole < header->dataBytes || !canInflateTo(bytes, whole))
      return wrongSize(*header, what, text("found ", bytes.size(), " compressed ones"));
    auto inflated = allocateForSource(whole);
    if (!inflated)
      return noMemory(whole, ", which is compressed; plain files are mapped");
    if (!inflateInto(bytes, {inflated.get(), whole}, Deflated::gzip))
      return wrongSize(*header, what, "its gzip file inflates to something else");
    bytes = {inflated.get(), whole};
    owner = inflated;
  }
  Bytes data = bytes.subspan(header->headerBytes);
  if (data.size() != header->dataBytes)
    return wrongSize(*header, what, text("found ", data.size()));
  if (size_t width = findDataType(header->dtype)->bytes; width > 1) {
    auto copy = swapped(data, width);
    if (!copy)
      return noMemory(data.size(), ", which is not in the order of this machine's bytes");
    data = {copy.get(), data.size()};
    owner = copy;
  }
  SourceArray array = makeArray(std::move(name), *header);
  array.data = data.data();
  array.owner = std::move(owner);
  return array;
}

} // namespace

Result<IdxHeader> readIdxHeader(Bytes bytes, std::string_view what) {
  return readHeader(bytes, what);
}

Status applyIdx(Config config, const DataContext &context, Pipeline &pipeline) {
  return applyFiles(config, context, pipeline, "the idx source", readIdx);
}

Status describeIdx(Config config, const DataContext &context, Pipeline &pipeline) {
  return describeFiles(config, context, pipeline, "idx", describeArray);
}

} // namespace gradc::runtime
