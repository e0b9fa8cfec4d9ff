/* The artifact: one relocatable blob of plain structs that the compiler writes and the runtime maps.
 *
 * All offsets count from the blob's first byte; all sections are 64-byte aligned; little endian.
 * An executable or shared library carries the blob at its end, followed by a gradc_artifact_trailer;
 * there the blob begins at a multiple of 64 bytes. */
#ifndef GRADC_ARTIFACT_H
#define GRADC_ARTIFACT_H

#include "roles.h"

#include <stdint.h>

#define GRADC_ARTIFACT_MAGIC "GRADCART"
#define GRADC_ARTIFACT_VERSION 14u
#define GRADC_NONE 0xffffffffu

/* `count` elements (bytes for raw data) starting at `offset`. */
typedef struct gradc_range {
  uint64_t offset, count;
} gradc_range;

/* Offset of a NUL-terminated string inside the strings section; 0 is "". */
typedef uint32_t gradc_string;

/* Element types: ONNX's own numbers (TensorProto.DataType). */
typedef enum gradc_dtype {
  GRADC_F32 = 1, GRADC_U8 = 2, GRADC_I8 = 3, GRADC_U16 = 4, GRADC_I16 = 5, GRADC_I32 = 6,
  GRADC_I64 = 7, GRADC_BOOL = 9, GRADC_F16 = 10, GRADC_F64 = 11, GRADC_U32 = 12, GRADC_U64 = 13,
  GRADC_BF16 = 16,
  /* A byte for each element: its bits, of signed integers sign-extended. Ports have them, states and kernels do not. */
  GRADC_F8E4M3FN = 17, GRADC_F8E4M3FNUZ = 18, GRADC_F8E5M2 = 19, GRADC_F8E5M2FNUZ = 20, GRADC_U4 = 21, GRADC_I4 = 22,
  GRADC_F4E2M1 = 23, GRADC_F8E8M0 = 24, GRADC_U2 = 25, GRADC_I2 = 26
} gradc_dtype;

/* A logical tensor: row-major. */
typedef struct gradc_artifact_tensor {
  gradc_string name;
  uint32_t dtype;    /* gradc_dtype */
  gradc_range shape; /* int64_t */
  uint64_t bytes;
} gradc_artifact_tensor;

/* How names of states begin that hold what the run finds in its data, where the model computes with it. */
#define GRADC_FITTED_PREFIX "gradc.data/"

#define GRADC_AVERAGE_SUFFIX ".ema"

/* An entry without inputs whose outputs, named as states, are what exports hold in place of those. */
#define GRADC_MERGED_ENTRY "merged"

/* The room for the name of an exported model's file of weights: a field of protobuf with a length of two bytes. */
#define GRADC_LOCATION_BYTES 259

typedef enum gradc_state_kind {
  GRADC_STATE_PARAMETER, GRADC_STATE_SLOT, GRADC_STATE_STATISTIC, GRADC_STATE_CONSTANT,
  GRADC_STATE_AVERAGE /* of the parameter whose name with GRADC_AVERAGE_SUFFIX is its own */
} gradc_state_kind;

/* A tensor that outlives a step. */
typedef struct gradc_artifact_state {
  gradc_artifact_tensor tensor;
  uint32_t kind;            /* gradc_state_kind */
  uint32_t splat;           /* 1: `initial` is one element that fills the tensor */
  gradc_range initial;      /* raw bytes, row-major, at any address: those in the model where it has them */
  gradc_range places;       /* gradc_artifact_place: empty where it is no initializer of the model */
  /* Above 1: so many ranks share the state, which is [runs, shards, elements of a piece]; rank r stores [:, r, :]. Buffers and
   * the pack and unpack entries are of what one rank stores, all else is of the whole state. The number is that of all such states. */
  uint64_t shards, runs;
} gradc_artifact_state;

/* Where a state's bytes lie in the model (header.model): its initializer, and each tied to it. */
typedef struct gradc_artifact_place {
  uint64_t offset;
  uint32_t transposed; /* 1: the initializer is the transpose of the state, which is a matrix */
  uint32_t reserved;
} gradc_artifact_place;

typedef enum gradc_buffer_kind {
  GRADC_BUFFER_PLAIN,  /* the primary, row-major */
  GRADC_BUFFER_PACKED, /* the primary in a layout of its own: read and written through the pack and unpack entries */
  GRADC_BUFFER_MIRROR  /* made of the primary by a kernel, and refreshed by the schedule after each write */
} gradc_buffer_kind;

/* Storage of a state at one level. The first buffer of a state is its primary. */
typedef struct gradc_artifact_buffer {
  uint32_t state; /* index into header.states */
  uint32_t kind;  /* gradc_buffer_kind */
  uint64_t bytes;
  uint32_t cut;   /* 1 + index into level.cuts: each rank has its own pieces alone; 0: all have all of it */
  uint32_t reserved;
} gradc_artifact_buffer;

