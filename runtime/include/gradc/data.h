/* Describes a data set without reading its rows, for the compiler. This interface is not part of the stable ABI
 * (gradc.h), and compiled libraries do not export it. */
#ifndef GRADC_DATA_H
#define GRADC_DATA_H

#include "runtime/include/gradc/artifact.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One row of a field. */
typedef struct gradc_data_field {
  const char *name;
  gradc_dtype dtype;
  uint32_t rank;
  const int64_t *shape; /* -1: varies from row to row */
  int64_t classes;      /* > 0: the values are labels from 0 to classes - 1, and each of them occurs */
  int by_length;        /* 1: the first dim is the length of the longest bucket; batches of other buckets have theirs */
} gradc_data_field;

/* Rows that are longer than the next smaller bucket and at most `length` long, which form their own batches. */
typedef struct gradc_data_bucket {
  int64_t length, batch;
} gradc_data_bucket;

/* A data set, or the result of the stages up to some point. */
typedef struct gradc_data_shape {
  const char *origin;             /* the path of the source as written in the block, for messages */
  int knows_fields;               /* 0: the fields depend on files that do not exist yet */
  const gradc_data_field *fields; /* in the order of the source */
  uint32_t field_count;
  int64_t rows;             /* per epoch; -1: unknown */
  const char *why_unknown;  /* the reason why `rows` is unknown: "'x.csv' is not there yet" */
  int64_t batch;            /* the batch size after the batch stage, 0 before */
  const gradc_data_bucket *buckets; /* in rising order of length; none if rows of all lengths share batches */
  uint32_t bucket_count;
} gradc_data_shape;

/* The fields that a model computes. The listener owns the memory, which is read before its next callback. */
typedef struct gradc_data_made {
  const gradc_data_field *fields;
  uint32_t field_count;
} gradc_data_made;

/* Operations on whole tensors that describe the effect of a map stage on a field. Dims and axes are those of a row. */
typedef enum gradc_data_op {
  GRADC_DATA_CAST,        /* to `dtype` */
  GRADC_DATA_SCALE,       /* value * factors[i] + offsets[i], in the field's type */
  GRADC_DATA_STANDARDIZE, /* (value - mean[i]) * scale[i] in f64; the run computes both and stores them as `key` */
  GRADC_DATA_ONE_HOT,     /* adds a last dim of size `count`: f32, 1 at index `value`, else 0 */
  GRADC_DATA_TRANSPOSE,   /* dim i of the result is dim indices[i] of the field */
  GRADC_DATA_PICK,        /* element i of the result along `axis` is element indices[i] of the field */
  GRADC_DATA_WEIGH,       /* element i of the result along `axis` is the sum of the field's, weighted by row i of `weights` */
  GRADC_DATA_ROUND,       /* to the nearest u8 */
  GRADC_DATA_RANDOM,      /* a random operation that changes neither type nor shape */
  GRADC_DATA_OTHER        /* any other operation: decoding, rows of different sizes, fields that are unknown yet, windows */
} gradc_data_op;

/* Factors, offsets and the numbers of GRADC_DATA_STANDARDIZE: one per element i along `axis`, `count` in total; if
 * `count` is 1, one for all values. */
typedef struct gradc_data_step {
  gradc_data_op op;
  gradc_dtype dtype;
  int64_t axis, count;
  const double *factors, *offsets;
  const int64_t *indices;
  const float *weights; /* [count, size of dim `axis` of the field before the stage] */
  const char *key;
  double epsilon; /* scale[i] is 1 / (deviation[i] + epsilon), or 0 if that is not a positive finite number */
} gradc_data_step;

/* Callbacks of gradc_data_describe. `value` and `map` are indices of values in the tree of the block. */
typedef struct gradc_data_listener {
  void *self;
  /* Reports a problem with a value of the block. */
  void (*problem)(void *self, uint32_t value, const char *message);
  /* Asks for the fields that the model of a map stage computes. Returns 0 if the model is invalid, which the listener
   * has reported itself. Null: the fields after such a stage are unknown. */
  int (*model)(void *self, uint32_t map, const gradc_data_shape *before, gradc_data_made *made);
  /* Reports the steps of a map stage on a field one by one, in order; none if the stage changes nothing. `before` describes
   * the field before the stage. A window stage reports one step on each field. May be null. */
  void (*step)(void *self, uint32_t map, const gradc_data_field *before, const gradc_data_step *step);
  /* Reports the described data set; called last. */
  void (*described)(void *self, const gradc_data_shape *shape);
  /* Whether the job may use a field of that name. An archive may hold arrays of any type and number of rows that it does
   * not use. Null: it may use any field. */
  int (*uses)(void *self, const char *name);
} gradc_data_listener;

/* Describes the `data` block with the root values[0], in the artifact's form. Relative paths are relative to `folder`.
 * Reads headers of files and counts rows, but reads no rows and writes no files. Files that do not exist yet are not a
 * problem. Reports all problems and returns their number. */
uint32_t gradc_data_describe(const gradc_artifact_value *values, const char *strings,
                             const char *folder, const gradc_data_listener *listener);

/* Receives the values found for the csv field at index `field` of the block's tree: `count` texts, or one number per
 * column, `count` in total. The other pointer is null. */
typedef void (*gradc_data_fitted)(void *self, uint32_t field, uint32_t count, const char *const *texts,
                                  const double *numbers);

/* Reads the table of a `data` block and computes the values that its csv fields leave open: the categories of fields that
 * list none, and the values for `fill`. Returns 0, 1 if the data cannot be read, or 3 if the block is invalid, after a call
 * of `problem` with the message and the index of the value that it is about, 0 for the source. Reads nothing if no field
 * leaves a value open. */
int gradc_data_fit(const gradc_artifact_value *values, const char *strings, const char *folder,
                   void *self, gradc_data_fitted fitted,
                   void (*problem)(void *self, uint32_t value, const char *message));

#ifdef __cplusplus
}
#endif

#endif
