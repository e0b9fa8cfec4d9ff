/* The C interface of a compiled model: train, evaluate and run it from any program.
 *
 *   gradc_model *model;
 *   gradc_session *session;
 *   if (gradc_open("digits.gradc", &model) || gradc_session_create(model, NULL, &session))
 *     fprintf(stderr, "%s\n", gradc_last_error());
 *
 * Status: what can fail returns a gradc_status; gradc_last_error() then has the message. Results are
 * written through pointers, and only on success.
 * Memory: tensors are row-major host memory of the caller. Strings and shapes that a call hands out
 * belong to its model or session and live as long. Nothing but gradc_close and gradc_session_free
 * takes ownership of anything.
 * Threads: a model never changes and may be used from all threads; a session from one at a time.
 * Growth: functions and fields are only ever added, fields at the end of their struct. So every
 * struct begins with its size, which the caller sets: `gradc_port_info port = {.size = sizeof port};`
 * A field that is left zero asks for the default. */
#ifndef GRADC_GRADC_H
#define GRADC_GRADC_H

#include "artifact.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GRADC_API __attribute__((visibility("default")))

/* Grows by one with every release that adds something. */
#define GRADC_ABI_VERSION 4

/* The exit codes of every gradc program. */
typedef enum gradc_status {
  GRADC_OK = 0,
  GRADC_ERROR = 1,       /* files, data, checkpoints, machine; a non-finite loss */
  GRADC_USAGE = 2,       /* a wrong argument */
  GRADC_INVALID = 3,     /* the artifact is corrupt or of another version */
  GRADC_MISMATCH = 4,    /* numbers differ from the reference */
  GRADC_DOES_NOT_FIT = 5 /* not enough memory, or not the GPU, driver or library that is needed */
} gradc_status;

/* An opened artifact, and one training or inference state made from it. */
typedef struct gradc_model gradc_model;
typedef struct gradc_session gradc_session;

/* The library's GRADC_ABI_VERSION. */
GRADC_API uint32_t gradc_abi_version(void);

/* The message of this thread's last failed call, without a line end; "" before the first failure.
 * Valid until this thread's next failure. */
GRADC_API const char *gradc_last_error(void);

/* Models ----------------------------------------------------------------------------------------*/

/* Opens an artifact, or an executable or shared library that carries one; NULL: the one that carries
 * this very code. An artifact is native code, and to open it is to run it: open none that you would not
 * run as a program. */
GRADC_API gradc_status gradc_open(const char *path, gradc_model **model);

/* Opens an artifact in memory: aligned to 8 bytes, unchanged and alive until model and sessions end. */
GRADC_API gradc_status gradc_open_memory(const void *bytes, size_t count, gradc_model **model);

/* NULL is ignored. Sessions of the model stay usable. */
GRADC_API void gradc_close(gradc_model *model);

typedef struct gradc_model_info {
  size_t size;
  uint64_t hash;       /* of the whole artifact */
  uint64_t model_hash; /* checkpoints fit another artifact when this is equal */
  uint32_t levels;     /* CPU levels with code, lowest first */
  uint32_t states;
  uint32_t trains;     /* 1: carries a training job (gradc_train) */
} gradc_model_info;

GRADC_API gradc_status gradc_model_describe(const gradc_model *model, gradc_model_info *info);

/* "x86-64-v3"; NULL when there is no such level. */
GRADC_API const char *gradc_level_name(const gradc_model *model, uint32_t level);

/* Sessions --------------------------------------------------------------------------------------*/

typedef struct gradc_session_options {
  size_t size;
  int32_t threads;   /* default: one a CPU. The same bits for any number */
  const char *level; /* default: a GPU's, else the CPUs' highest */
} gradc_session_options;

/* A session with all states at their initial values. `options` may be NULL. Where the artifact has
 * code for both, it runs on a GPU that is there and has the memory, else on the CPUs:
 * gradc_session_level tells. Sessions of a model share the memory of its states until one of them
 * writes its own: many that only infer take one model and an arena each. Fails when the machine
 * executes no level of the artifact, or memory is short. */
GRADC_API gradc_status gradc_session_create(const gradc_model *model,
                                            const gradc_session_options *options,
                                            gradc_session **session);

/* NULL is ignored. */
GRADC_API void gradc_session_free(gradc_session *session);

/* The level it runs on. */
GRADC_API const char *gradc_session_level(const gradc_session *session);

