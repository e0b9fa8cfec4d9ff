// The loops are written once, with vectors of eight lanes, and compiled for AVX2 and for any
// x86-64. Neither may fuse multiplications and additions, so both give the same bits.
#include "runtime/data/image/Resample.h"

#include <algorithm>
#include <cstring>

// All functions with vector arguments are inlined, so no ABI is involved.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace gradc::runtime {

namespace {

constexpr int64_t lanes = 8, half = 4;
using Half = float __attribute__((vector_size(16)));
using Lanes = float __attribute__((vector_size(32)));
using Mask = int32_t __attribute__((vector_size(32)));
using Bytes = uint8_t __attribute__((vector_size(8)));

/// The arguments of the loops.
struct Job {
  const PixelView &in;
  const Taps &rows;
  int64_t tapCount, width; ///< of the columns
  int64_t firstColumn, columnCount;
  float *row;
  const float *weights;   ///< by block, tap, lane and channel
  const int32_t *offsets; ///< by block and lane: into the row
  const int32_t *padding; ///< by block and lane: -1 where there is padding; or null
  float fill;
  const PixelScale &scale;
  const PixelTarget &out;
};

#define INLINE inline __attribute__((always_inline))

template <typename Vector> INLINE Vector load(const void *from) {
  Vector vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}
template <typename Vector> INLINE void store(void *to, const Vector &vector) {
  std::memcpy(to, &vector, sizeof vector);
}

/// out[i] (+)= the weighted sum of `taps` rows, which are `stride` elements apart.
template <typename T, int taps, bool adds>
INLINE void sumRows(const T *in, int64_t stride, const float *weights, float *__restrict out,
                    int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    float sum = weights[0] * float(in[i]);
    for (int k = 1; k < taps; ++k)
      sum += weights[k] * float(in[k * stride + i]);
    out[i] = adds ? out[i] + sum : sum;
  }
}

template <typename T, bool adds>
INLINE void sumUpToFour(const T *in, int64_t stride, std::span<const float> weights, float *out,
                        int64_t count) {
  switch (weights.size()) {
  case 1:
    return sumRows<T, 1, adds>(in, stride, weights.data(), out, count);
  case 2:
    return sumRows<T, 2, adds>(in, stride, weights.data(), out, count);
  case 3:
    return sumRows<T, 3, adds>(in, stride, weights.data(), out, count);
  default:
    return sumRows<T, 4, adds>(in, stride, weights.data(), out, count);
  }
}

/// Makes one row with the output's height and the input's width.
template <typename T> INLINE void makeRow(const Job &job, int64_t y) {
  int64_t channels = job.in.channels, stride = job.in.width * channels,
          count = job.columnCount * channels;
  const T *in = reinterpret_cast<const T *>(job.in.pixels) + job.rows.first(y) * stride +
                job.firstColumn * channels;
  std::span<const float> weights = job.rows.weights(y);
  size_t first = std::min<size_t>(weights.size(), 4);
  sumUpToFour<T, false>(in, stride, weights.first(first), job.row, count);
  for (weights = weights.subspan(first), in += 4 * stride; !weights.empty(); in += 4 * stride) {
    first = std::min<size_t>(weights.size(), 4);
    sumUpToFour<T, true>(in, stride, weights.first(first), job.row, count);
    weights = weights.subspan(first);
  }
}

