/* The roles of an entry's ports: the meaning of each input and output.
 *
 * To add a role, add a row to this table and the code that implements it. The artifact's enum, the names in IR
 * (`grad.role`) and in `gradc inspect`, and the loader's check are generated from the table. Artifacts contain the
 * number of the row, so new rows come last.
 *
 * ROLE(enumerator, name, type): the port is a single number of that gradc_dtype; with GRADC_ANY, a tensor of any type
 * and shape. */
#ifndef GRADC_ROLES_H
#define GRADC_ROLES_H

#define GRADC_ANY 0

#define GRADC_PORT_ROLES(ROLE)                                                                                         \
  ROLE(DATA, data, GRADC_ANY)                   /* input: from a field of the data set, or from the caller */         \
  ROLE(LEARNING_RATE, learning_rate, GRADC_F32) /* input */                                                            \
  ROLE(STEP, step, GRADC_F32)                   /* input: number of the optimizer step, from 1 */                      \
  ROLE(COUNTER, counter, GRADC_I32)             /* input: the number of the step, for random ops */                            \
  ROLE(SEED, seed, GRADC_I32)                   /* input: of random ops */                                             \
  ROLE(OUTPUT, output, GRADC_ANY)               /* output: of the model */                                             \
  ROLE(LOSS, loss, GRADC_F32)                   /* output: mean over the batch */                                      \
  ROLE(METRIC, metric, GRADC_F32)               /* output: mean over the batch */                                      \
  ROLE(GRADIENT_NORM, gradient_norm, GRADC_F32) /* output: before clipping */                                          \
  ROLE(PROCEED, proceed, GRADC_BOOL)            /* output: false if the step has skipped the update */                 \
  ROLE(ROWS, rows, GRADC_F32)                   /* input: rows of the run, 1 for a run without rows; set by the runtime */    \
  ROLE(GRADIENT, gradient, GRADC_ANY)           /* output: per row if batched, else summed over the rows of the run */ \
  ROLE(INDICES, indices, GRADC_U64)             /* output: a node's largest index + limit; only for the runtime */ \
  ROLE(LOSS_SCALE, loss_scale, GRADC_F32)       /* input: a factor of the loss before gradients are computed */     \
  ROLE(SUMS, sums, GRADC_ANY)                   /* output: f64, terms of a metric, which the runtime adds over batches */                \
  ROLE(SAMPLES, samples, GRADC_ANY)             /* output: f32, terms of a metric, one number per sample */           \
  ROLE(MOMENTUM, momentum, GRADC_F32)           /* input: replaces the optimizer's momentum if a schedule changes it */  \
  ROLE(RANK_ROWS, rank_rows, GRADC_F32)         /* input: rows of this rank of a shared batch, 0 if it has none; set by the runtime */ \
  ROLE(EXTENT, extent, GRADC_I64)               /* output: the size of a dim of another output in this run; its type has the maximum */

#define GRADC_ROLE_ENUMERATOR(enumerator, name, type) GRADC_ROLE_##enumerator,
typedef enum gradc_role { GRADC_PORT_ROLES(GRADC_ROLE_ENUMERATOR) GRADC_ROLES } gradc_role;
#undef GRADC_ROLE_ENUMERATOR

/* The name of a role below GRADC_ROLES: "learning_rate". */
static inline const char *gradc_role_name(gradc_role role) {
#define GRADC_ROLE_STRING(enumerator, name, type) #name,
  static const char *const names[] = {GRADC_PORT_ROLES(GRADC_ROLE_STRING)};
#undef GRADC_ROLE_STRING
  return names[role];
}

/* Whether the runtime itself sets an input of that role. */
static inline int gradc_role_counts_rows(unsigned role) {
  return role == GRADC_ROLE_ROWS || role == GRADC_ROLE_RANK_ROWS;
}

/* Whether an input of that role chooses the numbers of random ops. */
static inline int gradc_role_draws(unsigned role) {
  return role == GRADC_ROLE_SEED || role == GRADC_ROLE_COUNTER;
}

#endif
