/* The C interface to a compiled model: train, evaluate and run it from any program.
 *
 *   gradc_model *model;
 *   gradc_session *session;
 *   if (gradc_open("digits.gradc", &model) || gradc_session_create(model, NULL, &session))
 *     fprintf(stderr, "%s\n", gradc_last_error());
 *
 * Errors: a function that can fail returns a gradc_status; gradc_last_error() then returns the
 * message. Results are written through pointers, and only on success.
 * A null pointer where a call needs one is GRADC_USAGE (without a status: 0 or NULL). A call that refuses an argument has changed nothing.
 * Memory: tensors are row-major host memory of the caller. Strings and shapes that a call returns belong to the model or session of the
 * call and live as long as it does. No call takes ownership, except gradc_close and gradc_session_free.
 * Threads: a model is immutable and may be used from all threads; a session from one at a time, and in a forked process on one alone.
 * Compatibility: functions and fields are only ever added, fields at the end of their struct. Every
 * struct therefore begins with its size, set by the caller: `gradc_port_info port = {.size = sizeof port};`
 * A field that is zero asks for the default. */
#ifndef GRADC_GRADC_H
#define GRADC_GRADC_H

#include "artifact.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GRADC_API __attribute__((visibility("default")))

/* Incremented by every release that adds something. */
#define GRADC_ABI_VERSION 4

/* The exit codes of every gradc program. */
typedef enum gradc_status {
  GRADC_OK = 0,
  GRADC_ERROR = 1,       /* a problem with files, data, checkpoints or the machine; a non-finite loss */
  GRADC_USAGE = 2,       /* a wrong argument */
  GRADC_INVALID = 3,     /* the artifact is corrupt or of another version */
  GRADC_MISMATCH = 4,    /* numbers differ from the reference */
  GRADC_DOES_NOT_FIT = 5 /* too little memory, or the required GPU, driver or library is missing */
} gradc_status;

/* An open artifact, and one training or inference state created from it. */
typedef struct gradc_model gradc_model;
typedef struct gradc_session gradc_session;

/* GRADC_ABI_VERSION of the library. */
GRADC_API uint32_t gradc_abi_version(void);

/* The message of the last failed call of this thread, without a line end; "" before the first failure.
 * Valid until the next failure on this thread. */
GRADC_API const char *gradc_last_error(void);

/* Models ----------------------------------------------------------------------------------------*/

/* Opens an artifact, or an executable or shared library that contains one. NULL opens the executable or
 * library that contains this function. An artifact is native code, and opening it runs it: open only what
 * you would run as a program. */
GRADC_API gradc_status gradc_open(const char *path, gradc_model **model);

/* Opens an artifact in memory. The memory must be aligned to 8 bytes, and must stay unchanged and alive
 * until the model and all its sessions are freed. */
GRADC_API gradc_status gradc_open_memory(const void *bytes, size_t count, gradc_model **model);

/* NULL is ignored. Sessions of the model remain usable. */
GRADC_API void gradc_close(gradc_model *model);

typedef struct gradc_model_info {
  size_t size;
  uint64_t hash;       /* of the whole artifact */
  uint64_t model_hash; /* checkpoints fit every artifact with the same value */
  uint32_t levels;     /* number of levels with code, lowest first */
  uint32_t states;
  uint32_t trains;     /* 1: contains a training job (gradc_train) */
} gradc_model_info;

GRADC_API gradc_status gradc_model_describe(const gradc_model *model, gradc_model_info *info);

/* "x86-64-v3", say; NULL if `level` is out of range. */
GRADC_API const char *gradc_level_name(const gradc_model *model, uint32_t level);

/* Sessions --------------------------------------------------------------------------------------*/

typedef struct gradc_session_options {
  size_t size;
  int32_t threads;   /* default: one per CPU. The bits are the same for any number */
  const char *level; /* default: that of a GPU, or else the highest of the CPU */
} gradc_session_options;

/* Creates a session with all states at their initial values. `options` may be NULL. If the artifact has
 * code for GPU and CPU, the session runs on a GPU if there is one with enough memory, or else on the CPU:
 * see gradc_session_level. Sessions of a model share the memory of its states until one of them
 * writes them, so N sessions for inference need the memory of one model and N arenas. Fails if the machine
 * supports no level of the artifact, or has too little memory. */
GRADC_API gradc_status gradc_session_create(const gradc_model *model,
                                            const gradc_session_options *options,
                                            gradc_session **session);

/* NULL is ignored. */
GRADC_API void gradc_session_free(gradc_session *session);

/* The level that the session runs on. */
GRADC_API const char *gradc_session_level(const gradc_session *session);

