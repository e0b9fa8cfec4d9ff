/* Steps a compiled trainer from C: own data, one call per step, the trained model as ONNX. */
#include "gradc/gradc.h"

#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 32, PIXELS = 64, CLASSES = 10, STEPS = 200 };

static void check(gradc_status status) {
  if (status != GRADC_OK) {
    fprintf(stderr, "error: %s\n", gradc_last_error());
    exit((int)status);
  }
}

/* Class c is a bright diagonal that begins in pixel 5c, in noise. */
static void makeBatch(float *images, int64_t *labels) {
  for (int n = 0; n < BATCH; ++n) {
    labels[n] = rand() % CLASSES;
    for (int p = 0; p < PIXELS; ++p)
      images[n * PIXELS + p] = 0.3f * (float)rand() / (float)RAND_MAX;
    for (int p = 5 * (int)labels[n]; p < PIXELS; p += 9)
      images[n * PIXELS + p] += 0.7f;
  }
}

int main(int argc, char **argv) {
  gradc_model *model;
  gradc_session *session;
  check(gradc_open(NULL, &model)); /* the one in the library that this program links */
  check(gradc_session_create(model, NULL, &session));

  static float images[BATCH * PIXELS];
  static int64_t labels[BATCH];
  const void *data[] = {images, labels};
  gradc_step_result result = {sizeof result};
  for (int step = 0; step < STEPS; ++step) {
    makeBatch(images, labels);
    check(gradc_train_step(session, data, 2, BATCH, 0, &result));
    if (result.step == 1 || result.step % 50 == 0)
      printf("step %3lld  loss %.4f\n", (long long)result.step, result.loss);
  }
  if (argc > 1)
    check(gradc_export_onnx(session, argv[1]));
  gradc_session_free(session);
  gradc_close(model);
  return 0;
}
