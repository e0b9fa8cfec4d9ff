/* The roles of an entry's ports: what the step does with a value that it takes or gives.
 *
 * The one table of them. A new role is a row here and the code that gives it its meaning; the enum of
 * the artifact, the names in IR (`grad.role`) and in `gradc inspect`, and the loader's check follow.
 * Rows are in the order of their numbers in artifacts, so new ones come last.
 *
 * ROLE(enumerator, name, type): a role with a type is one number of that gradc_dtype; GRADC_ANY is a
 * tensor of any type and shape. */
#ifndef GRADC_ROLES_H
#define GRADC_ROLES_H

#define GRADC_ANY 0

#define GRADC_PORT_ROLES(ROLE)                                                                                         \
  ROLE(DATA, data, GRADC_ANY)                   /* input: fed from a field of the data set or by the caller */         \
  ROLE(LEARNING_RATE, learning_rate, GRADC_F32) /* input */                                                            \
  ROLE(STEP, step, GRADC_F32)                   /* input: 1-based number of the optimizer step */                      \
  ROLE(COUNTER, counter, GRADC_I32)             /* input: the same number for random ops */                            \
  ROLE(SEED, seed, GRADC_I32)                   /* input: of random ops */                                             \
  ROLE(OUTPUT, output, GRADC_ANY)               /* output: of the model */                                             \
  ROLE(LOSS, loss, GRADC_F32)                   /* output: mean over the batch */                                      \
  ROLE(METRIC, metric, GRADC_F32)               /* output: mean over the batch */                                      \
  ROLE(GRADIENT_NORM, gradient_norm, GRADC_F32) /* output: before clipping */                                          \
  ROLE(PROCEED, proceed, GRADC_BOOL)            /* output: false when the update was predicated off */                 \
  ROLE(ROWS, rows, GRADC_F32)                   /* input: rows of the run, 1 where it has none; set by the runtime */    \
  ROLE(GRADIENT, gradient, GRADC_ANY)           /* output: of a row or, where it is not batched, summed over the run's rows */ \
  ROLE(INDICES, indices, GRADC_U64)             /* output: a node's largest index + limit; read by the runtime alone */ \
  ROLE(LOSS_SCALE, loss_scale, GRADC_F32)       /* input: factor of the loss whose gradients are computed */     \
  ROLE(SUMS, sums, GRADC_ANY)                   /* output: f64, part of a metric, added over batches */                \
  ROLE(SAMPLES, samples, GRADC_ANY)             /* output: f32, part of a metric, a number for each sample */           \
  ROLE(MOMENTUM, momentum, GRADC_F32)           /* input: in place of the optimizer's, where a schedule changes it */  \
  ROLE(RANK_ROWS, rank_rows, GRADC_F32)         /* input: as ROWS, but 0 where it has none: this rank's of a batch that several share */ \
  ROLE(EXTENT, extent, GRADC_I64)               /* output: how much of another output's dim a run has, which has the most in its type */

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

#endif