/* Entries ---------------------------------------------------------------------------------------*/

/* An entry is something that a model can do in one call: "train" (one step), "evaluate", "forward",
 * "gradients". A job with `train` blocks has "train.NAME" for each in place of "train", and where groups are frozen in the run's first
 * N steps, "train.until.N" or "train.NAME.until.N" is for these.
 * Its inputs are numbered from 0, and so are its outputs. An entry without any_rows may have a second
 * one for the last, smaller batch: "train.tail", "evaluate.tail". With any_rows the entry itself is
 * found by that name, too; the names go with the next release. */

GRADC_API uint32_t gradc_entry_count(const gradc_session *session);

/* The number of the entry of that name. */
GRADC_API gradc_status gradc_entry_find(const gradc_session *session, const char *name,
                                        uint32_t *entry);

typedef struct gradc_entry_info {
  size_t size;
  const char *name;
  int64_t batch;        /* samples a call; 0: not batched */
  uint32_t inputs, outputs;
  uint32_t launches;    /* nodes of its schedule: kernels that a call runs; with control flow, ifs and loops, too */
  uint64_t arena_bytes; /* planned memory for intermediate tensors */
  uint32_t any_rows;    /* 1: gradc_run_rows takes fewer samples than `batch`, too */
  int64_t least_rows;   /* the fewest that it takes */
  const char *coupling_node; /* the node that couples the samples of a call (a mean over the batch, say); "": none, so
                               that more samples than `batch` may go through in several calls. Outputs that are not
                               batched are then the same in each, or with GRADC_ROLE_GRADIENT to be added up */
} gradc_entry_info;

GRADC_API gradc_status gradc_entry_describe(const gradc_session *session, uint32_t entry,
                                            gradc_entry_info *info);

typedef struct gradc_port_info {
  size_t size;
  const char *name;
  gradc_dtype dtype;
  uint32_t rank;
  const int64_t *shape; /* rank dims */
  uint64_t bytes;
  gradc_role role;
  const char *field; /* data inputs: the data set's field; GRADC_ROLE_EXTENT: the output whose extent it is; else "" */
  int64_t classes;   /* integers: labels, which lie in [0, classes); floats: distributions over so
                        many classes, or with one class numbers from 0 to 1; 0: any value. GRADC_ROLE_EXTENT:
                        the output's dim: its first elements are the run's, the others mean nothing */
  uint32_t batched;  /* 1: a run of n rows has n / batch of `bytes`, the first rows of the shape */
  uint32_t text;     /* 1: strings in UTF-8 (GRADC_U8): the last dim is what each may have, with zeros behind its end */
} gradc_port_info;

GRADC_API gradc_status gradc_input_describe(const gradc_session *session, uint32_t entry,
                                            uint32_t input, gradc_port_info *info);
GRADC_API gradc_status gradc_output_describe(const gradc_session *session, uint32_t entry,
                                             uint32_t output, gradc_port_info *info);

/* Runs an entry: one pointer for every input and output, in order; an output may be NULL when it is
 * not wanted. Inputs at addresses that are multiples of 64 are read in place, others are copied
 * first. Labels out of range are refused. "train" also updates the states. */
GRADC_API gradc_status gradc_run(gradc_session *session, uint32_t entry,
                                 const void *const *inputs, uint32_t input_count,
                                 void *const *outputs, uint32_t output_count);

/* gradc_run on `rows` samples, from 0 (or the entry's least_rows) to its batch: buffers of batched inputs and outputs hold
 * that many rows. Results and states are those of an entry compiled for this many. More rows are refused, and fewer, too,
 * where the entry has no `any_rows`. An input of GRADC_ROLE_ROWS or GRADC_ROLE_RANK_ROWS may be NULL. Where the entry has
 * buckets (gradc compile --buckets), the smallest that takes them all runs in its place: "forward.rows.1" for one row. Which
 * one depends on `rows` alone; a profile then has that entry's launches. */
GRADC_API gradc_status gradc_run_rows(gradc_session *session, uint32_t entry, int64_t rows,
                                      const void *const *inputs, uint32_t input_count,
                                      void *const *outputs, uint32_t output_count);

/* States ----------------------------------------------------------------------------------------*/

/* Parameters, their averages, optimizer slots and statistics: what a call of "train" changes and a checkpoint holds.
 * Reading and writing is in the logical, row-major layout, whatever the session keeps. */