/* Entries ---------------------------------------------------------------------------------------*/

/* An entry is a function of the model: "train" (one step), "evaluate", "forward", "gradients". A job with
 * `train` blocks has one entry "train.NAME" per block instead of "train". If groups are frozen during the
 * first N steps of the run, "train.until.N" or "train.NAME.until.N" runs these steps.
 * The inputs and outputs of an entry are numbered from 0. An entry without any_rows may have a
 * second one for the last, smaller batch: "train.tail", "evaluate.tail". For an entry with any_rows, these
 * names find the entry itself; they will be removed in the next release.
 * Entries with a colon in their names are the session's own: gradc_state_get and gradc_state_set run "unpack:STATE" and "pack:STATE". */

GRADC_API uint32_t gradc_entry_count(const gradc_session *session);

/* Finds an entry by its name. */
GRADC_API gradc_status gradc_entry_find(const gradc_session *session, const char *name,
                                        uint32_t *entry);

typedef struct gradc_entry_info {
  size_t size;
  const char *name;
  int64_t batch;        /* samples per call; 0: not batched */
  uint32_t inputs, outputs;
  uint32_t launches;    /* nodes of the schedule: kernels and, with control flow, ifs and loops */
  uint64_t arena_bytes; /* planned memory for intermediate tensors; of all threads, if rows run one by one */
  uint32_t any_rows;    /* 1: gradc_run_rows also takes fewer samples than `batch` */
  int64_t least_rows;   /* the smallest number of samples */
  const char *coupling_node; /* a node that couples the samples of a call (a mean over the batch, say). "": none, so more
                               samples than `batch` may be processed in several calls. Outputs that are not batched are
                               then the same in each call, or must be added up if they have GRADC_ROLE_GRADIENT */
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
  const char *field; /* data inputs: the field of the data set; GRADC_ROLE_EXTENT: the output that it belongs to; else "" */
  int64_t classes;   /* integers: labels in [0, classes); floats: distributions over that many classes or,
                        with one class, numbers from 0 to 1; 0: any value. GRADC_ROLE_EXTENT: the dim of the
                        output that it counts; elements of the output beyond it are undefined */
  uint32_t batched;  /* 1: a run of n rows uses n / batch of `bytes`, the first rows of the shape */
  uint32_t text;     /* 1: UTF-8 strings (GRADC_U8); the last dim is their maximum length, padded with zeros */
} gradc_port_info;

GRADC_API gradc_status gradc_input_describe(const gradc_session *session, uint32_t entry,
                                            uint32_t input, gradc_port_info *info);
GRADC_API gradc_status gradc_output_describe(const gradc_session *session, uint32_t entry,
                                             uint32_t output, gradc_port_info *info);

/* Runs an entry. There is one pointer per input and output, in order; the pointer of an unwanted output may be NULL. Inputs at
 * addresses that are multiples of 64 are read in place; others are copied first. On CPUs outputs of 64 KB and more at such addresses are
 * written in place if they overlap no other buffer of the call and hold the whole batch; a run that fails may have written a part of
 * them. If an output has the buffer of an input and is that input with some rows replaced (a cache), only these are written. Labels out of
 * range are refused. "train" also updates the states. An entry that prepares its inputs by what a training finds in its rows
 * (`standardize`) is refused until a checkpoint is loaded. NULL for GRADC_ROLE_SEED is the session's seed, for GRADC_ROLE_COUNTER 0. */
GRADC_API gradc_status gradc_run(gradc_session *session, uint32_t entry,
                                 const void *const *inputs, uint32_t input_count,
                                 void *const *outputs, uint32_t output_count);

/* gradc_run on `rows` samples, from least_rows (0 unless the entry says otherwise) to batch. Buffers of batched inputs and
 * outputs hold that many rows. Results and states are those of an entry compiled for this number. More rows are refused, and so are
 * fewer if the entry has no `any_rows`. An input of GRADC_ROLE_ROWS or GRADC_ROLE_RANK_ROWS may be NULL. If the entry has buckets
 * (gradc compile --buckets), the smallest that holds the rows runs in its place, "forward.rows.1" for one row. The choice depends only on
 * `rows`; a profile then lists the launches of that entry. Where the values of a batch do not stay in the cache, "forward.rows.1" runs
 * for each row of a batch, threads share the rows, and a profile lists those of the first thread. */
GRADC_API gradc_status gradc_run_rows(gradc_session *session, uint32_t entry, int64_t rows,
                                      const void *const *inputs, uint32_t input_count,
                                      void *const *outputs, uint32_t output_count);

/* States ----------------------------------------------------------------------------------------*/