/// Sums eight pixels of three or four channels. A vector holds two pixels, four pixels apart;
/// transposing its halves then gives each channel's pixels in order.
INLINE void sumPixels(const float *row, const int32_t *offsets, const float *weights,
                      int64_t tapCount, int64_t channels, Lanes (&planes)[maxChannels]) {
  Lanes sums[half] = {};
  for (int64_t k = 0; k < tapCount; ++k, row += channels, weights += half * lanes)
    for (int64_t j = 0; j < half; ++j) {
      Half low = load<Half>(row + offsets[j]), high = load<Half>(row + offsets[j + half]);
      sums[j] += __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7) *
                 load<Lanes>(weights + j * lanes);
    }
  Lanes rg01 = __builtin_shufflevector(sums[0], sums[1], 0, 8, 1, 9, 4, 12, 5, 13),
        rg23 = __builtin_shufflevector(sums[2], sums[3], 0, 8, 1, 9, 4, 12, 5, 13),
        ba01 = __builtin_shufflevector(sums[0], sums[1], 2, 10, 3, 11, 6, 14, 7, 15),
        ba23 = __builtin_shufflevector(sums[2], sums[3], 2, 10, 3, 11, 6, 14, 7, 15);
  planes[0] = __builtin_shufflevector(rg01, rg23, 0, 1, 8, 9, 4, 5, 12, 13);
  planes[1] = __builtin_shufflevector(rg01, rg23, 2, 3, 10, 11, 6, 7, 14, 15);
  planes[2] = __builtin_shufflevector(ba01, ba23, 0, 1, 8, 9, 4, 5, 12, 13);
  planes[3] = __builtin_shufflevector(ba01, ba23, 2, 3, 10, 11, 6, 7, 14, 15);
}

/// The usual case: writes a row of RGB pixels as three rows of f32. The caller handles pixels that
/// do not fill a vector; returns the number of pixels written.
INLINE int64_t writePlanes(const Job &job, int64_t y) {
  Lanes scales[3], shifts[3];
  for (size_t c = 0; c < 3; ++c) {
    scales[c] = Lanes{} + job.scale.scale[c];
    shifts[c] = Lanes{} + job.scale.shift[c];
  }
  const float *row = job.row, *weights = job.weights;
  const int32_t *offsets = job.offsets;
  int64_t tapCount = job.tapCount, width = job.width, plane = job.rows.outputs() * width, x = 0;
  auto *out = reinterpret_cast<float *>(job.out.pixels) + y * width;
  for (; x + lanes <= width; x += lanes) {
    Lanes planes[maxChannels];
    sumPixels(row, offsets, weights, tapCount, 3, planes);
    for (int64_t c = 0; c < 3; ++c)
      store(out + c * plane + x, planes[c] * scales[c] + shifts[c]);
    offsets += lanes;
    weights += tapCount * half * lanes;
  }
  return x;
}

/// Sums eight pixels of one or two channels; a vector holds one channel.
INLINE void sumChannel(const Job &job, int64_t block, int64_t channel, Lanes &plane) {
  plane = Lanes{};
  const int32_t *offsets = job.offsets + block * lanes;
  const float *weights = job.weights + block * job.tapCount * lanes;
  for (int64_t k = 0; k < job.tapCount; ++k) {
    Lanes values;
    for (int64_t i = 0; i < lanes; ++i)
      values[i] = job.row[offsets[i] + k * job.in.channels + channel];
    plane += values * load<Lanes>(weights + k * lanes);
  }
}

INLINE Bytes roundToBytes(const Lanes &in) {
  Lanes values = in > 0 ? in : Lanes{}; // NaN becomes 0 as well
  values = values < 255 ? values : Lanes{} + 255;
  return __builtin_convertvector(__builtin_convertvector(values + 0.5f, Mask), Bytes);
}

/// `at` is the element's position in the output, `count` the number of pixels to the end of the
/// row.
template <typename T>
INLINE void writePixels(const Job &job, int64_t y, int64_t x, const Lanes (&planes)[maxChannels]) {
  T *out = reinterpret_cast<T *>(job.out.pixels);
  int64_t channels = job.in.channels, height = job.rows.outputs(),
          count = std::min(job.width - x, lanes);
  T values[maxChannels][lanes];
  for (int64_t c = 0; c < channels; ++c) {
    T *place = job.out.channelsFirst && count == lanes ? out + (c * height + y) * job.width + x
                                                       : values[c];
    if constexpr (sizeof(T) == 1)
      store(place, roundToBytes(planes[c]));
    else
      store(place, planes[c]);
  }
  if (job.out.channelsFirst) {
    if (count < lanes)
      for (int64_t c = 0; c < channels; ++c)
        std::copy_n(values[c], count, out + (c * height + y) * job.width + x);
    return;
  }
  out += (y * job.width + x) * channels;
  for (int64_t i = 0; i < count; ++i)
    for (int64_t c = 0; c < channels; ++c)
      out[i * channels + c] = values[c][i];
}