/* How ranks divide what has as many elements: into pieces of `unit` elements, the last one perhaps smaller, each of which
 * belongs to one rank. */
typedef struct gradc_artifact_cut {
  uint64_t elements, unit;
} gradc_artifact_cut;

typedef enum gradc_space {
  GRADC_SPACE_ARENA,  /* offset into the entry's arena */
  GRADC_SPACE_BUFFER, /* level.buffers[index] */
  GRADC_SPACE_INPUT,  /* entry.inputs[index] */
  GRADC_SPACE_OUTPUT  /* entry.outputs[index] */
} gradc_space;

/* In iteration i_k of the loops around it a slice begins at offset + sum(i_k * strides[k]). */
typedef struct gradc_artifact_slice {
  uint32_t space; /* gradc_space */
  uint32_t index;
  uint64_t offset, bytes; /* a node's slice has an offset that is a multiple of 64 */
  uint32_t dtype;    /* gradc_dtype */
  uint32_t packed;   /* 1: the bytes are in a panel layout (padding included) */
  gradc_range strides; /* int64_t: bytes per iteration, a multiple of 64, of the loops around the node, outermost first;
                        * 0 for loops that it does not reach */
} gradc_artifact_slice;

typedef enum gradc_library_role {
  GRADC_LIBRARY_MATMUL,         /* cuBLASLt: result = lhs rhs */
  GRADC_LIBRARY_CONVOLUTION,    /* cuDNN: lhs is the data, rhs the filter */
  GRADC_LIBRARY_DATA_GRADIENT,  /* cuDNN: lhs is the gradient of the result, rhs the filter */
  GRADC_LIBRARY_FILTER_GRADIENT /* cuDNN: lhs is the data, rhs the gradient of the result */
} gradc_library_role;

typedef enum gradc_epilogue { /* bits; those from GRADC_EPILOGUE_GELU on are a product's */
  GRADC_EPILOGUE_NONE, GRADC_EPILOGUE_BIAS, GRADC_EPILOGUE_RELU, GRADC_EPILOGUE_BIAS_RELU,
  GRADC_EPILOGUE_GELU,          /* in its tanh form */
  GRADC_EPILOGUE_BIAS_GELU,
  GRADC_EPILOGUE_GELU_GRAD = 8  /* times the slope of GELU, in its tanh form, at each element of `kept` */
} gradc_epilogue;

/* What a library takes from slice `slice` of a launch: f32, sizes and strides in elements. Of a matrix
 * [1, batch, row, column]; of data [picture, channel, y, x]; of a filter [output, input channel, y, x]. */
typedef struct gradc_library_tensor {
  uint32_t slice, reserved;
  int64_t sizes[4], strides[4];
} gradc_library_tensor;

/* A library always computes the largest batch. A factor whose rows it sums over therefore holds zeros behind those of
 * the run, written before the call. The factor is `pieces` equal pieces, each with all rows of the batch, `row`
 * elements a row. */
typedef struct gradc_summed_rows {
  int64_t row, pieces; /* row 0: no sum is over its rows */
} gradc_summed_rows;

/* The library call that computes what a GPU kernel does: it runs in the kernel's place where the library is. */
typedef struct gradc_artifact_call {
  uint32_t role;     /* gradc_library_role */
  uint32_t epilogue; /* gradc_epilogue: of each element of the result */
  uint32_t bias;     /* slice of a vector: one number a column, or channel, of the result; GRADC_NONE */
  uint32_t kept;     /* slice that lies as the result does: what GELU is applied to. GELU writes it, or GRADC_NONE; its
                      * gradient reads it */
  gradc_library_tensor lhs, rhs, result;
  gradc_summed_rows summed[2]; /* of lhs and rhs */
  int64_t low[2], high[2], stride[2], dilation[2]; /* of the forward convolution, [y, x] */
} gradc_artifact_call;

/* On CPUs void kernel(void *const *slices, int64_t begin, int64_t end, int64_t rows, void *scratch):
 * runs units [begin, end) in a run of that many rows of the batch; strides are those of the largest
 * batch; what lies in `scratch` (the level's bytes of it, a thread's own) is lost.
 * On GPUs void kernel(void *slice, ..., int64_t rows): units are blocks of `threads` threads. A kernel that takes
 * offsets has one parameter more, const int64_t *offsets: null, or the bytes to add to each slice. */