/* States are parameters, their averages, optimizer slots and statistics: everything that "train" changes and a checkpoint
 * holds. They are read and written in the logical, row-major layout, whatever layout the session uses. */

GRADC_API uint32_t gradc_state_count(const gradc_session *session);
GRADC_API gradc_status gradc_state_find(const gradc_session *session, const char *name,
                                        uint32_t *state);

typedef struct gradc_state_info {
  size_t size;
  const char *name; /* of a parameter: the name of its initializer in the ONNX model */
  gradc_dtype dtype;
  uint32_t rank;
  const int64_t *shape; /* rank dims */
  uint64_t bytes;
  gradc_state_kind kind;
} gradc_state_info;

GRADC_API gradc_status gradc_state_describe(const gradc_session *session, uint32_t state,
                                            gradc_state_info *info);

/* `bytes` must equal the size of the state. */
GRADC_API gradc_status gradc_state_get(gradc_session *session, uint32_t state, void *value,
                                       uint64_t bytes);
GRADC_API gradc_status gradc_state_set(gradc_session *session, uint32_t state, const void *value,
                                       uint64_t bytes);
/* Resets all states to their initial values, the step number to 0, and the loss scale to that of the job. */
GRADC_API gradc_status gradc_state_reset(gradc_session *session);

/* Training, step by step ------------------------------------------------------------------------*/

typedef struct gradc_step_result {
  size_t size;
  int64_t step;         /* number of this step, from 1 */
  float loss;           /* mean over the batch */
  float gradient_norm;  /* before clipping; NaN if the job does not compute it */
  uint32_t updated;     /* 0: the loss or a gradient was not finite, and the states are unchanged */
  float loss_scale;     /* the scale used for the gradients; 1 unless the precision is FP16 */
} gradc_step_result;

/* Runs one optimizer step on one batch, with the entry whose turn it is: "train" if the job has one kind of step. `data` has
 * one pointer per data input of the entry, in order, each with `samples` rows: 1 to the batch if "train" has any_rows, or else
 * the batch of "train" or "train.tail"; 0 stands for the largest. The session keeps the step number, the counter and the seed.
 * A `learning_rate` of 0 or less, or NaN, selects the job's, without its schedule; infinity is refused. `result` may be NULL. */
GRADC_API gradc_status gradc_train_step(gradc_session *session, const void *const *data,
                                        uint32_t data_count, int64_t samples, float learning_rate,
                                        gradc_step_result *result);

/* The learning rate of a parameter group in one step. */
typedef struct gradc_group_rate {
  size_t size;
  const char *group; /* the first pattern of the group, as written in the spec */
  float learning_rate; /* 0 or more; here, 0 is a rate of 0 */
} gradc_group_rate;

typedef struct gradc_step_options {
  size_t size;
  const char *entry;   /* name of the `train` block; default: the one whose turn it is, or the only kind of step */
  int64_t samples;     /* as in gradc_train_step */
  float learning_rate; /* as in gradc_train_step: 0 is not a rate of 0, but that of the optimizer, without its schedule */
  const gradc_group_rate *rates; /* rates of single groups in this step; the rates of other groups scale with `learning_rate` */
  uint32_t rate_count;
  float loss_scale; /* FP16: the loss is multiplied by this before gradients are computed, and they are divided by it. Default: the
                     * scale that the session adapts as the job's loss_scaling says: it is halved after a step whose gradients are not
                     * finite (then `updated` of the result is 0), and grows again. Checkpoints hold it */
  const float *momentum; /* for a schedule with one_cycle { cycle_momentum }: the momentum, or beta1, of all parameters;
                          * default: that of the optimizer */
} gradc_step_options;

/* gradc_train_step with rates of groups and the name of the kind of step, for a loop with its own schedules and turns. A group with
 * frozen_until_step thaws by the session's step number. `options` may be NULL. */
GRADC_API gradc_status gradc_train_step_with(gradc_session *session,
                                             const gradc_step_options *options,
                                             const void *const *data, uint32_t data_count,
                                             gradc_step_result *result);

typedef struct gradc_rate_query {
  size_t size;
  const char *entry;              /* as in gradc_step_options; default: the spec's optimizer, or that of the first block */
  int64_t steps, epochs;          /* completed before the step, 0 or more; a schedule with unit EPOCHS uses the epochs */
  int64_t run_steps, run_epochs;  /* the run's length, for schedules without one; default: the job's, an error if it gives none */
} gradc_rate_query;

/* The learning rate of a step according to the job's schedule. A schedule that depends on evaluations (reduce_on_plateau) is treated
 * as if there were none. A rate of 0, as a warm-up begins with, has to be passed on as a tiny one, such as 1e-30. From any thread. */
