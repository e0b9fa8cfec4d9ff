/* The artifact: one relocatable blob of plain structs that the compiler writes and the runtime maps.
 *
 * Offsets are relative to the blob's first byte, sections are aligned to 64 bytes, and all numbers are little endian.
 * Executables and shared libraries have the blob at their end, at an offset that is a multiple of 64, followed by a
 * gradc_artifact_trailer. */
#ifndef GRADC_ARTIFACT_H
#define GRADC_ARTIFACT_H

#include "entries.h"
#include "roles.h"

#include <stdint.h>

#define GRADC_ARTIFACT_MAGIC "GRADCART"
#define GRADC_ARTIFACT_VERSION 25u
#define GRADC_NONE 0xffffffffu

/* The maximum number of ranks of a run, and so of the shards of a state. */
#define GRADC_MAX_RANKS 4096

/* `count` elements (bytes, in the case of raw data) from `offset` on. */
typedef struct gradc_range {
  uint64_t offset, count;
} gradc_range;

/* The offset of a NUL-terminated string in the strings section; 0 is "". */
typedef uint32_t gradc_string;

/* Element types, numbered as in ONNX (TensorProto.DataType). */
typedef enum gradc_dtype {
  GRADC_F32 = 1, GRADC_U8 = 2, GRADC_I8 = 3, GRADC_U16 = 4, GRADC_I16 = 5, GRADC_I32 = 6,
  GRADC_I64 = 7, GRADC_BOOL = 9, GRADC_F16 = 10, GRADC_F64 = 11, GRADC_U32 = 12, GRADC_U64 = 13,
  GRADC_BF16 = 16,
  /* Narrow types occupy one byte per element, with signed integers sign-extended. Only ports have them. */
  GRADC_F8E4M3FN = 17, GRADC_F8E4M3FNUZ = 18, GRADC_F8E5M2 = 19, GRADC_F8E5M2FNUZ = 20, GRADC_U4 = 21, GRADC_I4 = 22,
  GRADC_F4E2M1 = 23, GRADC_F8E8M0 = 24, GRADC_U2 = 25, GRADC_I2 = 26
} gradc_dtype;

/* A tensor as callers see it: row-major, whatever its layout in memory. */
typedef struct gradc_artifact_tensor {
  gradc_string name;
  uint32_t dtype;    /* gradc_dtype */
  gradc_range shape; /* int64_t */
  uint64_t bytes;
} gradc_artifact_tensor;

/* The prefix of states that hold values found in the training data, such as means, for models that compute with them. */
#define GRADC_FITTED_PREFIX "gradc.data/"

/* The prefix of slots that count the steps of `train` blocks, or of groups that are frozen at first. */
#define GRADC_STEPS_PREFIX "gradc.steps/"

/* The suffix of a state that averages a parameter: "fc1.weight.ema". */
#define GRADC_AVERAGE_SUFFIX ".ema"

/* The rule of a slot that is the mask of a pruned parameter, "fc1.weight.mask". */
#define GRADC_PRUNE_RULE "prune"

/* The suffix of a statistic that is the range of an activation which `quantize` rounds: "x_range"; and its rule, by which it is told
   from a model's own statistics. */
#define GRADC_RANGE_SUFFIX "_range"
#define GRADC_RANGE_RULE "quantize"

/* The room that a model has for the name of its file of external weights: a protobuf field with a two-byte length. */
#define GRADC_LOCATION_BYTES 259

typedef enum gradc_state_kind {
  GRADC_STATE_PARAMETER, GRADC_STATE_SLOT, GRADC_STATE_STATISTIC, GRADC_STATE_CONSTANT,
  GRADC_STATE_AVERAGE, /* the average of a parameter, named as the parameter with GRADC_AVERAGE_SUFFIX */
  GRADC_STATE_DERIVED  /* what the entry "derive:" computes from other states; behind all other states, hidden from users */
} gradc_state_kind;

/* How the 8-bit integers of a state are computed from codes, modulo 256: element i is (code i ^ flip) - zeros[i / block].
 * Codes follow each other without gaps, and the first of a byte has its lowest bits. */
typedef struct gradc_artifact_codes {
  uint32_t bits;     /* of a code: 2, 4 or 8; 0: the initial values are no codes */
  uint32_t flip;     /* the sign bit, if codes have signs: (code ^ 8) - 8 is the value of signed 4 bits; else 0 */
  uint64_t block;    /* a multiple of 8 / bits, unless there is only one block */
  gradc_range zeros; /* uint8_t: one for each block */
} gradc_artifact_codes;