typedef struct gradc_artifact_kernel {
  gradc_string symbol; /* in the level's image */
  gradc_string title;  /* for people: what it computes */
  gradc_range nodes;   /* gradc_string: the source nodes */
  uint64_t flops, bytes;
  int64_t units;       /* independent pieces of one launch; any split gives the same bits */
  int64_t rows, tile;  /* rows > 0: in a run of n rows units are ceil(ceil(rows * n / tile) * times / per), */
  int64_t times, per;  /* at least 1 */
  int64_t grain;       /* pieces below which splitting does not pay */
  uint32_t threads;    /* of a block on a GPU; 0 on CPUs */
  uint32_t takes_offsets; /* 1: a GPU kernel some of whose slices move with the iterations of loops */
  gradc_range call;    /* gradc_artifact_call: none or one */
} gradc_artifact_kernel;

typedef enum gradc_node_kind {
  GRADC_NODE_LAUNCH,    /* runs a kernel, or the library call in its place */
  GRADC_NODE_COPY,      /* copies its one operand to its one result, of the same bytes */
  GRADC_NODE_IF,        /* runs one of two bodies */
  GRADC_NODE_LOOP,      /* runs a body again and again */
  GRADC_NODE_COLLECTIVE /* changes its operands, which are its results, by what all ranks have in their place */
} gradc_node_kind;

typedef enum gradc_collective_kind {
  GRADC_COLLECTIVE_SUM,     /* every rank gets the sums over all ranks */
  GRADC_COLLECTIVE_SCATTER, /* each rank gets the sums of the pieces that it owns; other elements become 0 or undefined */
  GRADC_COLLECTIVE_GATHER,  /* every rank gets each piece from the rank that owns it */
  /* Transfers between the stages of a pipeline: they have one slice, which a send reads and a receive writes, and no cuts.
   * Values travel unchanged. */
  GRADC_TRANSFER_SEND,
  GRADC_TRANSFER_RECEIVE
} gradc_collective_kind;

#define GRADC_MAX_TRANSFERS 0x3fff /* the transfers of an entry have numbers below this one */

/* The collective.zeros of a transfer: the other rank, and the number that identifies both halves in the entry. */
#define gradc_transfer_zeros(peer, number) ((uint64_t)(number) << 32 | (uint32_t)(peer))
#define gradc_transfer_peer(zeros) ((uint32_t)(zeros))
#define gradc_transfer_number(zeros) ((uint32_t)((zeros) >> 32))

typedef enum gradc_wire { /* how values travel between ranks */
  GRADC_WIRE_FULL, GRADC_WIRE_BF16 /* f32 as bf16, summed in f32 */
} gradc_wire;

#define GRADC_MAX_DEPTH 16       /* bodies around a node */
#define GRADC_MAX_LOOPS 8        /* loops around a node */
#define GRADC_MAX_ITERATIONS 0x7fffffff /* of a loop, times those of the loops around it */

/* A node of a schedule. A schedule is a tree in preorder: the nodes of its bodies follow a node. */
typedef struct gradc_artifact_node {
  uint32_t kind;      /* gradc_node_kind */
  uint32_t end;       /* the first node behind this one and its bodies */
  gradc_string node;  /* source node */
  uint32_t operands;  /* the first this many slices are read, the rest written */
  gradc_range slices; /* gradc_artifact_slice. An if reads its condition, a bool; a loop may read its count, an i32 or
                       * i64: below 0 it counts as 0, above `trips` it is an error of the run */
  union {
    struct {
      uint32_t kernel; /* index into level.kernels */
      uint32_t cut;    /* 1 + index into level.cuts: a rank runs the units of its pieces alone; 0: all units */
      int64_t per;     /* units a piece */
    } launch;
    struct { uint32_t otherwise; } branch; /* the first node of the else body, which ends at `end` */
    struct { int64_t trips; } loop;        /* iterations; the most there can be where the loop reads its count */
    struct {
      uint32_t wire;    /* gradc_wire */
      uint32_t kind;    /* gradc_collective_kind */
      uint64_t zeros;   /* scatter: 1 if elements that the rank does not own become 0; transfers: gradc_transfer_zeros */
      gradc_range cuts; /* uint32_t: indices into level.cuts, one an operand; none of a sum */
    } collective;       /* It ends, at the latest, before a node touches what it changes, and before the body around it does */
  } as;
} gradc_artifact_node;

#define GRADC_LIMIT_TEXT (-1)