GRADC_API gradc_status gradc_learning_rate(const gradc_model *model, const gradc_rate_query *query,
                                           float *learning_rate);
/* The momentum, or beta1, of that step; an error if the schedule does not change it. May be called from any thread. */
GRADC_API gradc_status gradc_momentum(const gradc_model *model, const gradc_rate_query *query, float *momentum);

/* The number of the last step; and the seed of random ops (default: that of the job). */
GRADC_API int64_t gradc_session_step(const gradc_session *session);
GRADC_API gradc_status gradc_session_set_seed(gradc_session *session, uint64_t seed);

/* Saves all states and the step number to a file, atomically: an existing file is replaced only when the new one is complete.
 * Loading refuses a damaged checkpoint or one of another model, and then leaves the session unchanged. A model without a training step
 * takes the weights, or their averages (`ema`), and leaves out what the optimizer keeps. If a checkpoint of a training was loaded, a
 * saved one also has what the stages of the training's data found (`standardize`, say), the position in the data, and the results of
 * evaluations, so that the program's `predict` and --resume take it. Steps of the session do not move it. */
GRADC_API gradc_status gradc_checkpoint_save(gradc_session *session, const char *path);
GRADC_API gradc_status gradc_checkpoint_load(gradc_session *session, const char *path);

/* Writes the compiled ONNX model with the parameters of the session, atomically. */
GRADC_API gradc_status gradc_export_onnx(gradc_session *session, const char *path);

/* Training, the whole job -----------------------------------------------------------------------*/

/* The report of a step, valid during the callback. */
typedef struct gradc_step_report {
  size_t size;
  int64_t step, epoch; /* from 1 */
  float loss;
  float learning_rate;
  float gradient_norm;       /* NaN if the job does not compute it */
  double milliseconds;       /* of the step, including the wait for its batch */
  double input_milliseconds; /* of the wait */
  const char *entry;         /* name of the `train` block; "" if the job has one kind of step */
} gradc_step_report;

/* A field of a data set in memory of the caller. The first dim counts its rows. */
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
  int64_t steps;           /* stop after this step; default: that of the job */
  int64_t epochs;          /* default: that of the job */
  const uint64_t *seed;    /* default: that of the job */
  int32_t threads;         /* default: one per CPU */
  const char *level;       /* default: that of a GPU, or else the highest of the CPU */
  const char *data_folder; /* for relative data paths; default: the folder of the spec */
  const char *log;         /* file of JSON lines; default: none */
  const char *checkpoint;  /* folder; default: that of the job */
  const char *resume;      /* a checkpoint, a folder of them, or "latest"; default: start anew */
  const char *export_onnx; /* default: that of the job */
  uint32_t progress;       /* 1: print progress to the terminal */
  /* Called after every step on the calling thread. Return 0 to stop the training in an orderly way. */
  int (*on_step)(const gradc_step_report *report, void *context);
  void *context;
  const char *trace; /* a trace-event file of steps and kernels, for Perfetto; default: none */
  /* Fields in place of the files of the training data; its stages apply to them. All have the same number of rows. */
  const gradc_data_field *fields;
  uint32_t field_count;
  /* Called after the last step for each number of the last evaluation: "loss" and metrics, and "NAME/loss" and so on of sets. */
  void (*on_metric)(const char *name, double value, void *context);
} gradc_train_options;

typedef struct gradc_train_result {
  size_t size;
  int64_t steps;     /* of the whole training, including those before a resume */
  double seconds;
  float loss;        /* of the last step; NaN without one */
  double evaluation_loss; /* of the last evaluation, without its sets; NaN without one */
  double metric;     /* the first metric of the job in the last evaluation, without its sets; NaN without one */
} gradc_train_result;

/* Runs the job of the artifact in a session of its own: input pipeline, evaluation, log, checkpoints,
 * export. `options` and `result` may be NULL. If the checkpoint folder of the options already holds
 * checkpoints, it is refused unless the training resumes from one of them; if the folder of the job holds some, the
 * run uses the next free folder "run-2", "run-3", ... */
GRADC_API gradc_status gradc_train(const gradc_model *model, const gradc_train_options *options,
                                   gradc_train_result *result);

/* Profiling -------------------------------------------------------------------------------------*/

/* 1: gradc_run and gradc_train_step record when their launches run, which costs some tens of nanoseconds
 * per launch and does not change results. 0, the initial value: they do not. */
GRADC_API gradc_status gradc_session_profile(gradc_session *session, uint32_t on);

