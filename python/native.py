"""Writes the C code of gradc._native, the C interface for Python; the C compiler checks every declaration against gradc.h.

    native.py OUTPUT.c
"""
import sys

from cffi import FFI

ffi = FFI()
ffi.set_source("gradc._native", '#include "runtime/include/gradc/gradc.h"')
ffi.cdef("""
typedef int... gradc_status;
typedef int... gradc_dtype;
typedef int... gradc_role;
typedef int... gradc_state_kind;
#define GRADC_ROLE_DATA ...
#define GRADC_ROLE_SEED ...
#define GRADC_ROLE_COUNTER ...
#define GRADC_ROLE_ROWS ...
#define GRADC_ROLE_RANK_ROWS ...
#define GRADC_ROLE_EXTENT ...
#define GRADC_ROLE_GRADIENT ...
#define GRADC_STATE_PARAMETER ...
typedef struct gradc_model gradc_model;
typedef struct gradc_session gradc_session;

const char *gradc_last_error(void);
gradc_status gradc_open(const char *path, gradc_model **model);
void gradc_close(gradc_model *model);
typedef struct { size_t size; uint64_t hash; uint64_t model_hash; uint32_t levels; uint32_t states; uint32_t trains; ...; } gradc_model_info;
gradc_status gradc_model_describe(const gradc_model *model, gradc_model_info *info);
const char *gradc_level_name(const gradc_model *model, uint32_t level);

typedef struct { size_t size; int32_t threads; const char *level; ...; } gradc_session_options;
gradc_status gradc_session_create(const gradc_model *model, const gradc_session_options *options, gradc_session **session);
void gradc_session_free(gradc_session *session);
const char *gradc_session_level(const gradc_session *session);

uint32_t gradc_entry_count(const gradc_session *session);
typedef struct { size_t size; const char *name; int64_t batch; uint32_t inputs; uint32_t outputs; uint32_t any_rows; int64_t least_rows;
                 const char *coupling_node; ...; } gradc_entry_info;
gradc_status gradc_entry_describe(const gradc_session *session, uint32_t entry, gradc_entry_info *info);
typedef struct { size_t size; const char *name; gradc_dtype dtype; uint32_t rank; const int64_t *shape; uint64_t bytes; gradc_role role;
                 const char *field; int64_t classes; uint32_t batched, text; ...; } gradc_port_info;
gradc_status gradc_input_describe(const gradc_session *session, uint32_t entry, uint32_t input, gradc_port_info *info);
gradc_status gradc_output_describe(const gradc_session *session, uint32_t entry, uint32_t output, gradc_port_info *info);
gradc_status gradc_run_rows(gradc_session *session, uint32_t entry, int64_t rows, const void *const *inputs, uint32_t input_count,
                            void *const *outputs, uint32_t output_count);
gradc_status gradc_run(gradc_session *session, uint32_t entry, const void *const *inputs, uint32_t input_count,
                       void *const *outputs, uint32_t output_count);

uint32_t gradc_state_count(const gradc_session *session);
typedef struct { size_t size; const char *name; gradc_dtype dtype; uint32_t rank; const int64_t *shape; uint64_t bytes;
                 gradc_state_kind kind; ...; } gradc_state_info;
gradc_status gradc_state_describe(const gradc_session *session, uint32_t state, gradc_state_info *info);
gradc_status gradc_state_get(gradc_session *session, uint32_t state, void *value, uint64_t bytes);
gradc_status gradc_state_set(gradc_session *session, uint32_t state, const void *value, uint64_t bytes);
gradc_status gradc_state_reset(gradc_session *session);

typedef struct { size_t size; int64_t step; float loss; float gradient_norm; uint32_t updated; float loss_scale; ...; } gradc_step_result;
typedef struct { size_t size; const char *group; float learning_rate; ...; } gradc_group_rate;
typedef struct { size_t size; const char *entry; int64_t samples; float learning_rate; const gradc_group_rate *rates; uint32_t rate_count;
                 float loss_scale; const float *momentum; ...; } gradc_step_options;
gradc_status gradc_train_step_with(gradc_session *session, const gradc_step_options *options, const void *const *data,
                                   uint32_t data_count, gradc_step_result *result);
typedef struct { size_t size; const char *entry; int64_t steps; int64_t epochs; int64_t run_steps; int64_t run_epochs; ...; } gradc_rate_query;
gradc_status gradc_learning_rate(const gradc_model *model, const gradc_rate_query *query, float *learning_rate);
int64_t gradc_session_step(const gradc_session *session);
gradc_status gradc_session_set_seed(gradc_session *session, uint64_t seed);
gradc_status gradc_checkpoint_save(gradc_session *session, const char *path);
gradc_status gradc_checkpoint_load(gradc_session *session, const char *path);
gradc_status gradc_export_onnx(gradc_session *session, const char *path);

typedef struct { size_t size; int64_t step; int64_t epoch; float loss; float learning_rate; float gradient_norm; double milliseconds;
                 double input_milliseconds; const char *entry; ...; } gradc_step_report;
typedef struct { size_t size; const char *name; gradc_dtype dtype; uint32_t rank; const int64_t *shape; const void *data; ...; } gradc_data_field;
typedef struct { size_t size; int64_t steps; int64_t epochs; const uint64_t *seed; int32_t threads; const char *level;
                 const char *data_folder; const char *log; const char *checkpoint; const char *resume; const char *export_onnx;
                 uint32_t progress; int (*on_step)(const gradc_step_report *report, void *context); void *context; const char *trace;
                 const gradc_data_field *fields; uint32_t field_count;
                 void (*on_metric)(const char *name, double value, void *context); ...; } gradc_train_options;
typedef struct { size_t size; int64_t steps; double seconds; float loss; double evaluation_loss; double metric; ...; } gradc_train_result;
gradc_status gradc_train(const gradc_model *model, const gradc_train_options *options, gradc_train_result *result);
extern "Python" int gradc_python_on_step(const gradc_step_report *report, void *context);
extern "Python" void gradc_python_on_metric(const char *name, double value, void *context);
""")

if __name__ == "__main__":
    ffi.emit_c_code(sys.argv[1])
