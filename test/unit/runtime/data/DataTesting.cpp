// Writes .npy and .npz files, valid and invalid ones.
#include "test/unit/runtime/data/DataTesting.h"

#include <cstring>
#include <fstream>
#include <unistd.h>
#include <zlib.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

MemoryLimit::MemoryLimit(size_t bytes) {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  getrlimit(RLIMIT_AS, &before);
  rlimit limited = {pages * size_t(getpagesize()) + bytes, before.rlim_max};
  setrlimit(RLIMIT_AS, &limited);
}

MemoryLimit::~MemoryLimit() { setrlimit(RLIMIT_AS, &before); }

static void append(Bytes &out, std::string_view text) {
  auto raw = reinterpret_cast<const std::byte *>(text.data());
  out.insert(out.end(), raw, raw + text.size());
}

template <typename T> static void appendNumber(Bytes &out, T number) {
  auto raw = reinterpret_cast<const std::byte *>(&number);
  out.insert(out.end(), raw, raw + sizeof number);
}

Bytes gradc::runtime::test::npy(std::string_view descr, std::string_view shape, const Bytes &data,
                                std::string_view fortran) {
  std::string header = "{'descr': '" + std::string(descr) +
                       "', 'fortran_order': " + std::string(fortran) +
                       ", 'shape': " + std::string(shape) + ", }";
  while ((10 + header.size() + 1) % 64)
    header += ' ';
  header += '\n';
  Bytes out;
  append(out, std::string_view("\x93NUMPY\x01\x00", 8));
  appendNumber(out, uint16_t(header.size()));
  append(out, header);
  out.insert(out.end(), data.begin(), data.end());
  return out;
}

Bytes gradc::runtime::test::gzip(const Bytes &content) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  Bytes out(deflateBound(&stream, content.size()));
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<std::byte *>(content.data()));
  stream.avail_in = uInt(content.size());
  stream.next_out = reinterpret_cast<Bytef *>(out.data());
  stream.avail_out = uInt(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

static Bytes deflated(const Bytes &content) {
  Bytes out(content.size() + content.size() / 100 + 64);
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<std::byte *>(content.data()));
  stream.avail_in = uInt(content.size());
  stream.next_out = reinterpret_cast<Bytef *>(out.data());
  stream.avail_out = uInt(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

Bytes gradc::runtime::test::zip(const std::vector<Member> &members) {
  Bytes out, directory;
  bool zip64 = false;
  for (const Member &member : members) {
    Bytes stored = member.deflated ? deflated(member.content) : member.content;
    auto crc = uint32_t(crc32(0, reinterpret_cast<const Bytef *>(member.content.data()),
                              uInt(member.content.size())));
    uint64_t offset = out.size();
    auto common = [&](Bytes &to) {
      appendNumber<uint16_t>(to, 45);
      appendNumber<uint16_t>(to, 0);
      appendNumber<uint16_t>(to, member.deflated ? 8 : 0);
      appendNumber<uint32_t>(to, 0);
      appendNumber(to, crc);
      appendNumber(to, member.zip64 ? 0xffffffff : uint32_t(stored.size()));
      appendNumber(to, member.zip64 ? 0xffffffff : uint32_t(member.content.size()));
      appendNumber(to, uint16_t(member.name.size()));
    };
    appendNumber<uint32_t>(out, 0x04034b50);
    common(out);
    appendNumber<uint16_t>(out, member.zip64 ? 20 : 0);
    append(out, member.name);
    if (member.zip64) {
      appendNumber<uint16_t>(out, 1);
      appendNumber<uint16_t>(out, 16);
      appendNumber<uint64_t>(out, member.content.size());
      appendNumber<uint64_t>(out, stored.size());
    }
    out.insert(out.end(), stored.begin(), stored.end());

    appendNumber<uint32_t>(directory, 0x02014b50);
    appendNumber<uint16_t>(directory, 45);
    common(directory);
    appendNumber<uint16_t>(directory, member.zip64 ? 28 : 0);
    directory.resize(directory.size() + 10);
    appendNumber(directory, member.zip64 ? 0xffffffff : uint32_t(offset));
    append(directory, member.name);
    if (member.zip64) {
      zip64 = true;
      appendNumber<uint16_t>(directory, 1);
      appendNumber<uint16_t>(directory, 24);
      appendNumber<uint64_t>(directory, member.content.size());
      appendNumber<uint64_t>(directory, stored.size());
      appendNumber<uint64_t>(directory, offset);
    }
  }
  uint64_t directoryOffset = out.size();
  out.insert(out.end(), directory.begin(), directory.end());
  if (zip64) {
    uint64_t end = out.size();
    appendNumber<uint32_t>(out, 0x06064b50);
    appendNumber<uint64_t>(out, 44);
    out.resize(out.size() + 12);
    appendNumber<uint64_t>(out, members.size());
    appendNumber<uint64_t>(out, members.size());
    appendNumber<uint64_t>(out, directory.size());
    appendNumber<uint64_t>(out, directoryOffset);
    appendNumber<uint32_t>(out, 0x07064b50);
    appendNumber<uint32_t>(out, 0);
    appendNumber<uint64_t>(out, end);
    appendNumber<uint32_t>(out, 1);
  }
  appendNumber<uint32_t>(out, 0x06054b50);
  appendNumber<uint32_t>(out, 0);
  appendNumber<uint16_t>(out, zip64 ? 0xffff : uint16_t(members.size()));
  appendNumber<uint16_t>(out, zip64 ? 0xffff : uint16_t(members.size()));
  appendNumber(out, zip64 ? 0xffffffff : uint32_t(directory.size()));
  appendNumber(out, zip64 ? 0xffffffff : uint32_t(directoryOffset));
  appendNumber<uint16_t>(out, 0);
  return out;
}

std::vector<Member> gradc::runtime::test::digits(int64_t rows) {
  std::vector<uint8_t> images(size_t(rows) * 4);
  std::vector<int64_t> labels(size_t(rows), 0);
  for (size_t i = 0; i < images.size(); ++i)
    images[i] = uint8_t(i);
  for (size_t i = 0; i < labels.size(); ++i)
    labels[i] = int64_t(i % 10);
  std::string count = std::to_string(rows);
  return {{"images.npy", npy("|u1", "(" + count + ", 2, 2)", bytesOf(images))},
          {"labels.npy", npy("<i8", "(" + count + ",)", bytesOf(labels))}};
}

std::vector<Demand> gradc::runtime::test::digitsDemands() {
  return {{"images", "x", GRADC_F32, {2, 2}, 0}, {"labels", "y", GRADC_I64, {}, 10}};
}

Result<std::shared_ptr<const Dataset>> gradc::runtime::test::build(std::string_view data,
                                                                   const DataContext &context) {
  JobText job(data);
  return makeDataset(job.root(), context);
}

std::string gradc::runtime::test::buildError(std::string_view data, const DataContext &context) {
  auto dataset = build(data, context);
  return dataset ? "built" : dataset.status().message();
}

std::string gradc::runtime::test::batchError(std::string_view data, const DataContext &context) {
  auto dataset = build(data, context);
  if (!dataset)
    return dataset.status().message();
  Batch batch = (*dataset)->allocate();
  return (*dataset)->iterate()->next(batch).message();
}

std::vector<float> gradc::runtime::test::firstPixels(const Batch &batch) {
  std::vector<float> pixels(static_cast<size_t>(batch.rows));
  for (size_t i = 0; i < pixels.size(); ++i)
    std::memcpy(&pixels[i], batch.field(0) + i * 16, sizeof(float));
  return pixels;
}
