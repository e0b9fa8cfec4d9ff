// Runs zlib on inputs and outputs of any size.
#include "runtime/data/source/Inflate.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <cstring>
#include <zlib.h>

namespace gradc::runtime {

namespace {

class Inflater {
public:
  Inflater(std::span<const std::byte> in, Deflated format) : in(in), format(format) {
    ready = inflateInit2(&stream, format == Deflated::raw ? -MAX_WBITS : MAX_WBITS + 16) == Z_OK;
    stream.next_in = reinterpret_cast<Bytef *>(const_cast<std::byte *>(in.data()));
  }
  ~Inflater() {
    if (ready)
      inflateEnd(&stream);
  }
  Inflater(const Inflater &) = delete;

  /// Fills `out`, or stops at the end of the input; returns the number of bytes written.
  size_t inflateTo(std::span<std::byte> out) {
    // zlib counts in 32 bits.
    constexpr size_t most = size_t(1) << 30;
    size_t produced = 0;
    while (ready && !ended && !damaged && produced < out.size()) {
      stream.avail_in = uInt(std::min(most, rest()));
      stream.next_out = reinterpret_cast<Bytef *>(out.data() + produced);
      auto room = uInt(std::min(most, out.size() - produced));
      stream.avail_out = room;
      int code = inflate(&stream, Z_NO_FLUSH);
      produced += room - stream.avail_out;
      ended = code == Z_STREAM_END;
      damaged = !ended && code != Z_OK;
      // A gzip file may consist of several consecutive members.
      if (ended && format == Deflated::gzip && rest()) {
        ended = false;
        damaged = inflateReset(&stream) != Z_OK;
      }
    }
    return produced;
  }

  /// Whether the entire input has been inflated with matching checksums.
  bool isComplete() {
    std::byte extra;
    return inflateTo({&extra, 1}) == 0 && ended;
  }
  bool isDamaged() const { return !ready || damaged; }

private:
  size_t rest() const {
    return in.size() - size_t(reinterpret_cast<const std::byte *>(stream.next_in) - in.data());
  }

  std::span<const std::byte> in;
  Deflated format;
  z_stream stream = {};
  bool ready = false, ended = false, damaged = false;
};

} // namespace

bool inflateInto(std::span<const std::byte> in, std::span<std::byte> out, Deflated format) {
  Inflater inflater(in, format);
  return inflater.inflateTo(out) == out.size() && inflater.isComplete();
}

size_t inflateStart(std::span<const std::byte> in, std::span<std::byte> out, Deflated format) {
  Inflater inflater(in, format);
  size_t produced = inflater.inflateTo(out);
  return inflater.isDamaged() ? 0 : produced;
}

Inflated inflateAll(std::span<const std::byte> in, size_t maxBytes, Deflated format) {
  Inflater inflater(in, format);
  Inflated all;
  for (size_t room = std::min(maxBytes, 4 * in.size() + 4096);;) {
    void *larger = std::realloc(all.bytes.get(), room);
    if (!larger)
      return {};
    (void)all.bytes.release(); // realloc has freed or moved the block
    all.bytes.reset(static_cast<std::byte *>(larger));
    all.size += inflater.inflateTo({all.bytes.get() + all.size, room - all.size});
    if (all.size < room || room == maxBytes)
      break;
    room = std::min(maxBytes, 2 * room);
  }
  return inflater.isComplete() ? std::move(all) : Inflated();
}

Result<Inflated> inflateGzip(std::span<const std::byte> file, std::string_view path,
                             size_t maxBytes) {
  Inflated inflated = inflateAll(file, maxBytes, Deflated::gzip);
  if (!inflated.bytes)
    return Status::error(
        text('\'', path, "' is a damaged gzip file, or larger than this machine's memory"));
  return inflated;
}

bool isGzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte(0x1f) && bytes[1] == std::byte(0x8b);
}

bool canInflateTo(std::span<const std::byte> in, uint64_t size) {
  constexpr uint64_t maxExpansion = 1032; // the limit of deflate
  return size / maxExpansion <= in.size();
}

} // namespace gradc::runtime
