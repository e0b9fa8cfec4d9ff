// Encodes values for the wire, adds the values of all ranks, and decodes sums.
#include "runtime/ranks/SumArray.h"

#include "runtime/base/ShortFloats.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gradc::runtime {

namespace {

using Bf16 = uint16_t;

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

} // namespace

size_t SumArray::widthOnWire(gradc_dtype type, Wire wire) {
  size_t size = 0;
  withTypes(type, wire, [&](auto, auto onWire) { size = sizeof onWire; });
  return size;
}

void SumArray::assign(std::span<const Piece> all, const Exchange &exchange, int ofRanks) {
  pieces.assign(all.begin(), all.end());
  theKind = exchange.kind;
  type = exchange.type;
  wire = exchange.wire;
  total = 0;
  for (const Piece &piece : pieces)
    total += piece.count;
  begins.assign(exchange.begins.begin(), exchange.begins.end());
  for (int rank = int(begins.size()); rank <= ofRanks; ++rank)
    begins.push_back(total * rank / ofRanks);
  wireWidth = widthOnWire(type, wire);
}

/// The values of a run in a source of the range that begins at `from`.
template <typename W>
static const W *valuesOf(const SumArray::Source &source, size_t run, int64_t offset) {
  const std::byte *values =
      source.encoded ? source.encoded + offset * int64_t(sizeof(W)) : source.runs[run];
  return reinterpret_cast<const W *>(values);
}

void SumArray::encode(int64_t from, int64_t to, std::byte *out) const {
  withTypes(type, wire, [&]<typename T, typename W>(T, W) {
    runsOf<T>(from, to, [&](T *values, Run run) {
      runtime::encode(values, run.count, reinterpret_cast<W *>(out) + (run.at - from));
    });
  });
}

void SumArray::decode(int64_t from, int64_t to, const Source &in) const {
  withTypes(type, wire, [&]<typename T, typename W>(T, W) {
    runsOf<T>(from, to, [&](T *values, Run run) {
      runtime::decode(valuesOf<W>(in, run.number, run.at - from), run.count, values);
    });
  });
}

/// Works block by block, so that the sums stay in cache.
void SumArray::addUp(int64_t from, int64_t to, std::span<const Source> others,
                     std::byte *out) const {
  withTypes(type, wire, [&]<typename T, typename W>(T, W) {
    constexpr int64_t block = 1024;
    T sums[block];
    auto addBlock = [&](T *values, Run run, int64_t begin, int64_t n) {
      bool isFirst = true;
      for (const Source &other : others) {
        const W *theirs =
            other.isKnown() ? valuesOf<W>(other, run.number, run.at - from) + begin : nullptr;
        if (std::exchange(isFirst, false))
          theirs ? runtime::decode(theirs, n, sums) : runtime::encode(values, n, sums);
        else
          theirs ? add(theirs, n, sums) : add(values, n, sums);
      }
      if (!out)
        return runtime::decode(sums, n, values);
      auto *encoded = reinterpret_cast<W *>(out) + (run.at - from + begin);
      runtime::encode(sums, n, encoded);
      // The owner also continues with the rounded values that the other ranks receive.
      runtime::decode(encoded, n, values);
    };
    runsOf<T>(from, to, [&](T *values, Run run) {
      for (int64_t i = 0; i < run.count; i += block)
        addBlock(values + i, run, i, std::min(block, run.count - i));
    });
  });
}

void SumArray::clearOthers(int rank) const {
  if (theKind != Kind::scatter)
    return;
  withTypes(type, wire, [&]<typename T, typename W>(T, W) {
    auto clear = [](const Piece &piece, int64_t begin, Run run) {
      if (piece.leavesZeros)
        std::fill_n(static_cast<T *>(piece.values) + begin, run.count, T());
    };
    eachRun(0, begin(rank), clear);
    eachRun(begin(rank + 1), total, clear);
  });
}

} // namespace gradc::runtime