typedef struct gradc_artifact_port {
  gradc_artifact_tensor tensor;
  uint32_t role;            /* gradc_role */
  gradc_string field;       /* data inputs: the data set's field; GRADC_ROLE_INDICES: the node; GRADC_ROLE_EXTENT: the output;
                             * GRADC_ROLE_LEARNING_RATE: the
                             * group's first pattern, "" for the rate of all others */
  int64_t classes;          /* targets of a loss, as in gradc_port_info; 0: any value. GRADC_ROLE_INDICES: the
                             * limit: the node takes indices from -classes to classes - 1; GRADC_LIMIT_TEXT: the value is
                             * not 0 where it cannot take its strings. GRADC_ROLE_EXTENT: the dim */
  uint32_t batched;         /* 1: a run of n rows has n / batch of its bytes, the first ones; in entries of any_rows, or
                                of a batch of 1 */
  uint32_t text;            /* 1: strings, as in gradc_port_info */
  gradc_artifact_slice slice; /* outputs: where the value lies after the last node */
} gradc_artifact_port;

/* Before the number of a stage in an entry's name: rank K of a pipeline runs "train.stage.K" instead of "train". */
#define GRADC_STAGE_INFIX ".stage."

/* What one call does. Names: "train", "evaluate", "forward", with ".rows.N" behind it for up to N rows; "predict" (forward where the exported model
 * prepares fields itself, and this entry does not), "gradients", "map.N" (models of map stages; CPU levels
 * only); "train.NAME" for each `train` block of the spec in place of "train"; "train.until.N" and "train.NAME.until.N" for the
 * run's first N steps where groups are frozen then; with ".watch" behind them for their gradients of watched parameters, and ".length.N" for batches of rows of up to N entries; where these take one number of rows only, "train.tail", "evaluate.tail" and
 * so on for the last, smaller batch; and "pack:STATE" / "unpack:STATE" for packed states (one input, or one
 * output, named "value", row-major). */
typedef struct gradc_artifact_entry {
  gradc_string name;
  gradc_string coupling_node;    /* the node that couples the rows of a run, by a sum over them, say; "": none */
  int64_t batch; /* samples a call; 0: not batched */
  uint32_t any_rows;            /* 1: it takes fewer samples, too */
  gradc_string least_rows_node; /* the node that needs `least_rows` of them */
  uint32_t row_unit;            /* it takes a multiple of so many samples, each so many a row of its schedule; 0: 1 */
  int64_t least_rows;           /* of the schedule */
  gradc_range buckets;          /* uint32_t: the level's entries of the same ports that run in its place on no more rows than
                                 * their batch, by rising batch */
  gradc_range inputs, outputs; /* gradc_artifact_port */
  gradc_range nodes;           /* gradc_artifact_node: its schedule */
  uint64_t arena;              /* bytes */
} gradc_artifact_entry;

/* One level: all that exists once per level. Levels are sorted: CPUs first, each kind lowest first. */
typedef struct gradc_artifact_level {
  gradc_string name;   /* "x86-64-v3", "x86-64-v4", "x86-64-v4+bf16", "cuda:sm_90" */
  uint32_t reserved;
  uint64_t scratch;    /* bytes that a thread of a CPU works in beside the slices, at a multiple of 64; 0 on GPUs */
  gradc_range image;   /* an ELF shared object; for CUDA what cuModuleLoadData takes */
  gradc_range buffers, kernels, entries;
  gradc_range cuts;    /* gradc_artifact_cut */
} gradc_artifact_level;

/* The job: the training spec as a tree of named values. A message is a GROUP whose children are its
 * set fields in order; a repeated field is several children of one name; an enum is its name. */
typedef enum gradc_value_kind {
  GRADC_VALUE_GROUP, GRADC_VALUE_INT, GRADC_VALUE_FLOAT, GRADC_VALUE_STRING, GRADC_VALUE_BOOL
} gradc_value_kind;

typedef struct gradc_artifact_value {
  gradc_string name;
  uint32_t kind;         /* gradc_value_kind */
  uint32_t first_child;  /* index into header.job, greater than its own; GRADC_NONE */
  uint32_t next_sibling; /* index into header.job, greater than its own; GRADC_NONE */
  union {
    int64_t integer; /* INT and BOOL */
    double real;
    uint64_t string; /* a gradc_string */
  } as;
} gradc_artifact_value;

typedef struct gradc_artifact_header {
  char magic[8];
  uint32_t version;
  uint32_t header_bytes;
  uint64_t total_bytes;
  uint64_t hash;       /* XXH64 (hash.h) of the bytes after the header */
  uint64_t model_hash; /* XXH64 of names, types and shapes of the states: a checkpoint fits when equal */
  gradc_range strings;
  gradc_range states;  /* gradc_artifact_state */
  gradc_range levels;  /* gradc_artifact_level */
  gradc_range job;     /* gradc_artifact_value; element 0 is the root; empty without a training spec */
  gradc_range model;   /* the ONNX file's bytes, initializers inline */
} gradc_artifact_header;

typedef struct gradc_artifact_trailer {
  uint64_t blob_bytes;
  char magic[8]; /* GRADC_ARTIFACT_MAGIC */
} gradc_artifact_trailer;

#endif
