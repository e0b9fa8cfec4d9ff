/* A linear model of four inputs, w, trained by plain gradient descent on labels as numbers: small,
 * and sensitive to every input of the step. */
#include <stdint.h>

/* Loss and hits of `rows` samples; adds up the gradient where asked. */
static void forward(const float *x, const int64_t *y, const float *w, int64_t rows, float *loss,
                    float *accuracy, float *gradient) {
  float sum = 0, hits = 0;
  for (int64_t i = 0; i < rows; ++i) {
    float error = -(float)y[i];
    for (int64_t j = 0; j < 4; ++j)
      error += w[j] * x[4 * i + j];
    sum += error * error;
    hits += error > -0.5f && error < 0.5f;
    for (int64_t j = 0; gradient && j < 4; ++j)
      gradient[j] += 2 * error * x[4 * i + j] / (float)rows;
  }
  *loss = sum / (float)rows;
  *accuracy = hits / (float)rows;
}

/* x, y, learning rate, step, counter, seed, w -> w, loss, accuracy, gradient norm, proceed */
static void train(void *const *slices, int64_t rows) {
  const float *w = slices[6], rate = *(const float *)slices[2], step = *(const float *)slices[3];
  const int32_t counter = *(const int32_t *)slices[4], seed = *(const int32_t *)slices[5];
  float *updated = slices[7], *loss = slices[8], gradient[4] = {0};
  forward(slices[0], slices[1], w, rows, loss, slices[9], gradient);
  float norm = 0;
  for (int64_t j = 0; j < 4; ++j)
    norm += gradient[j] * gradient[j];
  *(float *)slices[10] = norm;
  uint8_t proceed = *loss - *loss == 0;
  *(uint8_t *)slices[11] = proceed;
  float noise = 1e-4f * (float)((counter * 7 + seed) % 5) / step;
  for (int64_t j = 0; j < 4; ++j)
    updated[j] = proceed ? w[j] - rate * gradient[j] + noise : w[j];
}

void train_8(void *const *slices, int64_t begin, int64_t end, int64_t rows) { train(slices, 8); }
void train_3(void *const *slices, int64_t begin, int64_t end, int64_t rows) { train(slices, 3); }

/* x, y, w -> loss, accuracy */
void evaluate_8(void *const *slices, int64_t begin, int64_t end, int64_t rows) {
  forward(slices[0], slices[1], slices[2], 8, slices[3], slices[4], 0);
}
void evaluate_1(void *const *slices, int64_t begin, int64_t end, int64_t rows) {
  forward(slices[0], slices[1], slices[2], 1, slices[3], slices[4], 0);
}
