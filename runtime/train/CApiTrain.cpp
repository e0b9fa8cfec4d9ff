// The C interface to training: single steps on the caller's batches, checkpoints, export, and whole
// jobs.
#include "runtime/core/CApi.h"
#include "runtime/core/IndexCheck.h"
#include "runtime/train/Checkpoint.h"
#include "runtime/train/EntryCall.h"
#include "runtime/train/Export.h"
#include "runtime/train/Job.h"
#include "runtime/train/Trainer.h"
#include "runtime/train/Turns.h"

#include <limits>

using namespace gradc::runtime;

static constexpr float missing = std::numeric_limits<float>::quiet_NaN();

/// The entry, or its smaller twin, for this number of samples; 0: a whole batch.
static Result<const gradc_artifact_entry *>
findTrainEntry(const gradc_session &session, const std::string &which, int64_t samples) {
  std::string sizes;
  for (const std::string &name : {which, which + ".tail"}) {
    const gradc_artifact_entry *entry = session.session->findEntry(name);
    if (!entry)
      continue;
    if (samples == 0 || entry->batch == samples)
      return entry;
    if (Status fits = checkRows(*session.artifact, *entry, samples); entry->any_rows)
      return fits.ok() ? Result<const gradc_artifact_entry *>(entry) : fits;
    sizes += text(sizes.empty() ? "" : " or ", entry->batch);
  }
  if (sizes.empty())
    return usage(
        text("the artifact was compiled without a training spec: it has no entry '", which, '\''));
  return usage(text("expected a batch of ", sizes, " samples, found ", samples));
}

gradc_status gradc_train_step(gradc_session *session, const void *const *data, uint32_t data_count,
                              int64_t samples, float learning_rate, gradc_step_result *result) {
  return cCall([&]() -> Status {
    const Artifact &artifact = *session->artifact;
    Config job = Config::job(artifact);
    Turns turns(job, [&](std::string_view name) { return session->session->findEntry(name); });
    const Turns::Entry &turn = turns.entries()[turns.entryOf(session->step)];
    auto entry = findTrainEntry(*session, turn.name, samples);
    if (!entry)
      return entry.status();
    int64_t step = session->step + 1;
    if (samples == 0)
      samples = (*entry)->batch;

    // 1. The caller's data, and the scalars kept by this session.
    if (!(learning_rate > 0))
      learning_rate = float(commonRate(job) * turn.share);
    StepPorts ports;
    ports.set({learning_rate, step, session->seed});
    std::vector<const void *> inputs;
    uint32_t used = 0;
    for (const auto &port : artifact.elements<gradc_artifact_port>((*entry)->inputs)) {
      inputs.push_back(ports.input(port.role));
      if (port.role != GRADC_ROLE_DATA)
        continue;
      inputs.back() = used < data_count ? data[used] : nullptr;
      ++used;
    }
    if (used != data_count)
      return usage(text("expected ", used, " data inputs, found ", data_count));
    if (Status checked = checkInputs(artifact, **entry, inputs, samples); !checked.ok())
      return checked;

    // 2. The results that a caller may ask for.
    std::vector<void *> outputs;
    for (const auto &port : artifact.elements<gradc_artifact_port>((*entry)->outputs))
      if (isGiven(port))
        outputs.push_back(ports.output(port.role));
    session->begun = nullptr;
    if (Status ran = session->session->run(**entry, inputs, outputs, samples); !ran.ok())
      return ran;
    if (ports.proceed)
      session->step = step;
    float norm = ports.gradientNorm().value_or(missing);
    return result ? deliver({0, step, ports.loss, norm, ports.proceed}, result) : Status();
  });
}

gradc_status gradc_checkpoint_save(gradc_session *session, const char *path) {
  return cCall([&] {
    session->begun = nullptr;
    TrainPosition position;
    position.step = uint64_t(session->step);
    position.seed = session->seed;
    return writeCheckpoint(orEmpty(path), *session->session, position);
  });
}