INLINE void writeBlock(const Job &job, int64_t y, int64_t x, Lanes (&planes)[maxChannels]) {
  for (int64_t c = 0; c < job.in.channels; ++c)
    planes[c] = planes[c] * job.scale.scale[size_t(c)] + job.scale.shift[size_t(c)];
  if (job.out.dtype == GRADC_F32)
    writePixels<float>(job, y, x, planes);
  else
    writePixels<uint8_t>(job, y, x, planes);
}

INLINE void resample(const Job &job) {
  int64_t height = job.rows.outputs(), channels = job.in.channels;
  Lanes fill = Lanes{} + job.fill;
  bool isUsual =
      channels == 3 && !job.padding && job.out.channelsFirst && job.out.dtype == GRADC_F32;
  for (int64_t y = 0; y < height; ++y) {
    bool outside = job.rows.first(y) == Taps::outside;
    if (!outside && job.in.dtype == GRADC_U8)
      makeRow<uint8_t>(job, y);
    else if (!outside)
      makeRow<float>(job, y);
    for (int64_t x = isUsual && !outside ? writePlanes(job, y) : 0; x < job.width; x += lanes) {
      int64_t block = x / lanes;
      Lanes planes[maxChannels] = {fill, fill, fill, fill};
      if (!outside && channels >= 3)
        sumPixels(job.row, job.offsets + x, job.weights + x * job.tapCount * half, job.tapCount,
                  channels, planes);
      else if (!outside)
        for (int64_t c = 0; c < channels; ++c)
          sumChannel(job, block, c, planes[c]);
      if (!outside && job.padding)
        for (int64_t c = 0; c < channels; ++c)
          planes[c] = load<Mask>(job.padding + x) ? fill : planes[c];
      writeBlock(job, y, x, planes);
    }
  }
}

__attribute__((target("avx2"))) void resampleWithAvx2(const Job &job) { resample(job); }
void resampleAnywhere(const Job &job) { resample(job); }

} // namespace

void Resampler::planColumns(const Taps &columns, int64_t channels) {
  int64_t blocks = (columns.outputs() + lanes - 1) / lanes, taps = columns.width(),
          copies = channels >= 3 ? half : 1; // copies of a weight, for the channels of its pixel
  firstColumn = columns.inputs();
  int64_t end = 0;
  for (int64_t x = 0; x < columns.outputs(); ++x)
    if (int64_t first = columns.first(x); first != Taps::outside) {
      firstColumn = std::min(firstColumn, first);
      end = std::max(end, first + taps);
    }
  columnCount = std::max(end - firstColumn, int64_t(0));
  // Pixels of three channels are read like pixels of four.
  row.assign(size_t(std::max(columnCount, taps) * channels + half), 0.0f);

  offsets.assign(size_t(blocks * lanes), 0);
  padding.assign(size_t(blocks * lanes), 0);
  weights.assign(size_t(blocks * lanes * taps * copies), 0.0f);
  hasPadding = false;
  for (int64_t x = 0; x < columns.outputs(); ++x) {
    if (columns.first(x) == Taps::outside) {
      padding[size_t(x)] = -1;
      hasPadding = true;
      continue;
    }
    offsets[size_t(x)] = int32_t((columns.first(x) - firstColumn) * channels);
    int64_t block = x / lanes, lane = x % lanes;
    float *out = copies == 1 ? &weights[size_t(block * taps * lanes + lane)]
                             : &weights[size_t(block * taps * half * lanes + lane % half * lanes +
                                               lane / half * half)];
    for (float weight : columns.weights(x)) {
      std::fill_n(out, copies, weight);
      out += copies * lanes;
    }
  }
}

void Resampler::run(const PixelView &in, const Taps &rows, const Taps &columns, float fill,
                    const PixelScale &scale, const PixelTarget &out) {
  planColumns(columns, in.channels);
  Job job = {in,
             rows,
             columns.width(),
             columns.outputs(),
             firstColumn,
             columnCount,
             row.data(),
             weights.data(),
             offsets.data(),
             hasPadding ? padding.data() : nullptr,
             fill,
             scale,
             out};
  if (__builtin_cpu_supports("avx2"))
    resampleWithAvx2(job);
  else
    resampleAnywhere(job);
}

} // namespace gradc::runtime