/* A tensor that persists between runs. */
typedef struct gradc_artifact_state {
  gradc_artifact_tensor tensor;
  uint32_t kind;            /* gradc_state_kind */
  uint32_t splat;           /* 1: `initial` is a single element, the value of all elements */
  gradc_range initial;      /* the row-major initial value, unaligned; inside the model if the model contains it; states of equal values share it */
  gradc_range places;       /* gradc_artifact_place; empty if the state is no initializer of the model */
  /* If `shards` is above 1, that many ranks share the state: as a tensor [runs, shards, elements], of which rank r stores [:, r, :].
   * Buffers and the entries "pack" and "unpack" are then those of one shard; all other fields describe the whole state.
   * All sharded states of an artifact have the same number of shards. */
  uint64_t shards, runs;
  gradc_string rule;        /* the kind of optimizer that keeps a slot, "adam" or "keras momentum"; GRADC_PRUNE_RULE for a mask, GRADC_RANGE_RULE
                             * for a range; "" for all other states and for counters */
  uint32_t reserved;
  gradc_artifact_codes codes; /* of which `initial` then consists instead of elements */
} gradc_artifact_state;

/* The place of a state's value in the model (header.model). A state has one for its initializer and one for each
 * initializer tied to it. */
typedef struct gradc_artifact_place {
  uint64_t offset;
  uint32_t transposed; /* 1: the state is a matrix, and the initializer its transpose */
  uint32_t dtype;      /* gradc_dtype: of the initializer, GRADC_F16 or GRADC_BF16, if the state is its average in f32; else 0 */
} gradc_artifact_place;

typedef enum gradc_buffer_kind {
  GRADC_BUFFER_PLAIN,  /* the primary, row-major */
  GRADC_BUFFER_PACKED, /* the primary in a packed layout, written and read through the entries "pack" and "unpack" */
  GRADC_BUFFER_MIRROR  /* computed from the primary by a kernel, which the schedule runs after each write of the primary */
} gradc_buffer_kind;

/* The storage of a state at one level. The first buffer of a state is its primary. */
typedef struct gradc_artifact_buffer {
  uint32_t state; /* index into header.states */
  uint32_t kind;  /* gradc_buffer_kind */
  uint64_t bytes;
  uint32_t cut;   /* 1 + index into level.cuts: each rank holds only its own pieces; 0: every rank holds the whole buffer */
  uint32_t reserved;
} gradc_artifact_buffer;

/* A division of a tensor with that many elements among ranks: into pieces of `unit` elements (the last piece may be
 * smaller), each of which belongs to one rank. */
typedef struct gradc_artifact_cut {
  uint64_t elements, unit;
} gradc_artifact_cut;

typedef enum gradc_space {
  GRADC_SPACE_ARENA,  /* offset into the entry's arena */
  GRADC_SPACE_BUFFER, /* level.buffers[index] */
  GRADC_SPACE_INPUT,  /* entry.inputs[index] */
  GRADC_SPACE_OUTPUT  /* entry.outputs[index] */
} gradc_space;

/* A piece of memory. In iteration i_k of the k-th enclosing loop it begins at offset + sum over k of i_k * strides[k]. */
typedef struct gradc_artifact_slice {
  uint32_t space; /* gradc_space */
  uint32_t index;
  uint64_t offset, bytes; /* the offsets of a node's slices are multiples of 64 */
  uint32_t dtype;    /* gradc_dtype */
  uint32_t packed;   /* 1: in a panel layout; `bytes` includes its padding */
  gradc_range strides; /* int64_t: bytes per iteration of each loop around the node, outermost first, in multiples of 64.
                        * Loops beyond the end of the list have a stride of 0 */
} gradc_artifact_slice;

typedef enum gradc_library_role {
  GRADC_LIBRARY_MATMUL,         /* cuBLASLt: result = lhs rhs */
  GRADC_LIBRARY_CONVOLUTION,    /* cuDNN: lhs is the data, rhs the filter */
  GRADC_LIBRARY_DATA_GRADIENT,  /* cuDNN: lhs is the gradient of the result, rhs the filter */
  GRADC_LIBRARY_FILTER_GRADIENT /* cuDNN: lhs is the data, rhs the gradient of the result */
} gradc_library_role;