GRADC_API uint32_t gradc_state_count(const gradc_session *session);
GRADC_API gradc_status gradc_state_find(const gradc_session *session, const char *name,
                                        uint32_t *state);

typedef struct gradc_state_info {
  size_t size;
  const char *name; /* a parameter's is its initializer's in the ONNX model */
  gradc_dtype dtype;
  uint32_t rank;
  const int64_t *shape; /* rank dims */
  uint64_t bytes;
  gradc_state_kind kind;
} gradc_state_info;

GRADC_API gradc_status gradc_state_describe(const gradc_session *session, uint32_t state,
                                            gradc_state_info *info);

/* `bytes` must be the state's. */
GRADC_API gradc_status gradc_state_get(gradc_session *session, uint32_t state, void *value,
                                       uint64_t bytes);
GRADC_API gradc_status gradc_state_set(gradc_session *session, uint32_t state, const void *value,
                                       uint64_t bytes);
/* All states to their initial values, the step number to 0 and the loss scale to the job's. */
GRADC_API gradc_status gradc_state_reset(gradc_session *session);

/* Training, step by step ------------------------------------------------------------------------*/

typedef struct gradc_step_result {
  size_t size;
  int64_t step;         /* number of this step, from 1 */
  float loss;           /* mean over the batch */
  float gradient_norm;  /* before clipping; NaN when the job does not ask for it */
  uint32_t updated;     /* 0: loss or gradient were not finite, the states are as before */
  float loss_scale;     /* that gradients were computed with; 1 where the job's precision is not FP16 */
} gradc_step_result;

/* One optimizer step on one batch, with the entry whose turn it is by the number of the step: "train", where the job
 * has one kind of step. `data` has one pointer for each data input of the entry, in their order, of `samples` rows: 1 to the batch where "train" has any_rows, else that batch or the one of
 * "train.tail"; 0: the largest. Step number, counter and seed are kept by the session. A `learning_rate`
 * that is not positive means the job's optimizer's, without its schedule. `result` may be NULL. */
GRADC_API gradc_status gradc_train_step(gradc_session *session, const void *const *data,
                                        uint32_t data_count, int64_t samples, float learning_rate,
                                        gradc_step_result *result);

/* The learning rate of a group of the job in one step. */
typedef struct gradc_group_rate {
  size_t size;
  const char *group; /* its first pattern, as the spec has it */
  float learning_rate;
} gradc_group_rate;

typedef struct gradc_step_options {
  size_t size;
  const char *entry;   /* name of the `train` block; default: the one whose turn it is, or the job's one kind of step */
  int64_t samples;     /* as in gradc_train_step */
  float learning_rate; /* default: the optimizer's, without its schedule */
  const gradc_group_rate *rates; /* of groups that have one of their own in this step; the others keep their share of
                                  * `learning_rate` */
  uint32_t rate_count;
  float loss_scale; /* of a job of FP16: gradients are computed of the loss times this and divided by it. Default: the session's own, which
                     * goes by the job's loss_scaling: it is halved where they are not finite, so that the result's `updated` is 0, and
                     * grows again; checkpoints hold it */
  const float *momentum; /* of a job whose schedule changes it (one_cycle { cycle_momentum }): of all parameters, or beta1;
                          * default: the optimizer's */
} gradc_step_options;

/* gradc_train_step with a rate for each group and a kind of step by name, for a loop that has schedules and turns of its own. Groups that
 * are frozen until a step are so by the session's number of steps. `options` may be NULL. */
GRADC_API gradc_status gradc_train_step_with(gradc_session *session,
                                             const gradc_step_options *options,
                                             const void *const *data, uint32_t data_count,
                                             gradc_step_result *result);

typedef struct gradc_rate_query {
  size_t size;
  const char *entry;              /* as in gradc_step_options; default: the optimizer's rate, or the first block's */
  int64_t steps, epochs;          /* done before the step; epochs count where the schedule goes by them */
  int64_t run_steps, run_epochs;  /* the run's length, by which a schedule ends that has none of its own; default: the job's */
} gradc_rate_query;

/* The learning rate that the job's schedule has for a step. One that looks at evaluations (reduce_on_plateau) is taken as if there was
 * none. Pure: from any thread. */
GRADC_API gradc_status gradc_learning_rate(const gradc_model *model, const gradc_rate_query *query,
                                           float *learning_rate);
