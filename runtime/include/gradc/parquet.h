/* The interface of libgradc-parquet.so, the plug-in with which programs read Parquet files: columns are returned through
 * Arrow's C data interface, with the structures of its specification. */
#ifndef GRADC_PARQUET_H
#define GRADC_PARQUET_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
struct ArrowSchema {
  const char *format, *name, *metadata;
  int64_t flags, n_children;
  struct ArrowSchema **children, *dictionary;
  void (*release)(struct ArrowSchema *);
  void *private_data;
};
struct ArrowArray {
  int64_t length, null_count, offset, n_buffers, n_children;
  const void **buffers;
  struct ArrowArray **children, *dictionary;
  void (*release)(struct ArrowArray *);
  void *private_data;
};
#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
  int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
  const char *(*get_last_error)(struct ArrowArrayStream *);
  void (*release)(struct ArrowArrayStream *);
  void *private_data;
};
#endif

typedef struct gradc_parquet_file gradc_parquet_file;

/* Opens a file. The children of `schema`, which the caller releases, are its columns. Returns null on failure, with the reason
 * in `message`. */
gradc_parquet_file *gradc_parquet_open(const char *path, struct ArrowSchema *schema, char *message, size_t message_bytes);

/* Streams the rows of some columns, given by their indices in the schema, in rising order. Returns 0 on success; otherwise
 * `message` has the reason. The stream must be released before the file is closed. */
int gradc_parquet_read(gradc_parquet_file *file, const int *columns, int count, struct ArrowArrayStream *stream, char *message,
                       size_t message_bytes);

void gradc_parquet_close(gradc_parquet_file *file);

#ifdef __cplusplus
}
#endif

#endif