typedef enum gradc_epilogue { /* bits; only matrix products have GRADC_EPILOGUE_GELU and higher bits */
  GRADC_EPILOGUE_NONE, GRADC_EPILOGUE_BIAS, GRADC_EPILOGUE_RELU, GRADC_EPILOGUE_BIAS_RELU,
  GRADC_EPILOGUE_GELU,          /* the tanh form */
  GRADC_EPILOGUE_BIAS_GELU,
  GRADC_EPILOGUE_GELU_GRAD = 8  /* multiplies by the derivative of GELU (tanh form) at each element of `kept` */
} gradc_epilogue;

/* A slice of a launch as a library's f32 tensor; sizes and strides count elements. The dims of a matrix are
 * [1, batch, row, column], of data [picture, channel, y, x], of a filter [output channel, input channel, y, x]. */
typedef struct gradc_library_tensor {
  uint32_t slice, reserved;
  int64_t sizes[4], strides[4];
} gradc_library_tensor;

/* A library always computes the whole batch. Before a call that sums over the rows of a factor, the runtime therefore
 * writes zeros to the rows that the run does not have. The factor consists of `pieces` equal pieces, each with all rows
 * of the batch, of `row` elements each. */
typedef struct gradc_summed_rows {
  int64_t row, pieces; /* row 0: the call does not sum over the factor's rows */
} gradc_summed_rows;

/* The library call equivalent to a GPU kernel: it replaces the kernel on machines that have the library. */
typedef struct gradc_artifact_call {
  uint32_t role;     /* gradc_library_role */
  uint32_t epilogue; /* gradc_epilogue: applied to each element of the result */
  uint32_t bias;     /* slice with one number per column or channel of the result; GRADC_NONE: there is no bias */
  uint32_t kept;     /* slice with the operand of GELU, in the layout of the result. GELU_GRAD reads it; GELU writes it,
                      * unless it is GRADC_NONE */
  gradc_library_tensor lhs, rhs, result;
  gradc_summed_rows summed[2]; /* of lhs and rhs */
  int64_t low[2], high[2], stride[2], dilation[2]; /* of the forward convolution, [y, x] */
} gradc_artifact_call;

/* On CPUs: void kernel(void *const *slices, int64_t begin, int64_t end, int64_t rows, void *scratch)
 * computes units [begin, end) in a run of `rows` rows. Strides are those of the whole batch. The kernel overwrites
 * `scratch`, level.scratch bytes that belong to the calling thread.
 * On GPUs: void kernel(void *slice, ..., int64_t rows). A unit is a block of `threads` threads. A kernel that takes
 * offsets has one more parameter, const int64_t *offsets: the bytes to add to each slice, or null for none. */
typedef struct gradc_artifact_kernel {
  gradc_string symbol; /* in the level's image */
  gradc_string title;  /* a readable summary of the computation */
  gradc_range nodes;   /* gradc_string: the nodes of the model that it computes */
  uint64_t flops, bytes;
  int64_t units;       /* independent pieces of work per launch; any split among threads gives the same bits */
  int64_t rows, tile;  /* rows > 0: a run of n rows has max(1, ceil(ceil(rows * n / tile) * times / per)) units */
  int64_t times, per;  /* at least 1 each */
  int64_t grain;       /* the minimum number of units that are worth a thread of their own */
  uint32_t threads;    /* per block on a GPU; 0 on CPUs */
  uint8_t takes_offsets;  /* 1: a GPU kernel with slices that move with the iterations of loops */
  uint8_t factors;        /* gradc_dtype of its product's first factor; 0: it has no product, as earlier artifacts say of all */
  uint16_t together;      /* up to so many units take less time in one call than each in its own; 0 or 1: none */
  gradc_range call;    /* gradc_artifact_call: none or one */
} gradc_artifact_kernel;

typedef enum gradc_node_kind {
  GRADC_NODE_LAUNCH,    /* runs a kernel, or the library call in its place */
  GRADC_NODE_COPY,      /* copies its one operand to its one result, which has the same number of bytes */
  GRADC_NODE_IF,        /* runs one of two bodies */
  GRADC_NODE_LOOP,      /* runs its body repeatedly */
  GRADC_NODE_COLLECTIVE /* replaces its operands, which are its results, by values computed from those of all ranks; or
                         * transfers a value between two ranks */
} gradc_node_kind;

