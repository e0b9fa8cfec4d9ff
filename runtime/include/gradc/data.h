/* Describes a data set without reading its rows, for the compiler. It is not part of the promised ABI
 * (gradc.h), and no compiled library exports it. */
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
  int64_t classes;      /* > 0: its numbers are labels, each from 0 to below this one in some row */
  int by_length;        /* 1: the first dim is the longest bucket's length, in batches of another its own */
} gradc_data_field;

/* Rows of up to this length come in batches of their own. */
typedef struct gradc_data_bucket {
  int64_t length, batch;
} gradc_data_bucket;

/* A data set, or what the stages up to some point make of it. */
typedef struct gradc_data_shape {
  const char *origin;             /* for messages: the source's path as the block has it */
  int knows_fields;               /* 0: they are in files that are not there yet */
  const gradc_data_field *fields; /* in the order in which the source has them */
  uint32_t field_count;
  int64_t rows;             /* that an epoch visits; -1: unknown */
  const char *why_unknown;  /* the rows: "'x.csv' is not there yet" */
  int64_t batch;            /* behind the batch stage its size, before it 0 */
  const gradc_data_bucket *buckets; /* by length; none where rows of any length come together */
  uint32_t bucket_count;
} gradc_data_shape;

/* Fields that a model makes; all memory is the listener's until the call returns. */
typedef struct gradc_data_made {
  const gradc_data_field *fields;
  uint32_t field_count;
} gradc_data_made;

/* The effect of a map stage on a field, as operations on whole tensors. Dims and axes are those of a row. */
typedef enum gradc_data_op {
  GRADC_DATA_CAST,        /* to `dtype` */
  GRADC_DATA_SCALE,       /* value * factors[i] + offsets[i], in the field's type */
  GRADC_DATA_STANDARDIZE, /* (value - mean[i]) * scale[i] in f64, of numbers that the run finds and keeps as `key` */
  GRADC_DATA_ONE_HOT,     /* one more dim, of `count`: f32 1 at the value's place, else 0 */
  GRADC_DATA_TRANSPOSE,   /* dim i of the result is dim indices[i] */
  GRADC_DATA_PICK,        /* place i of the result along `axis` is place indices[i] */
  GRADC_DATA_WEIGH,       /* place i of the result along `axis` is the sum of the places there, weighted by row i of `weights` */
  GRADC_DATA_ROUND,       /* to the nearest u8 */
  GRADC_DATA_RANDOM,      /* something random that leaves type and shape as they are */
  GRADC_DATA_OTHER        /* nothing of this: decoding, rows that vary in size, fields that are not known yet */
} gradc_data_op;

/* Of factors, offsets and the run's numbers there is one for each place i along `axis`, `count` in all. A count of 1 is
 * one for all values. */
typedef struct gradc_data_step {
  gradc_data_op op;
  gradc_dtype dtype;
  int64_t axis, count;
  const double *factors, *offsets;
  const int64_t *indices;
  const float *weights; /* count x the dim `axis` of the field before the stage */
  const char *key;
  double epsilon; /* scale[i] is 1 / (deviation[i] + epsilon), or 0 where that is no number above 0 */
} gradc_data_step;

/* Called while data are described. Values are indices of the block's tree. */
typedef struct gradc_data_listener {
  void *self;
  /* Something is wrong with a value of the block. */
  void (*problem)(void *self, uint32_t value, const char *message);
  /* A map stage is a model, which is the listener's to know: says what fields it makes. Returns 0
   * where it cannot be, which the listener has told by itself. Null: fields behind it are unknown. */
  int (*model)(void *self, uint32_t map, const gradc_data_shape *before, gradc_data_made *made);
  /* One of the steps, in their order, of a map stage over a field, which is `before` the stage of this type and shape; none
   * for a stage that changes nothing. Null: not wanted. */
  void (*step)(void *self, uint32_t map, const gradc_data_field *before, const gradc_data_step *step);
  /* At the end: all that is known. */
  void (*described)(void *self, const gradc_data_shape *shape);
} gradc_data_listener;

/* Describes the `data` block whose tree begins with values[0], as artifacts carry it. Relative paths
 * begin in `folder`. Looks at headers of files and counts rows; reads no row, and leaves no file.
 * Files that are not there yet are no problem. All problems are told, not only the first. Returns
 * how many there were. */
uint32_t gradc_data_describe(const gradc_artifact_value *values, const char *strings,
                             const char *folder, const gradc_data_listener *listener);

/* Told what was found for the csv field at `field`, an index of the block's tree: `count` texts, or numbers, one for each of its
 * columns. The other pointer is null. */
typedef void (*gradc_data_fitted)(void *self, uint32_t field, uint32_t count, const char *const *texts,
                                  const double *numbers);

/* Reads the rows of a `data` block's table, and finds what its csv fields leave to be found: categories without values, and what `fill`
 * asks for. Returns 0, or 1 where the data cannot be read and 3 where the block is wrong, after it has told the message. Nothing is read where
 * no field asks. */
int gradc_data_fit(const gradc_artifact_value *values, const char *strings, const char *folder,
                   void *self, gradc_data_fitted fitted, void (*problem)(void *self, const char *message));

#ifdef __cplusplus
}
#endif

#endif