/* The momentum, or beta1, of that step; an error where the schedule leaves it alone. Pure: from any thread. */
GRADC_API gradc_status gradc_momentum(const gradc_model *model, const gradc_rate_query *query, float *momentum);

/* Number of the last step; seed of random ops (default: the job's). */
GRADC_API int64_t gradc_session_step(const gradc_session *session);
GRADC_API gradc_status gradc_session_set_seed(gradc_session *session, uint64_t seed);

/* Writes all states and the step number to a file, atomically; a file of that name stays whole until
 * the new one is complete. Loading refuses a checkpoint of another model, or a damaged one, and then
 * leaves the session as it was. */
GRADC_API gradc_status gradc_checkpoint_save(gradc_session *session, const char *path);
GRADC_API gradc_status gradc_checkpoint_load(gradc_session *session, const char *path);

/* Writes the ONNX model that was compiled, with the session's parameters. Atomic. */
GRADC_API gradc_status gradc_export_onnx(gradc_session *session, const char *path);

/* Training, the whole job -----------------------------------------------------------------------*/

/* What is known after a step. Valid during the callback. */
typedef struct gradc_step_report {
  size_t size;
  int64_t step, epoch; /* from 1 */
  float loss;
  float learning_rate;
  float gradient_norm;       /* NaN when the job does not ask for it */
  double milliseconds;       /* of the step, with the wait for its batch */
  double input_milliseconds; /* the wait alone */
  const char *entry;         /* name of the `train` block; "": the job has one kind of step */
} gradc_step_report;

/* A field of a data set that lies in the caller's memory: its rows are the first dim. */
typedef struct gradc_data_field {
  size_t size;
  const char *name;
  gradc_dtype dtype;
  uint32_t rank;        /* 1 or more */
  const int64_t *shape; /* rows, then the shape of a row */
  const void *data;     /* row-major; read until gradc_train returns */
} gradc_data_field;

typedef struct gradc_train_options {
  size_t size;
  int64_t steps;           /* stop after this step; default: the job's */
  int64_t epochs;          /* default: the job's */
  const uint64_t *seed;    /* default: the job's */
  int32_t threads;         /* default: one a CPU */
  const char *level;       /* default: a GPU's, else the CPUs' highest */
  const char *data_folder; /* of relative data paths; default: the spec's folder */
  const char *log;         /* JSON lines; default: none */
  const char *checkpoint;  /* folder; default: the job's */
  const char *resume;      /* a checkpoint, a folder of them, or "latest"; default: from the start */
  const char *export_onnx; /* default: the job's */
  uint32_t progress;       /* 1: print progress to the terminal */
  /* Called after every step on the calling thread; returning 0 ends the training in good order. */
  int (*on_step)(const gradc_step_report *report, void *context);
  void *context;
  const char *trace; /* a trace-event file of steps and kernels, for Perfetto; default: none */
  /* Take the place of the files of the job's training data; its stages (rows, map, shuffle, batch, ...)
   * work on them as on those. All have the same number of rows. Default: the files. */
  const gradc_data_field *fields;
  uint32_t field_count;
} gradc_train_options;

typedef struct gradc_train_result {
  size_t size;
  int64_t steps;     /* of the whole training, those before a resume included */
  double seconds;
  float loss;        /* of the last step; NaN without one */
  double evaluation_loss; /* NaN without an evaluation */
  double metric;     /* the job's first, in the last evaluation; NaN without one */
} gradc_train_result;

/* Runs the job that the artifact carries, on a session of its own: input pipeline, evaluation, log,
 * checkpoints, export. `options` and `result` may be NULL. A checkpoint folder of the options that
 * holds checkpoints is refused, unless the training resumes from one of them; where the job's own holds some, the run
 * takes the next free of "run-2", "run-3", ... */
GRADC_API gradc_status gradc_train(const gradc_model *model, const gradc_train_options *options,
                                   gradc_train_result *result);

/* Profiling -------------------------------------------------------------------------------------*/

/* 1: from now on gradc_run and gradc_train_step write down when their launches run, which costs some
 * tens of nanoseconds a launch and no bit of the results; 0, as it is at first: they do not. */
GRADC_API gradc_status gradc_session_profile(gradc_session *session, uint32_t on);

