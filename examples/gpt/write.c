/* Goes on with a text by the entry "forward" of libdecoder.so: one character a run, over a cache of
 * keys and values. The arguments are CHECKPOINT TEXT [COUNT] [TEMPERATURE]. Each character is drawn
 * by the model's scores; at temperature 0 it is the best one. */
#include "gradc/gradc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VOCABULARY = 128, CONTEXT = 32, CACHES = 4, CACHE = 3 * CONTEXT * 16 };

static _Alignas(64) float logits[VOCABULARY], caches[CACHES][CACHE];

static void check(gradc_status status) {
  if (status != GRADC_OK) {
    fprintf(stderr, "error: %s\n", gradc_last_error());
    exit((int)status);
  }
}

/* Computes the scores of the character behind `token`, which is at `position`. Caches are inputs
 * and outputs. */
static void read(gradc_session *session, uint32_t entry, int64_t token, int64_t position) {
  const void *inputs[2 + CACHES] = {&token, &position};
  void *outputs[1 + CACHES] = {logits};
  for (int i = 0; i < CACHES; ++i)
    inputs[2 + i] = outputs[1 + i] = caches[i];
  check(gradc_run(session, entry, inputs, 2 + CACHES, outputs, 1 + CACHES));
}

static int choose(double temperature) {
  double weights[VOCABULARY], sum = 0;
  int best = 0;
  for (int i = 1; i < VOCABULARY; ++i)
    if (logits[i] > logits[best])
      best = i;
  if (temperature <= 0)
    return best;
  for (int i = 0; i < VOCABULARY; ++i)
    sum += weights[i] = exp((logits[i] - logits[best]) / temperature);
  double left = sum * rand() / RAND_MAX;
  for (int i = 0; i < VOCABULARY; ++i)
    if ((left -= weights[i]) < 0)
      return i;
  return best;
}

int main(int argc, char **argv) {
  if (argc < 3 || !*argv[2])
    return fprintf(stderr, "usage: %s CHECKPOINT TEXT [COUNT] [TEMPERATURE]\n", argv[0]), 2;
  size_t length = strlen(argv[2]), end = length + (argc > 3 ? strtoul(argv[3], NULL, 10) : 80);
  double temperature = argc > 4 ? atof(argv[4]) : 0;
  char *text = calloc(end + 1, 1);
  if (!text)
    return 5;
  memcpy(text, argv[2], length);

  gradc_model *model;
  gradc_session *session;
  uint32_t entry;
  check(gradc_open(NULL, &model)); /* the one in the library that this program links */
  check(gradc_session_create(model, NULL, &session));
  check(gradc_checkpoint_load(session, argv[1]));
  check(gradc_entry_find(session, "forward", &entry));

  /* The cache holds the characters from `first` to before `next`. */
  size_t first = length > CONTEXT ? length - CONTEXT : 0;
  for (size_t next = first; length < end; ++next) {
    if (next - first == CONTEXT) /* it is full: it begins again with the last half */
      next = first += CONTEXT / 2;
    read(session, entry, (unsigned char)text[next], (int64_t)(next - first));
    if (next + 1 == length)
      text[length++] = (char)choose(temperature);
  }
  puts(text);
  free(text);
  gradc_session_free(session);
  gradc_close(model);
  return 0;
}
