/* Opens the digits trainer named on the command line and makes one step. */
#include <gradc/gradc.h>
#include <stdio.h>

enum { BATCH = 32, PIXELS = 64 };

int main(int argc, char **argv) {
  static float images[BATCH * PIXELS];
  static int64_t labels[BATCH];
  const void *data[] = {images, labels};
  gradc_model *model;
  gradc_session *session;
  gradc_model_info info = {sizeof info};
  gradc_step_result result = {sizeof result};
  if (argc != 2 || gradc_open(argv[1], &model) || gradc_model_describe(model, &info) ||
      gradc_session_create(model, NULL, &session) ||
      gradc_train_step(session, data, 2, BATCH, 0, &result)) {
    printf("%s\n", gradc_last_error());
    return 0;
  }
  printf("trains %u, step %lld loss %.4f\n", info.trains, (long long)result.step, result.loss);
  gradc_session_free(session);
  gradc_close(model);
  return 0;
}