/* When each launch of the last such call began and, as the last element, when its last one had ended:
 * nanoseconds of the system's monotonic clock. A launch ends when the next begins, so that its time
 * has the wait for the slowest thread. `count` must be the launches that ran + 1: without control
 * flow the entry's launches + 1, else gradc_launches_run + 1. Any other call on the session may end
 * this. */
GRADC_API gradc_status gradc_launch_times(const gradc_session *session, int64_t *times,
                                          uint32_t count);

/* A launch of a run: its number in the entry, and the iteration of each loop around it. */
typedef struct gradc_launch_path {
  size_t size;
  uint32_t launch; /* GRADC_NONE: none */
  uint32_t loops;  /* around it */
  uint32_t iterations[GRADC_MAX_LOOPS]; /* of those loops, from 0, outermost first */
} gradc_launch_path;

/* How many launches the last profiled call ran, and which was its `index`-th. */
GRADC_API uint32_t gradc_launches_run(const gradc_session *session);
GRADC_API gradc_status gradc_launch_run(const gradc_session *session, uint32_t index,
                                        gradc_launch_path *path);

/* Launch by launch ------------------------------------------------------------------------------*/

/* For debuggers: gradc_begin copies an entry's inputs, then each of its launches is run, in order;
 * between them every slice of memory that a launch reads or writes may be looked at. Any other call
 * on the session ends this.
 * An entry's launches are numbered from 0. Where it has control flow, ifs and loops have numbers,
 * too: those of their bodies follow, up to `end`. gradc_next then tells which launch comes. */

typedef struct gradc_launch_info {
  size_t size;
  const char *symbol;      /* of the kernel's code */
  const char *title;       /* what it computes */
  const char *node;        /* source node in the ONNX model */
  uint64_t flops, bytes;
  int64_t units;           /* pieces that threads share */
  uint32_t operands;       /* slices that it reads: numbers 0 to operands - 1 */
  uint32_t slices;         /* the rest are its results */
  gradc_node_kind kind;
  uint32_t end;            /* the first number behind it and its bodies */
  uint32_t otherwise;      /* an if: the first number of its else body */
  int64_t trips;           /* a loop: its iterations; the most there can be where it reads their count */
} gradc_launch_info;

GRADC_API gradc_status gradc_launch_describe(const gradc_session *session, uint32_t entry,
                                             uint32_t launch, gradc_launch_info *info);

typedef struct gradc_slice_info {
  size_t size;
  gradc_space space;
  uint32_t index;         /* of the state buffer, input or output */
  uint64_t offset, bytes;
  gradc_dtype dtype;
  uint32_t packed;        /* 1: in a layout of its own, padding included */
  uint32_t stride_count;
  const int64_t *strides; /* bytes that it moves per iteration of the loops around it, outermost first */
} gradc_slice_info;

GRADC_API gradc_status gradc_slice_describe(const gradc_session *session, uint32_t entry,
                                            uint32_t launch, uint32_t slice,
                                            gradc_slice_info *info);

GRADC_API gradc_status gradc_begin(gradc_session *session, uint32_t entry,
                                   const void *const *inputs, uint32_t input_count);
/* The launch that comes next, by the conditions and counts that have been computed so far; its
 * `launch` is GRADC_NONE at the end. Without control flow these are all launches in their order, and
 * there is no need to ask. */
GRADC_API gradc_status gradc_next(gradc_session *session, gradc_launch_path *path);
/* Runs a launch, in the iterations of the last gradc_next. */
GRADC_API gradc_status gradc_launch(gradc_session *session, uint32_t launch);
/* What a slice holds, in the iterations of the last gradc_next. `bytes` must be the slice's. */
GRADC_API gradc_status gradc_slice_read(gradc_session *session, uint32_t launch, uint32_t slice,
                                        void *value, uint64_t bytes);

typedef struct gradc_non_finite {
  size_t size;
  const char *node;   /* whose launch made it, or the name of an input */
  const char *kernel; /* its title, or "input" */
  int64_t index;      /* of the element */
  double value;
} gradc_non_finite;

/* Replays an entry launch by launch and finds the first infinity or NaN. Its updates are applied
 * unless the entry itself leaves them out: save the states before. The strings are valid until the
 * session's next call. */
GRADC_API gradc_status gradc_find_non_finite(gradc_session *session, uint32_t entry,
                                             const void *const *inputs, uint32_t input_count,
                                             gradc_non_finite *found);

#ifdef __cplusplus
}
#endif

#endif
