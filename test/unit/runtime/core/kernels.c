/* Kernels for the session's tests, built into an image like the compiler's: position-independent,
 * calling nothing. Each follows the kernel ABI of artifact.h. */
#include <stdint.h>

#ifndef ROW_FACTOR
#define ROW_FACTOR 2
#endif

/* [rows, 16] f32; a unit is a row: out = a * 2 + row's number. */
void double_rows(void *const *slices, int64_t begin, int64_t end, int64_t rows) {
  const float *in = slices[0];
  float *out = slices[1];
  for (int64_t i = begin * 16; i < end * 16; ++i)
    out[i] = in[i] * ROW_FACTOR + (float)(i / 16);
}

/* The same for the rows of the run. */
void double_some(void *const *slices, int64_t begin, int64_t end, int64_t rows) {
  double_rows(slices, begin, end < rows ? end : rows, rows);
}

/* out += in, in place; a unit is one row of 16. */
void accumulate_rows(void *const *slices, int64_t begin, int64_t end, int64_t rows) {
  const float *in = slices[0];
  float *out = slices[2]; /* the same memory as slices[1] */
  for (int64_t i = begin * 16; i < end * 16; ++i)
    out[i] += in[i];
}

/* [64, 16] -> one f32, on one thread, in index order. */
void sum_all(void *const *slices, int64_t begin, int64_t end, int64_t rows) {
  const float *in = slices[0];
  float *out = slices[1], sum = 0;
  for (int64_t i = 0; i < 64 * 16; ++i)
    sum += in[i];
  *out = sum;
}

/* w[6][4] -> wt[4][6], and a mirror w[6][4]. */
void pack_weight(void *const *slices, int64_t begin, int64_t end, int64_t rows) {
  const float *in = slices[0];
  float *packed = slices[1], *mirror = slices[2];
  for (int64_t i = 0; i < 6; ++i)
    for (int64_t j = 0; j < 4; ++j)
      packed[j * 6 + i] = mirror[i * 4 + j] = in[i * 4 + j];
}

void unpack_weight(void *const *slices, int64_t begin, int64_t end, int64_t rows) {
  const float *packed = slices[0];
  float *out = slices[1];
  for (int64_t i = 0; i < 6; ++i)
    for (int64_t j = 0; j < 4; ++j)
      out[i * 4 + j] = packed[j * 6 + i];
}

/* packed weight + mirror -> sum of both, one f32. */
void weigh(void *const *slices, int64_t begin, int64_t end, int64_t rows) {
  const float *packed = slices[0], *mirror = slices[1];
  float *out = slices[2], sum = 0;
  for (int64_t i = 0; i < 24; ++i)
    sum += packed[i] + mirror[i];
  *out = sum;
}

/* out = 1 / (in - 3): infinite where in is 3. */
void reciprocal(void *const *slices, int64_t begin, int64_t end, int64_t rows) {
  const float *in = slices[0];
  float *out = slices[1];
  for (int64_t i = begin * 16; i < end * 16; ++i)
    out[i] = 1.0f / (in[i] - 3.0f);
}

/* A product that is denormal: 0 where denormals are flushed. */
void denormal(void *const *slices, int64_t begin, int64_t end, int64_t rows) {
  const float *in = slices[0];
  float *out = slices[1];
  for (int64_t i = begin * 16; i < end * 16; ++i)
    out[i] = in[i] * 1e-39f;
}

/* out = a + b; a unit is one number. */
void add_numbers(void *const *slices, int64_t begin, int64_t end, int64_t rows) {
  const float *a = slices[0], *b = slices[1];
  float *out = slices[2];
  for (int64_t i = begin; i < end; ++i)
    out[i] = a[i] + b[i];
}

/* Whether the first number is above 0. */
void is_positive(void *const *slices, int64_t begin, int64_t end, int64_t rows) {
  *(uint8_t *)slices[1] = *(const float *)slices[0] > 0;
}

/* The sum of `rows` rows of 16 over their number, as an input says it. */
void mean_rows(void *const *slices, int64_t begin, int64_t end, int64_t rows) {
  const float *in = slices[0], *count = slices[1];
  float *out = slices[2], sum = 0;
  for (int64_t i = 0; i < rows * 16; ++i)
    sum += in[i];
  *out = sum / *count;
}
