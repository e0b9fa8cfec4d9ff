// The C interface to training: single steps on the caller's batches, checkpoints, export, and whole
// jobs.
#include "runtime/core/artifact/IndexCheck.h"
#include "runtime/core/capi/CApi.h"
#include "runtime/include/gradc/entries.h"
#include "runtime/train/Trainer.h"
#include "runtime/train/checkpoint/Checkpoint.h"
#include "runtime/train/entry/EntryCall.h"
#include "runtime/train/export/Export.h"
#include "runtime/train/job/Job.h"
#include "runtime/train/rates/RateSchedule.h"
#include "runtime/train/spec/Turns.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

using namespace gradc::runtime;

static constexpr float missing = std::numeric_limits<float>::quiet_NaN();

/// The entry, or its smaller twin, for this number of samples; 0 for a whole batch.
static Result<const gradc_artifact_entry *>
findTrainEntry(const gradc_session &session, const std::string &which, int64_t samples) {
  std::string sizes;
  for (const char *twin : {"", GRADC_TAIL_SUFFIX}) {
    const gradc_artifact_entry *entry =
        session.session->findEntry(*twin ? std::string_view(text(which, twin)) : which);
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

namespace {
/// The steps of a session, kept between steps so that they allocate nothing.
struct Steps {
  explicit Steps(const gradc_session &session)
      : commonRate(gradc::runtime::commonRate(Config::job(*session.artifact))),
        turns(Config::job(*session.artifact),
              [&](std::string_view name) { return session.session->findEntry(name) != nullptr; }),
        lossScale(lossScaleOf(Config::job(*session.artifact))) {}

  /// An entry with the addresses that its ports are bound to.
  struct Call {
    const gradc_artifact_entry *entry;
    StepPorts ports;
    std::vector<const void *> inputs;
    std::vector<size_t> data; ///< of the inputs
    std::vector<void *> outputs;
    bool takesScale = false, takesMomentum = false;
  };
  Call &callOf(const Artifact &artifact, const gradc_artifact_entry &entry);
  /// Called after a step with the session's own scale.
  void adaptScale(const StepPorts &ports) {
    if (ports.proceed)
      lossScale.grow();
    else if (std::isfinite(ports.loss)) // a non-finite loss is not fixed by any other scale
      lossScale.backOff(/*isCounted=*/false);
  }

  double commonRate;
  Turns turns;
  LossScale lossScale; ///< of steps for which the caller has none
  /// Of the training whose checkpoint was loaded: what its data's stages found stays true, and the
  /// session's own steps move neither its place in the data nor what its evaluations say.
  TrainPosition loaded;
  std::vector<std::unique_ptr<Call>> calls;
};
} // namespace

Steps::Call &Steps::callOf(const Artifact &artifact, const gradc_artifact_entry &entry) {
  for (const auto &call : calls)
    if (call->entry == &entry)
      return *call;
  auto call = std::make_unique<Call>();
  call->entry = &entry;
  for (const auto &port : artifact.elements<gradc_artifact_port>(entry.inputs)) {
    if (port.role == GRADC_ROLE_DATA)
      call->data.push_back(call->inputs.size());
    call->takesScale |= port.role == GRADC_ROLE_LOSS_SCALE;
    call->takesMomentum |= port.role == GRADC_ROLE_MOMENTUM;
    call->inputs.push_back(scalarInput(artifact, entry, port, call->ports));
  }
  for (const auto &port : artifact.elements<gradc_artifact_port>(entry.outputs))
    if (isGiven(port))
      call->outputs.push_back(call->ports.output(port.role));
  return *calls.emplace_back(std::move(call));
}

static Steps &stepsOf(gradc_session &session) {
  if (!session.steps)
    session.steps = std::make_shared<Steps>(session);
  return *static_cast<Steps *>(session.steps.get());
}

/// The kind of step that a caller names, or the one whose turn it is.
static Result<const Turns::Entry *> findTurn(const Turns &turns, std::string_view block,
                                             int64_t done) {
  if (block.empty())
    return &turns.entries()[turns.entryOf(done)];
  size_t found = turns.entryOf(block, done);
  if (found < turns.entries().size())
    return &turns.entries()[found];
  std::vector<std::string> names;
  for (const Turns::Entry &entry : turns.entries())
    if (!entry.block.empty() && std::ranges::find(names, entry.block) == names.end())
      names.push_back(entry.block);
  return usage(text("the job has no train block '", block, "', expected ",
                    names.empty() ? std::string("no name: it has one kind of step")
                                  : text("one of ", quotedList(names))));
}

/// Replaces the groups' own rates by the caller's.
static Status setRates(StepPorts &ports, const gradc_step_options &options) {
  if (options.rate_count && !options.rates)
    return usage(text("rates is null, and rate_count is ", options.rate_count));
  // The size of a caller's struct may differ from ours.
  auto *at = reinterpret_cast<const std::byte *>(options.rates);
  for (uint32_t i = 0; i < options.rate_count; ++i) {
    size_t size = reinterpret_cast<const gradc_group_rate *>(at)->size;
    auto rate = acceptOptions(reinterpret_cast<const gradc_group_rate *>(at));
    if (!rate)
      return rate.status();
    if (!(rate->learning_rate >= 0))
      return usage(text("the learning rate of group '", orEmpty(rate->group), "' is ",
                        rate->learning_rate, ", expected 0 or more"));
    if (std::isinf(rate->learning_rate))
      return usage(text("the learning rate of group '", orEmpty(rate->group),
                        "' is inf, expected a finite number"));
    if (!ports.setGroupRate(orEmpty(rate->group), rate->learning_rate))
      return usage(
          text("the step trains no group whose first pattern is '", orEmpty(rate->group), '\''));
    at += size;
  }
  return {};
}

/// Checks that the job uses the scalars that the caller gives.
static Status checkScalars(const gradc_step_options &options, const Steps::Call &call) {
  float scale = options.loss_scale;
  if (scale != 0 && !(scale > 0 && call.takesScale))
    return usage(call.takesScale
                     ? text("the loss scale is ", scale, ", expected a number above 0")
                     : std::string("the step takes no loss scale: its precision is not FP16"));
  if (!options.momentum)
    return {};
  if (!call.takesMomentum)
    return usage("the step takes no momentum: the job's schedule does not change it");
  if (float momentum = *options.momentum; !(momentum >= 0 && momentum < 1))
    return usage(text("the momentum is ", momentum, ", expected a number from 0 to below 1"));
  return {};
}

static Status trainStep(gradc_session &session, const gradc_step_options &options,
                        const void *const *data, uint32_t data_count, gradc_step_result *result) {
  if (data_count && !data)
    return usage("data is null");
  if (Status sized = result ? checkSize(result) : Status(); !sized.ok())
    return sized;
  float rate = options.learning_rate;
  if (rate > 0 && std::isinf(rate))
    return usage("the learning rate is inf, expected a finite number");
  const Artifact &artifact = *session.artifact;
  Steps &steps = stepsOf(session);
  auto turn = findTurn(steps.turns, orEmpty(options.entry), session.step);
  if (!turn)
    return turn.status();
  auto entry = findTrainEntry(session, (*turn)->name, options.samples);
  if (!entry)
    return entry.status();
  int64_t step = session.step + 1;
  int64_t samples = options.samples ? options.samples : (*entry)->batch;

  // 1. Bind the caller's data, and the scalars kept by this session.
  Steps::Call &call = steps.callOf(artifact, **entry);
  if (call.data.size() != data_count)
    return usage(text("expected ", call.data.size(), " data inputs, found ", data_count));
  for (size_t i = 0; i < data_count; ++i)
    call.inputs[call.data[i]] = data[i];
  if (!(rate > 0))
    rate = float(steps.commonRate * (*turn)->share);
  if (Status checked = checkScalars(options, call); !checked.ok())
    return checked;
  float scale = options.loss_scale > 0 ? options.loss_scale
                : call.takesScale      ? steps.lossScale.value()
                                       : 1;
  float momentum = options.momentum ? *options.momentum : float((*turn)->momentum);
  call.ports.set({rate, momentum, step, session.seed, steps.lossScale.skipped(), scale});
  if (Status set = setRates(call.ports, options); !set.ok())
    return set;
  if (Status checked = checkInputs(artifact, **entry, call.inputs, samples); !checked.ok())
    return checked;

  // 2. Run, and report the results.
  session.begun = nullptr;
  if (Status ran = session.session->run(**entry, call.inputs, call.outputs, samples); !ran.ok())
    return ran;
  if (call.ports.proceed)
    session.step = step;
  if (options.loss_scale == 0)
    steps.adaptScale(call.ports);
  float norm = call.ports.gradientNorm().value_or(missing);
  return result ? deliver({0, step, call.ports.loss, norm, call.ports.proceed, scale}, result)
                : Status();
}

gradc_status gradc_train_step(gradc_session *session, const void *const *data, uint32_t data_count,
                              int64_t samples, float learning_rate, gradc_step_result *result) {
  return cCall({{session, "session"}}, [&] {
    gradc_step_options options = {sizeof options, nullptr, samples, learning_rate,
                                  nullptr,        0,       0,       nullptr};
    return trainStep(*session, options, data, data_count, result);
  });
}

gradc_status gradc_train_step_with(gradc_session *session, const gradc_step_options *options,
                                   const void *const *data, uint32_t data_count,
                                   gradc_step_result *result) {
  return cCall({{session, "session"}}, [&]() -> Status {
    auto accepted = acceptOptions(options);
    return accepted ? trainStep(*session, *accepted, data, data_count, result) : accepted.status();
  });
}

/// Fails if the schedule is as long as the run, and nothing says how long that is.
static Status expectLength(Config job, const gradc_rate_query &asked) {
  constexpr std::string_view ending[] = {"linear", "polynomial", "cosine", "one_cycle"};
  Config schedule = job.child("schedule"), last = schedule;
  for (Config part : schedule.child("sequence").children("part"))
    last = part;
  bool byEpochs = schedule.string("unit") == "EPOCHS";
  const char *unit = byEpochs ? "epochs" : "steps";
  bool isKnown = job.child(unit) || (byEpochs ? asked.run_epochs : asked.run_steps) > 0 ||
                 (byEpochs && !job.child("steps")); // the default is one epoch
  for (Config kind : last.children())
    if (!isKnown && std::ranges::count(ending, kind.name()) && !kind.child("length"))
      return usage(text("the schedule's ", kind.name(),
                        " is as long as the run, and the job gives no number of ", unit,
                        ": expected run_", unit, " above 0"));
  return {};
}

/// Calls `use` with the schedule, the query, and the block's share of the rate.
template <typename Use>
static gradc_status askSchedule(const gradc_model *model, const gradc_rate_query *query,
                                Required answer, Use use) {
  return cCall({{model, "model"}, answer}, [&]() -> Status {
    auto asked = acceptOptions(query);
    if (!asked)
      return asked.status();
    for (auto [name, value] :
         {std::pair("steps", asked->steps), std::pair("epochs", asked->epochs),
          std::pair("run_steps", asked->run_steps), std::pair("run_epochs", asked->run_epochs)})
      if (value < 0)
        return usage(text(name, " is ", value, ", expected 0 or more"));
    Config job = Config::job(*model->artifact);
    if (!job)
      return usage("the artifact was compiled without a training spec");
    Turns turns(job, [](std::string_view) { return false; });
    double share = turns.entries().front().share;
    if (std::string_view block = orEmpty(asked->entry); !block.empty()) {
      size_t found = turns.entryOf(block, 0);
      if (found == turns.entries().size())
        return usage(text("the job has no train block '", block, '\''));
      share = turns.entries()[found].share;
    }
    int64_t epochs = asked->run_epochs ? asked->run_epochs : job.integer("epochs", 1);
    RateSchedule schedule(job.child("schedule"), commonRate(job),
                          {asked->run_steps ? asked->run_steps : job.integer("steps", 1), epochs});
    Status answered = use(schedule, *asked, share);
    return answered.ok() ? expectLength(job, *asked) : answered;
  });
}

gradc_status gradc_learning_rate(const gradc_model *model, const gradc_rate_query *query,
                                 float *learning_rate) {
  auto answer = [&](const RateSchedule &schedule, auto &asked, double share) {
    *learning_rate = float(schedule.rate(asked.steps, asked.epochs) * share);
    return Status();
  };
  return askSchedule(model, query, {learning_rate, "learning_rate"}, answer);
}

gradc_status gradc_momentum(const gradc_model *model, const gradc_rate_query *query,
                            float *momentum) {
  auto answer = [&](const RateSchedule &schedule, auto &asked, double) {
    std::optional<double> found = schedule.momentum(asked.steps, asked.epochs);
    if (!found)
      return usage("the job's schedule does not change the momentum");
    *momentum = float(*found);
    return Status();
  };
  return askSchedule(model, query, {momentum, "momentum"}, answer);
}

gradc_status gradc_checkpoint_save(gradc_session *session, const char *path) {
  return cCall({{session, "session"}, {path, "path"}}, [&] {
    session->begun = nullptr;
    Steps &steps = stepsOf(*session);
    TrainPosition position = steps.loaded;
    position.step = uint64_t(session->step);
    position.seed = session->seed;
    steps.lossScale.keep(position.runState);
    return writeCheckpoint(path, *session->session, position);
  });
}

/// Whether the session has a training step, whose optimizer keeps states.
static bool hasSteps(const gradc_session &session) {
  return std::ranges::any_of(session.entries, [&](const gradc_artifact_entry &entry) {
    std::string_view name = session.artifact->string(entry.name);
    return name == GRADC_TRAIN_ENTRY || name.starts_with(GRADC_TRAIN_PREFIX);
  });
}

gradc_status gradc_checkpoint_load(gradc_session *session, const char *path) {
  return cCall({{session, "session"}, {path, "path"}}, [&]() -> Status {
    session->begun = nullptr;
    session->isFitted = false;
    auto checkpoint = Checkpoint::open(path);
    if (!checkpoint)
      return checkpoint.status();
    Status restored = checkpoint->restore(*session->session, hasSteps(*session));
    if (!restored.ok())
      return restored;
    session->step = int64_t(checkpoint->position().step);
    session->seed = checkpoint->position().seed;
    Steps &steps = stepsOf(*session);
    steps.lossScale.restore(checkpoint->position().runState);
    steps.loaded = checkpoint->position();
    return {};
  });
}

gradc_status gradc_export_onnx(gradc_session *session, const char *path) {
  return cCall({{session, "session"}, {path, "path"}}, [&] {
    session->begun = nullptr;
    // Only steps of a training whose checkpoint was loaded count although they were skipped.
    int64_t skipped = session->steps ? stepsOf(*session).lossScale.skipped() : 0;
    return exportOnnx(*session->session, path, session->step - skipped);
  });
}

static Result<std::vector<SourceArray>> readFields(const gradc_data_field *given, uint32_t count) {
  std::vector<SourceArray> fields;
  // The size of a caller's struct may differ from ours.
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
      gradc_step_report report = {sizeof report,
                                  step.step,
                                  step.epoch,
                                  step.loss,
                                  step.learningRate,
                                  step.gradientNorm.value_or(missing),
                                  step.milliseconds,
                                  step.inputMilliseconds,
                                  step.entry.data() ? step.entry.data() : ""};
      return callback(&report, context) != 0;
    };
  return options;
}

gradc_status gradc_train(const gradc_model *model, const gradc_train_options *options,
                         gradc_train_result *result) {
  return cCall({{model, "model"}}, [&]() -> Status {
    if (Status sized = result ? checkSize(result) : Status(); !sized.ok())
      return sized;
    auto accepted = acceptOptions(options);
    if (!accepted)
      return accepted.status();
    for (auto [name, value] :
         {std::pair("steps", accepted->steps), std::pair("epochs", accepted->epochs)})
      if (value < 0)
        return usage(text(name, " is ", value, ", expected 1 or more, or 0 for the job's"));
    if (accepted->field_count && !accepted->fields)
      return usage(text("fields is null, and field_count is ", accepted->field_count));
    auto fields = readFields(accepted->fields, accepted->field_count);
    if (!fields)
      return fields.status();
    TrainOptions translated = translate(*accepted);
    translated.fields = std::move(*fields);
    auto summary = train(model->artifact, translated);
    if (!summary)
      return summary.status();
    if (accepted->on_metric)
      for (const Metric &metric : summary->evaluation)
        if (metric.table.empty())
          accepted->on_metric(metric.name.c_str(), metric.value, accepted->context);
    auto evaluated = [&](size_t i) {
      return i < summary->ownMetrics ? summary->evaluation[i].value : double(missing);
    };
    return result ? deliver({0, summary->steps, summary->seconds,
                             summary->lastLoss.value_or(missing), evaluated(0), evaluated(1)},
                            result)
                  : Status();
  });
}
