// Packs parts for the wire, adds what arrives, and unpacks the sums.
#include "runtime/ranks/MessageSums.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

namespace gradc::runtime {

namespace {

using Bf16 = uint16_t;

/// Rounds to nearest, ties to even; a NaN stays one.
Bf16 toBf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (value != value)
    return Bf16(bits >> 16 | 0x40);
  return Bf16((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
float fromBf16(Bf16 value) { return std::bit_cast<float>(uint32_t(value) << 16); }

template <typename T> void encode(const T *from, int64_t count, T *to) {
  std::memcpy(to, from, size_t(count) * sizeof(T));
}
void encode(const float *from, int64_t count, Bf16 *to) {
  std::transform(from, from + count, to, toBf16);
}
template <typename T> void decode(const T *from, int64_t count, T *to) { encode(from, count, to); }
void decode(const Bf16 *from, int64_t count, float *to) {
  std::transform(from, from + count, to, fromBf16);
}
template <typename T> void add(const T *from, int64_t count, T *to) {
  for (int64_t i = 0; i < count; ++i)
    to[i] += from[i];
}
void add(const Bf16 *from, int64_t count, float *to) {
  for (int64_t i = 0; i < count; ++i)
    to[i] += fromBf16(from[i]);
}

/// Calls `body` with a zero of the type in memory and one of the type on the wire.
template <typename Body> void withTypes(gradc_dtype type, Communicator::Wire wire, Body &&body) {
  if (type == GRADC_F32 && wire == Communicator::Wire::bf16)
    body(float(), Bf16());
  else if (type == GRADC_F32)
    body(float(), float());
  else if (type == GRADC_F64)
    body(double(), double());
  else if (type == GRADC_I64)
    body(int64_t(), int64_t());
  else
    body(int32_t(), int32_t());
}

size_t sizeOnWire(gradc_dtype type, Communicator::Wire wire) {
  size_t size = 0;
  withTypes(type, wire, [&](auto, auto onWire) { size = sizeof onWire; });
  return size;
}

} // namespace

struct MessageSums::Sum {
  uint64_t number = 0;
  std::vector<Piece> pieces;
  gradc_dtype type = GRADC_F32;
  Wire wire = Wire::full;
  int64_t count = 0;
  int ranks = 1, rank = 0;
  size_t width = 0; ///< bytes of a value on the wire
  bool isGathering = false;
  std::vector<std::byte> outgoing; ///< the array on the wire; later the sums
  std::vector<std::byte> incoming; ///< this rank's part of each other one
  std::vector<Messages::Request> requests;

  int64_t begin(int ofRank) const { return count * ofRank / ranks; }
  int64_t partSize(int ofRank) const { return begin(ofRank + 1) - begin(ofRank); }
  std::span<std::byte> part(int ofRank) {
    return {outgoing.data() + size_t(begin(ofRank)) * width, size_t(partSize(ofRank)) * width};
  }
  std::span<std::byte> received(int from) {
    size_t bytes = size_t(partSize(rank)) * width;
    return {incoming.data() + size_t(from - (from > rank)) * bytes, bytes};
  }
  template <typename Body> void forEachOther(Body &&body) const {
    for (int other = 0; other < ranks; ++other)
      if (other != rank)
        body(other);
  }
  /// Calls body(values, where they are in the array, how many) for the parts of pieces in a range.
  template <typename T, typename Body> void forEachRun(int64_t from, int64_t to, Body &&body) {
    int64_t at = 0;
    for (const Piece &piece : pieces) {
      int64_t first = std::max(from, at), last = std::min(to, at + piece.count);
      if (first < last)
        body(static_cast<T *>(piece.values) + (first - at), first, last - first);
      at += piece.count;
    }
  }

  void pack(int ofRank) {
    withTypes(type, wire, [&]<typename T, typename W>(T, W) {
      auto *out = reinterpret_cast<W *>(outgoing.data());
      forEachRun<T>(begin(ofRank), begin(ofRank + 1),
                    [&](T *values, int64_t at, int64_t n) { encode(values, n, out + at); });
    });
  }
  void unpack(int ofRank) {
    withTypes(type, wire, [&]<typename T, typename W>(T, W) {
      auto *in = reinterpret_cast<const W *>(outgoing.data());
      forEachRun<T>(begin(ofRank), begin(ofRank + 1),
                    [&](T *values, int64_t at, int64_t n) { decode(in + at, n, values); });
    });
  }
  /// This rank's part, block by block so that the sums stay in the cache.
  void addUp() {
    withTypes(type, wire, [&]<typename T, typename W>(T, W) {
      constexpr int64_t block = 1024;
      T sums[block];
      forEachRun<T>(begin(rank), begin(rank + 1), [&](T *values, int64_t at, int64_t count) {
        for (int64_t i = 0; i < count; i += block) {
          int64_t n = std::min(block, count - i);
          for (int from = 0; from < ranks; ++from) {
            auto *others = from == rank ? nullptr
                                        : reinterpret_cast<const W *>(received(from).data()) +
                                              (at - begin(rank)) + i;
            if (from == 0)
              others ? decode(others, n, sums) : encode(values + i, n, sums);
            else
              others ? add(others, n, sums) : add(values + i, n, sums);
          }
          encode(sums, n, values + i);
        }
      });
    });
  }
};

MessageSums::MessageSums(Messages &messages) : messages(messages) {}
MessageSums::~MessageSums() = default;

/// The spare sum with the smallest buffers that suffice, or with the largest ones.
std::unique_ptr<MessageSums::Sum> MessageSums::takeSpare(size_t bytes) {
  if (spare.empty())
    return std::make_unique<Sum>();
  auto isBetter = [&](const std::unique_ptr<Sum> &a, const std::unique_ptr<Sum> &b) {
    size_t x = a->outgoing.capacity(), y = b->outgoing.capacity();
    if ((x >= bytes) != (y >= bytes))
      return x >= bytes;
    return x >= bytes ? x < y : x > y;
  };
  auto best = std::min_element(spare.begin(), spare.end(), isBetter);
  std::unique_ptr<Sum> taken = std::move(*best);
  spare.erase(best);
  return taken;
}

Status MessageSums::send(Sum &sum, std::span<const std::byte> bytes, int to, int tag) {
  if (bytes.empty())
    return {};
  sent += bytes.size();
  return messages.send(bytes, to, tag, sum.requests.emplace_back());
}

Status MessageSums::receive(Sum &sum, std::span<std::byte> bytes, int from, int tag) {
  return bytes.empty() ? Status() : messages.receive(bytes, from, tag, sum.requests.emplace_back());
}

/// Both halves of a sum have a tag of their own; the last tags are for `share`.
static int tagOf(uint64_t sum, bool isGathering) {
  return int(sum % (Messages::tags / 2 - 1)) * 2 + isGathering;
}

Result<uint64_t> MessageSums::startSum(std::span<const Piece> pieces, gradc_dtype type, Wire wire) {
  int64_t count = 0;
  for (const Piece &piece : pieces)
    count += piece.count;
  size_t width = sizeOnWire(type, wire);
  std::unique_ptr<Sum> sum = takeSpare(size_t(count) * width);
  sum->number = ++started;
  sum->pieces.assign(pieces.begin(), pieces.end());
  sum->type = type;
  sum->wire = wire;
  sum->count = count;
  sum->ranks = size();
  sum->rank = rank();
  sum->width = width;
  sum->isGathering = false;
  sum->outgoing.resize(size_t(count) * width);
  sum->incoming.resize(size_t(sum->partSize(rank())) * width * size_t(size() - 1));
  sum->requests.clear();
  active.push_back(std::move(sum));
  if (Status status = sendParts(*active.back()); !status.ok())
    return status;
  return started;
}

Status MessageSums::sendParts(Sum &sum) {
  Status status;
  int tag = tagOf(sum.number, false);
  sum.forEachOther([&](int other) {
    if (status.ok())
      status = receive(sum, sum.received(other), other, tag);
  });
  sum.forEachOther([&](int other) {
    sum.pack(other);
    if (status.ok())
      status = send(sum, sum.part(other), other, tag);
  });
  return status;
}

Status MessageSums::sendSums(Sum &sum) {
  sum.addUp();
  sum.pack(rank());
  if (sum.wire == Wire::bf16)
    sum.unpack(rank()); // the owner, too, goes on with what the others receive
  sum.isGathering = true;
  Status status;
  int tag = tagOf(sum.number, true);
  sum.forEachOther([&](int other) {
    if (status.ok())
      status = receive(sum, sum.part(other), other, tag);
    if (status.ok())
      status = send(sum, sum.part(rank()), other, tag);
  });
  return status;
}

/// Of an active sum: does what its messages allow, and makes it spare at its end.
Status MessageSums::advance(Sum &sum) {
  for (;;) {
    auto ended = messages.haveEnded(sum.requests);
    if (!ended || !*ended)
      return ended.status();
    sum.requests.clear();
    if (sum.isGathering)
      break;
    if (Status status = sendSums(sum); !status.ok())
      return status;
  }
  sum.forEachOther([&](int other) { sum.unpack(other); });
  auto here = std::ranges::find(active, &sum, &std::unique_ptr<Sum>::get);
  spare.push_back(std::move(*here));
  active.erase(here);
  return {};
}

Status MessageSums::progress() {
  for (size_t i = 0; i < active.size();) {
    size_t before = active.size();
    if (Status status = advance(*active[i]); !status.ok())
      return status;
    i += active.size() == before;
  }
  return {};
}

Status MessageSums::waitFor(uint64_t sum) {
  auto isActive = [&] {
    return std::ranges::any_of(active, [&](const auto &one) { return one->number == sum; });
  };
  for (;;) {
    if (Status status = progress(); !status.ok())
      return status;
    if (!isActive())
      return {};
    if (Status status = messages.pause(); !status.ok())
      return status;
  }
}

Status MessageSums::complete(std::vector<Messages::Request> &requests) {
  for (;;) {
    auto ended = messages.haveEnded(requests);
    if (!ended || *ended)
      return ended.status();
    if (Status status = messages.pause(); !status.ok())
      return status;
  }
}

Result<std::vector<std::string>> MessageSums::share(const std::string &mine) {
  std::vector<std::string> texts(static_cast<size_t>(size()));
  std::vector<uint64_t> sizes(texts.size(), mine.size());
  // First the sizes, then the texts.
  for (bool isText : {false, true}) {
    std::vector<Messages::Request> requests;
    for (int other = 0; other < size(); ++other) {
      if (other == rank())
        continue;
      std::string &theirs = texts[size_t(other)];
      theirs.resize(sizes[size_t(other)] * isText);
      auto in = isText ? std::as_writable_bytes(std::span(theirs))
                       : std::as_writable_bytes(std::span(&sizes[size_t(other)], 1));
      auto out = isText ? std::as_bytes(std::span(mine))
                        : std::as_bytes(std::span(&sizes[size_t(rank())], 1));
      int tag = Messages::tags - 2 + isText;
      Status status =
          in.empty() ? Status() : messages.receive(in, other, tag, requests.emplace_back());
      if (status.ok() && !out.empty())
        status = messages.send(out, other, tag, requests.emplace_back());
      if (!status.ok())
        return status;
    }
    if (Status status = complete(requests); !status.ok())
      return status;
  }
  texts[size_t(rank())] = mine;
  return texts;
}

/// The parts of a shared text, which hold no zeros.
static std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0, end; (end = text.find('\0', begin)) != text.npos; begin = end + 1)
    parts.push_back(text.substr(begin, end - begin));
  return parts;
}

Status MessageSums::agree(const Status &mine, std::span<const Fact> facts) {
  std::string said = text(int(mine.code()));
  said += '\0';
  for (const Fact &fact : facts)
    said.append(fact.value).append(1, '\0');
  auto all = share(said);
  if (!all)
    return all.status();
  // 1. The first failure, of all ranks or of some.
  for (int other = 0; other < size(); ++other)
    if (int code = std::atoi((*all)[size_t(other)].c_str()))
      return other == rank() ? mine : Status(Code(code), "");
  // 2. The first difference, which rank 0 names.
  std::vector<std::string_view> expected = split((*all)[0]);
  for (int other = 1; other < size(); ++other) {
    std::vector<std::string_view> found = split((*all)[size_t(other)]);
    for (size_t i = 0; i < facts.size(); ++i)
      if (found.size() != expected.size() || found[i + 1] != expected[i + 1])
        return Status::error(rank() ? ""
                                    : text("rank ", other, " differs from rank 0: ", facts[i].name,
                                           " is ", i + 1 < found.size() ? found[i + 1] : "unknown",
                                           ", expected ", expected[i + 1]));
  }
  return {};
}

} // namespace gradc::runtime