/* The start times of the launches of the last profiled call, followed by the end time of its last launch,
 * in nanoseconds of the system's monotonic clock. A launch ends when the next one starts, so its time
 * includes the wait for the slowest thread. `count` must be the number of launches that ran + 1: without
 * control flow the launches of the entry + 1, otherwise, and where rows run one by one, gradc_launches_run + 1. Any other call on the
 * session may invalidate the times. */
GRADC_API gradc_status gradc_launch_times(const gradc_session *session, int64_t *times,
                                          uint32_t count);

/* A launch of a run: its number in the entry, and the iteration of each enclosing loop. */
typedef struct gradc_launch_path {
  size_t size;
  uint32_t launch; /* GRADC_NONE: none */
  uint32_t loops;  /* number of enclosing loops */
  uint32_t iterations[GRADC_MAX_LOOPS]; /* of these loops, from 0, outermost first */
} gradc_launch_path;

/* The number of launches that the last profiled call ran, and the `index`-th of them. */
GRADC_API uint32_t gradc_launches_run(const gradc_session *session);
GRADC_API gradc_status gradc_launch_run(const gradc_session *session, uint32_t index,
                                        gradc_launch_path *path);

/* Launch by launch ------------------------------------------------------------------------------*/

/* For debuggers: gradc_begin copies the inputs of an entry; then its launches are run one by one, in order,
 * and between them every slice of memory that a launch reads or writes can be read. Any other call on
 * the session ends this mode.
 * The launches of an entry are numbered from 0. With control flow, ifs and loops have numbers as well,
 * followed by those of their bodies, up to `end`; gradc_next then returns the launch that comes next. */

typedef struct gradc_launch_info {
  size_t size;
  const char *symbol;      /* of the code of the kernel */
  const char *title;       /* what the kernel computes */
  const char *node;        /* source node in the ONNX model */
  uint64_t flops, bytes;
  int64_t units;           /* pieces of work that threads share */
  uint32_t operands;       /* slices 0 to operands - 1 are read */
  uint32_t slices;         /* the others, up to `slices`, are written */
  gradc_node_kind kind;
  uint32_t end;            /* the first number after the node and its bodies */
  uint32_t otherwise;      /* of an if: the first number of the else body */
  int64_t trips;           /* of a loop: its iterations, or their maximum if it reads a count or a condition */
} gradc_launch_info;

GRADC_API gradc_status gradc_launch_describe(const gradc_session *session, uint32_t entry,
                                             uint32_t launch, gradc_launch_info *info);

typedef struct gradc_slice_info {
  size_t size;
  gradc_space space;
  uint32_t index;         /* of the state buffer, input or output */
  uint64_t offset, bytes;
  gradc_dtype dtype;
  uint32_t packed;        /* 1: in a packed layout, padding included */
  uint32_t stride_count;
  const int64_t *strides; /* offset in bytes per iteration of each enclosing loop, outermost first */
} gradc_slice_info;

GRADC_API gradc_status gradc_slice_describe(const gradc_session *session, uint32_t entry,
                                            uint32_t launch, uint32_t slice,
                                            gradc_slice_info *info);

/* An entry whose rows run one by one is refused; the message names the one for a single row. */
GRADC_API gradc_status gradc_begin(gradc_session *session, uint32_t entry,
                                   const void *const *inputs, uint32_t input_count);
/* The launch that comes next, according to the conditions and counts computed so far; its `launch` is
 * GRADC_NONE at the end. Without control flow these are all launches in order, and the call is not
 * needed. */
GRADC_API gradc_status gradc_next(gradc_session *session, gradc_launch_path *path);
/* Runs a launch, in the iterations that the last gradc_next returned. */
GRADC_API gradc_status gradc_launch(gradc_session *session, uint32_t launch);
/* Reads a slice, in the iterations that the last gradc_next returned. `bytes` must equal the size of the slice. */
GRADC_API gradc_status gradc_slice_read(gradc_session *session, uint32_t launch, uint32_t slice,
                                        void *value, uint64_t bytes);

typedef struct gradc_non_finite {
  size_t size;
  const char *node;   /* the node whose launch produced the value, or the name of an input */
  const char *kernel; /* the title of the kernel, or "input" */
  int64_t index;      /* of the element */
  double value;
} gradc_non_finite;

/* Replays an entry launch by launch and finds the first infinity or NaN. Updates of the entry are applied
 * unless it skips them itself, so save the states first. The strings are valid until the next call on
 * the session. */
GRADC_API gradc_status gradc_find_non_finite(gradc_session *session, uint32_t entry,
                                             const void *const *inputs, uint32_t input_count,
                                             gradc_non_finite *found);

#ifdef __cplusplus
}
#endif

#endif