gradc_status gradc_checkpoint_load(gradc_session *session, const char *path) {
  return cCall([&]() -> Status {
    session->begun = nullptr;
    auto checkpoint = Checkpoint::open(orEmpty(path));
    if (!checkpoint)
      return checkpoint.status();
    if (Status restored = checkpoint->restore(*session->session); !restored.ok())
      return restored;
    session->step = int64_t(checkpoint->position().step);
    session->seed = checkpoint->position().seed;
    return {};
  });
}

gradc_status gradc_export_onnx(gradc_session *session, const char *path) {
  return cCall([&] {
    session->begun = nullptr;
    return exportOnnx(*session->session, orEmpty(path));
  });
}

static Result<std::vector<SourceArray>> readFields(const gradc_data_field *given, uint32_t count) {
  std::vector<SourceArray> fields;
  // A caller's struct may differ in size from ours.
  auto *at = reinterpret_cast<const std::byte *>(given);
  for (uint32_t i = 0; i < count; ++i) {
    size_t size = reinterpret_cast<const gradc_data_field *>(at)->size;
    auto field = acceptOptions(reinterpret_cast<const gradc_data_field *>(at));
    if (!field)
      return field.status();
    std::string name = orEmpty(field->name);
    if (!findDataType(field->dtype) || field->rank < 1 || !field->shape || !field->data)
      return usage(text("field '", name, "' wants a dtype, a shape of one dim or more, and data"));
    SourceArray array;
    array.field = {name, field->dtype, {field->shape + 1, field->shape + field->rank}};
    array.rows = field->shape[0];
    for (uint32_t dim = 0; dim < field->rank; ++dim)
      if (field->shape[dim] < 1)
        return usage(text("field '", name, "' has shape ", shapeText({field->shape, field->rank}),
                          ", expected dims of 1 or more"));
    array.data = static_cast<const std::byte *>(field->data);
    fields.push_back(std::move(array));
    at += size;
  }
  return fields;
}

static TrainOptions translate(const gradc_train_options &given) {
  TrainOptions options;
  if (given.steps)
    options.steps = given.steps;
  if (given.epochs)
    options.epochs = given.epochs;
  if (given.seed)
    options.seed = int64_t(*given.seed);
  options.threads = given.threads;
  options.level = orEmpty(given.level);
  options.dataFolder = orEmpty(given.data_folder);
  options.log = orEmpty(given.log);
  options.checkpoint = orEmpty(given.checkpoint);
  options.resume = orEmpty(given.resume);
  options.exportPath = orEmpty(given.export_onnx);
  options.trace = orEmpty(given.trace);
  options.quiet = !given.progress;
  if (given.on_step)
    options.onStep = [callback = given.on_step, context = given.context](const StepReport &step) {
      gradc_step_report report = {sizeof report,     step.step,
                                  step.epoch,        step.loss,
                                  step.learningRate, step.gradientNorm.value_or(missing),
                                  step.milliseconds, step.inputMilliseconds};
      return callback(&report, context) != 0;
    };
  return options;
}

gradc_status gradc_train(const gradc_model *model, const gradc_train_options *options,
                         gradc_train_result *result) {
  return cCall([&]() -> Status {
    auto accepted = acceptOptions(options);
    if (!accepted)
      return accepted.status();
    auto fields = readFields(accepted->fields, accepted->fields ? accepted->field_count : 0);
    if (!fields)
      return fields.status();
    TrainOptions translated = translate(*accepted);
    translated.fields = std::move(*fields);
    auto summary = train(model->artifact, translated);
    if (!summary)
      return summary.status();
    auto evaluated = [&](size_t i) {
      return i < summary->evaluation.size() ? summary->evaluation[i].value : double(missing);
    };
    return result ? deliver({0, summary->steps, summary->seconds,
                             summary->lastLoss.value_or(missing), evaluated(0), evaluated(1)},
                            result)
                  : Status();
  });
}