typedef enum gradc_collective_kind {
  GRADC_COLLECTIVE_SUM,     /* every rank gets the sums over all ranks */
  GRADC_COLLECTIVE_SCATTER, /* each rank gets the sums of the pieces that it owns; other elements become 0 or undefined */
  GRADC_COLLECTIVE_GATHER,  /* every rank gets each piece from the rank that owns it */
  /* Transfers between the stages of a pipeline: they have one slice, which a send reads and a receive writes, and no cuts.
   * Values travel unchanged. */
  GRADC_TRANSFER_SEND,
  GRADC_TRANSFER_RECEIVE,
  GRADC_COLLECTIVE_SUM_SHARDS /* as GRADC_COLLECTIVE_SUM, but only over the ranks of one replica of the model */
} gradc_collective_kind;

/* The title of a collective or transfer, in plans, traces and messages: "sum over ranks". */
static inline const char *gradc_collective_title(gradc_collective_kind kind) {
  switch (kind) {
  case GRADC_COLLECTIVE_SUM:
    return "sum over ranks";
  case GRADC_COLLECTIVE_SCATTER:
    return "scatter of sums over ranks";
  case GRADC_COLLECTIVE_GATHER:
    return "gather over ranks";
  case GRADC_TRANSFER_SEND:
    return "send to a rank";
  case GRADC_TRANSFER_RECEIVE:
    return "receive from a rank";
  case GRADC_COLLECTIVE_SUM_SHARDS:
    return "sum over the ranks of a replica";
  }
  return "";
}

#define GRADC_MAX_TRANSFERS 0x3fff /* the transfers of an entry have numbers below this one */

/* The `transfer` field of a send or receive: the other rank (by its number in the replica), the number that the send and its
 * receive have in common, and whether rows are the slice's outermost dim, so that only the rows of the run are transferred. */
#define gradc_transfer(peer, number, rows) ((uint64_t)(rows) << 63 | (uint64_t)(number) << 32 | (uint32_t)(peer))
#define gradc_transfer_peer(transfer) ((uint32_t)(transfer))
#define gradc_transfer_number(transfer) ((uint32_t)((transfer) >> 32) & 0x7fffffffu)
#define gradc_transfer_rows(transfer) ((uint32_t)((transfer) >> 63))

typedef enum gradc_wire { /* the type in which values travel between ranks */
  GRADC_WIRE_FULL, /* their own */
  GRADC_WIRE_BF16  /* f32 values travel as bf16 and are summed in f32 */
} gradc_wire;

#define GRADC_MAX_DEPTH 16              /* nested bodies around a node */
#define GRADC_MAX_LOOPS 8               /* nested loops around a node */
#define GRADC_MAX_ITERATIONS 0x7fffffff /* of a loop, and of all nested loops together that no condition ends */

/* A node of a schedule. A schedule is a tree in preorder: a node is followed by the nodes of its bodies. */
typedef struct gradc_artifact_node {
  uint32_t kind;      /* gradc_node_kind */
  uint32_t end;       /* the first node after this one and its bodies */
  gradc_string node;  /* the node of the model */
  uint32_t operands;  /* number of slices that are read; they come first, then those that are written */
  gradc_range slices; /* gradc_artifact_slice. An if reads its condition, a bool. A loop may read its count, an i32 or
                       * i64: a negative count means 0, and the run fails if it exceeds `trips`. It may then read a
                       * condition, a bool: the loop ends before the first iteration at whose beginning it is false */
  union {
    struct {
      uint32_t kernel; /* index into level.kernels */
      uint32_t cut;    /* 1 + index into level.cuts: each rank runs only the units of its pieces; 0: all units */
      int64_t per;     /* units per piece of the cut */
    } launch;
    struct { uint32_t otherwise; } branch; /* the first node of the else body, which ends at `end` */
    struct { int64_t trips; } loop;        /* iterations; their maximum if the loop reads a count or a condition */
    struct {
      uint32_t wire;     /* gradc_wire */
      uint32_t kind;     /* gradc_collective_kind */
      uint64_t transfer; /* of a send or receive: its peer, number and rows, packed by gradc_transfer; else 0 */
      gradc_range cuts;  /* uint32_t: an index into level.cuts per operand; none for sums */
      gradc_range zeros; /* uint32_t: the operands of a scatter whose elements become 0 where the rank does not own them */
    } collective;        /* ends before the first later node that accesses its slices, and before the end of the enclosing body */
  } as;
} gradc_artifact_node;

