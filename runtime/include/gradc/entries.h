/* The names of entries. A session finds its entries by them:
 *   train, evaluate, forward   a training step, an evaluation, the model
 *   forward.NAME               the model for other shapes of its inputs (gradc compile --entry-shape)
 *   predict                    the model on prepared fields, if the exported model prepares them itself
 *   gradients                  the gradients that a spec asks for
 *   merged                     no inputs; its outputs have names of states, whose values they replace in exported models, or of
 *                              initializers that only exported models have
 *   map.N                      the model of a map stage; only at CPU levels
 *   train.NAME                 a step of each `train` block of the spec, instead of "train"
 *   evaluate.NAME              an evaluation of a set of the spec, if "evaluate" does not take its batches; there may be only its last
 *                              batch, "evaluate.NAME.tail"
 *   derive:                    no inputs, no outputs: computes the derived states from the others
 *   pack:STATE, unpack:STATE   convert a packed state: one input or output, named "value", row-major
 * Suffixes denote variants of these:
 *   .until.N                   of the first N steps of the run, in which groups are frozen
 *   .watch                     returns the gradients of watched parameters
 *   .length.N                  for batches of rows with up to N elements
 *   .rows.N                    for up to N rows
 *   .stage.K                   for the K-th rank of a replica of a pipeline
 *   .tail                      for the last, smaller batch, if the entry runs only whole batches
 *
 * To add a suffix, add a row to the table of words as well: no NAME may be one. */
#ifndef GRADC_ENTRIES_H
#define GRADC_ENTRIES_H

#include <string.h>

#define GRADC_TRAIN_ENTRY "train"
#define GRADC_EVALUATE_ENTRY "evaluate"
#define GRADC_FORWARD_ENTRY "forward"
#define GRADC_PREDICT_ENTRY "predict"
#define GRADC_GRADIENTS_ENTRY "gradients"
#define GRADC_MERGED_ENTRY "merged"
#define GRADC_DERIVE_ENTRY "derive:"

#define GRADC_TRAIN_PREFIX "train."
#define GRADC_EVALUATE_PREFIX "evaluate."
#define GRADC_FORWARD_PREFIX "forward."
#define GRADC_MAP_PREFIX "map."
#define GRADC_PACK_PREFIX "pack:"
#define GRADC_UNPACK_PREFIX "unpack:"

/* A number follows an infix. */
#define GRADC_UNTIL_INFIX ".until."
#define GRADC_LENGTH_INFIX ".length."
#define GRADC_ROWS_INFIX ".rows."
#define GRADC_STAGE_INFIX ".stage."
#define GRADC_WATCH_SUFFIX ".watch"
#define GRADC_TAIL_SUFFIX ".tail"

#define GRADC_SUFFIX_WORDS(WORD) WORD("length") WORD("rows") WORD("stage") WORD("tail") WORD("until") WORD("watch")

/* Whether a part of a name, between its dots, begins a suffix. */
static inline int gradc_begins_suffix(const char *part, size_t length) {
#define GRADC_SUFFIX_WORD(word) word,
  static const char *const words[] = {GRADC_SUFFIX_WORDS(GRADC_SUFFIX_WORD)};
#undef GRADC_SUFFIX_WORD
  for (size_t i = 0; i < sizeof(words) / sizeof(*words); ++i)
    if (strlen(words[i]) == length && memcmp(words[i], part, length) == 0)
      return 1;
  return 0;
}

#endif
