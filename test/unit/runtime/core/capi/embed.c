/* A C99 program linked with a compiled model, which it trains: only gradc.h, nothing of C++. */
#include "gradc/gradc.h"

#include <stdio.h>

static int fail(void) {
  fprintf(stderr, "error: %s\n", gradc_last_error());
  return 1;
}

int main(void) {
  static float x[64 * 16];
  gradc_model *model = NULL;
  gradc_session *session = NULL;
  gradc_session_options options = {.size = sizeof options, .threads = 2};
  gradc_step_result result = {.size = sizeof result};
  const void *data[] = {x};
  uint32_t total;
  float values[64 * 16];

  if (gradc_open(NULL, &model) || gradc_session_create(model, &options, &session))
    return fail();
  for (int step = 0; step < 2; ++step) {
    if (gradc_train_step(session, data, 1, 0, 0, &result))
      return fail();
    printf("step %d: loss %g\n", (int)result.step, result.loss / 32);
  }
  if (gradc_state_find(session, "total", &total) ||
      gradc_state_get(session, total, values, sizeof values))
    return fail();
  printf("total[16] = %g\n", values[16]);
  gradc_session_free(session);
  gradc_close(model);
  return 0;
}
