/* Goes on with a text by libdecoder.so, over a cache of keys and values: the entry "forward" reads
 * one character, "forward.prompt" eight. The arguments are CHECKPOINT TEXT [COUNT] [TEMPERATURE].
 * Each character is drawn by the model's scores; at temperature 0 it is the best one. */
#include "gradc/gradc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VOCABULARY = 128, CONTEXT = 32, PROMPT = 8, CACHES = 4, CACHE = 3 * CONTEXT * 16 };

static _Alignas(64) float logits[PROMPT][VOCABULARY], caches[CACHES][CACHE];

static void check(gradc_status status) {
  if (status != GRADC_OK) {
    fprintf(stderr, "error: %s\n", gradc_last_error());
    exit((int)status);
  }
}

/* Reads `count` characters, the first of which is at `position`, and returns the scores of the
 * character behind them. Caches are inputs and outputs. */
static const float *read(gradc_session *session, uint32_t entry, const char *text, int count,
                         int64_t position) {
  int64_t tokens[PROMPT];
  for (int i = 0; i < count; ++i)
    tokens[i] = (unsigned char)text[i];
  const void *inputs[2 + CACHES] = {tokens, &position};
  void *outputs[1 + CACHES] = {logits};
  for (int i = 0; i < CACHES; ++i)
    inputs[2 + i] = outputs[1 + i] = caches[i];
  check(gradc_run(session, entry, inputs, 2 + CACHES, outputs, 1 + CACHES));
  return logits[count - 1];
}

static int choose(const float *scores, double temperature) {
  double weights[VOCABULARY], sum = 0;
  int best = 0;
  for (int i = 1; i < VOCABULARY; ++i)
    if (scores[i] > scores[best])
      best = i;
  if (temperature <= 0)
    return best;
  for (int i = 0; i < VOCABULARY; ++i)
    sum += weights[i] = exp((scores[i] - scores[best]) / temperature);
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
  uint32_t step, prompt;
  check(gradc_open(NULL, &model)); /* the one in the library that this program links */
  check(gradc_session_create(model, NULL, &session));
  check(gradc_checkpoint_load(session, argv[1]));
  check(gradc_entry_find(session, "forward", &step));
  check(gradc_entry_find(session, "forward.prompt", &prompt));

  /* The cache holds the characters from `first` to before `next`. */
  size_t first = length > CONTEXT ? length - CONTEXT : 0;
  for (size_t next = first; length < end;) {
    if (next - first == CONTEXT) /* it is full: it begins again with the last half */
      next = first += CONTEXT / 2;
    int count = length - next < PROMPT ? 1 : PROMPT;
    const float *scores =
        read(session, count == 1 ? step : prompt, text + next, count, (int64_t)(next - first));
    next += (size_t)count;
    if (next == length)
      text[length++] = (char)choose(scores, temperature);
  }
  puts(text);
  free(text);
  gradc_session_free(session);
  gradc_close(model);
  return 0;
}