/* The `classes` of a port of GRADC_ROLE_INDICES whose value is not an index: it is nonzero if the node has refused its
 * strings, or if the condition of a loop still holds after GRADC_MAX_ITERATIONS. */
#define GRADC_LIMIT_TEXT (-1)
#define GRADC_LIMIT_TRIPS (-2)

typedef struct gradc_artifact_port {
  gradc_artifact_tensor tensor;
  uint32_t role;            /* gradc_role */
  gradc_string field;       /* data inputs: the field of the data set. GRADC_ROLE_INDICES: the node. GRADC_ROLE_EXTENT: the
                             * output. GRADC_ROLE_LEARNING_RATE: the first pattern of the group, "" for all other parameters */
  int64_t classes;          /* targets of a loss: as in gradc_port_info, 0 for any value. GRADC_ROLE_INDICES: the node accepts
                             * indices from -classes to classes - 1, or is a GRADC_LIMIT. GRADC_ROLE_EXTENT: the dim */
  uint32_t batched;         /* 1: a run of n rows uses the first n / batch of the bytes; only in entries with any_rows or
                             * with a batch of 1 */
  uint32_t text;            /* 1: strings, as in gradc_port_info */
  gradc_artifact_slice slice; /* outputs: the place of the value after the last node */
  gradc_range places;         /* uint64_t: outputs of the entry "merged" that are no states: where the model (header.model) has
                               * the initializer of that name */
} gradc_artifact_port;

/* A function that a session can run: a schedule with inputs and outputs. entries.h describes its name. */
typedef struct gradc_artifact_entry {
  gradc_string name;
  gradc_string coupling_node;   /* a node that couples the rows of a run, for example by a sum over them; "": none */
  int64_t batch;                /* samples per run; 0: not batched */
  uint32_t any_rows;            /* 1: also runs on fewer samples */
  gradc_string least_rows_node; /* the node that requires `least_rows` */
  uint32_t row_unit;            /* samples per row of the schedule; runs have a multiple of it; 0 means 1 */
  uint32_t each_row;            /* 1: a run of more rows than any bucket holds runs the first bucket, which has a batch of 1, for
                                 * each row; the entry has no nodes of its own, and its outputs no slices */
  int64_t least_rows;           /* the minimum number of rows of the schedule */
  gradc_range buckets;          /* uint32_t: entries of the level with the same ports and smaller batches, in rising order.
                                 * The first one with room for the rows of a run replaces this entry */
  gradc_range inputs, outputs;  /* gradc_artifact_port */
  gradc_range nodes;            /* gradc_artifact_node: the schedule */
  uint64_t arena;               /* bytes of intermediate values */
} gradc_artifact_entry;

/* The code for one kind of machine. Levels are sorted: first CPUs, then GPUs, each from the least capable on. */
typedef struct gradc_artifact_level {
  gradc_string name;   /* "x86-64-v3", "x86-64-v4", "x86-64-v4+bf16", "x86-64-v4+amx", "cuda:sm_90" */
  uint32_t reserved;
  uint64_t scratch;    /* bytes of scratch memory per CPU thread, aligned to 64; 0 on GPUs */
  gradc_range image;   /* an ELF shared object; for CUDA, an image for cuModuleLoadData */
  gradc_range buffers, kernels, entries;
  gradc_range cuts;    /* gradc_artifact_cut */
  uint64_t tuning_hash; /* XXH64 of the tuning file; 0: no kernel has a schedule of one */
} gradc_artifact_level;

/* The job: the training spec as a tree of named values. A message is a GROUP with its set fields as children, in order;
 * a repeated field becomes several children with the same name, and an enum the name of its value. */
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
  uint64_t hash;       /* XXH64 (hash.h) of all bytes after the header */
  uint64_t model_hash; /* XXH64 of the names, types and shapes of the states; checkpoints fit all artifacts with the same hash */
  gradc_range strings;
  gradc_range states;  /* gradc_artifact_state */
  gradc_range levels;  /* gradc_artifact_level */
  gradc_range job;     /* gradc_artifact_value: the root first; empty without a training spec */
  gradc_range model;   /* the bytes of the ONNX model, with its initializers */
} gradc_artifact_header;

typedef struct gradc_artifact_trailer {
  uint64_t blob_bytes;
  char magic[8]; /* GRADC_ARTIFACT_MAGIC */
} gradc_artifact_trailer;

#endif
