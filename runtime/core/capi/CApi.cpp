// The C interface: models, sessions, entries and states.
#include "runtime/core/capi/CApi.h"
#include "runtime/base/DataType.h"
#include "runtime/base/OwnFile.h"
#include "runtime/base/Targets.h"
#include "runtime/core/Fitted.h"
#include "runtime/core/RandomSeed.h"
#include "runtime/core/artifact/Config.h"
#include "runtime/core/artifact/IndexCheck.h"
#include "runtime/include/gradc/entries.h"

#include <cstdint>
#include <new>

using namespace gradc::runtime;

static thread_local std::string lastError;

gradc_status gradc::runtime::recordStatus(const Status &status) {
  if (!status.ok())
    lastError = status.message();
  return gradc_status(status.code());
}

Status gradc::runtime::checkInputs(const Artifact &artifact, const gradc_artifact_entry &entry,
                                   std::span<const void *const> inputs, int64_t rows) {
  auto ports = artifact.elements<gradc_artifact_port>(entry.inputs);
  for (size_t i = 0; i < std::min(ports.size(), inputs.size()); ++i) {
    const gradc_artifact_tensor &tensor = ports[i].tensor;
    std::string_view name = artifact.string(tensor.name);
    uint64_t bytes = bytesOfRows(entry, ports[i], rows);
    if (!inputs[i] && !gradc_role_counts_rows(ports[i].role) && (bytes || !ports[i].batched))
      return usage(text("input '", name, "' is null"));
    if (ports[i].classes <= 0)
      continue;
    auto dtype = gradc_dtype(tensor.dtype);
    size_t count = bytes / findDataType(dtype)->bytes;
    if (auto wrong = findWrongTarget(dtype, static_cast<const std::byte *>(inputs[i]), count,
                                     ports[i].classes))
      return Status::error(text("input '", name, "': ", wrong->found, " in element ",
                                wrong->element, ", expected ", wrong->expected));
  }
  return {};
}

std::span<const void *const> gradc::runtime::withDraws(gradc_session &session,
                                                       const gradc_artifact_entry &entry,
                                                       std::span<const void *const> given,
                                                       std::vector<const void *> &all) {
  auto ports = session.artifact->elements<gradc_artifact_port>(entry.inputs);
  for (size_t i = 0; i < std::min(ports.size(), given.size()); ++i) {
    if (given[i] || !gradc_role_draws(ports[i].role))
      continue;
    if (all.empty())
      all.assign(given.begin(), given.end());
    session.drawSeed = randomSeed(session.seed);
    all[i] = ports[i].role == GRADC_ROLE_SEED ? &session.drawSeed : &session.drawCounter;
  }
  return all.empty() ? given : all;
}

static Result<const gradc_artifact_state *> stateOf(const gradc_session &session, uint32_t state) {
  auto states = session.artifact->states();
  if (state >= states.size())
    return usage(text("state ", state, " of ", states.size()));
  return &states[state];
}

// Models ------------------------------------------------------------------------------------------

uint32_t gradc_abi_version(void) { return GRADC_ABI_VERSION; }

const char *gradc_last_error(void) { return lastError.c_str(); }

gradc_status gradc_open(const char *path, gradc_model **model) {
  return cCall({{model, "model"}}, [&]() -> Status {
    std::string file = orEmpty(path);
    if (!path) {
      auto own = findOwnFile();
      if (!own)
        return own.status();
      file = *own;
    }
    auto artifact = Artifact::open(file);
    if (artifact)
      *model = new gradc_model{*artifact};
    return artifact.status();
  });
}

gradc_status gradc_open_memory(const void *bytes, size_t count, gradc_model **model) {
  return cCall({{bytes, "bytes"}, {model, "model"}}, [&]() -> Status {
    if (reinterpret_cast<uintptr_t>(bytes) % 8)
      return usage("expected the bytes at an address that is a multiple of 8");
    auto artifact = Artifact::fromMemory({static_cast<const std::byte *>(bytes), count});
    if (artifact)
      *model = new gradc_model{*artifact};
    return artifact.status();
  });
}

void gradc_close(gradc_model *model) { delete model; }

gradc_status gradc_model_describe(const gradc_model *model, gradc_model_info *info) {
  return cCall({{model, "model"}}, [&] {
    const gradc_artifact_header &header = model->artifact->header();
    return deliver({0, header.hash, header.model_hash, uint32_t(header.levels.count),
                    uint32_t(model->artifact->states().size()), header.job.count ? 1u : 0u},
                   info);
  });
}

const char *gradc_level_name(const gradc_model *model, uint32_t level) {
  if (!model)
    return nullptr;
  auto levels = model->artifact->levels();
  return level < levels.size() ? model->artifact->string(levels[level].name).data() : nullptr;
}

// Sessions ----------------------------------------------------------------------------------------

gradc_status gradc_session_create(const gradc_model *model, const gradc_session_options *options,
                                  gradc_session **session) {
  return cCall({{model, "model"}, {session, "session"}}, [&]() -> Status {
    auto accepted = acceptOptions(options);
    if (!accepted)
      return accepted.status();
    auto created = Session::create(model->artifact, {accepted->threads, orEmpty(accepted->level)});
    if (!created)
      return created.status();
    auto handle = std::make_unique<gradc_session>();
    handle->artifact = model->artifact;
    handle->session = std::move(*created);
    handle->entries =
        handle->artifact->elements<gradc_artifact_entry>(handle->session->level().entries);
    handle->seed = uint64_t(Config::job(*model->artifact).integer("seed", 0));
    *session = handle.release();
    return {};
  });
}

void gradc_session_free(gradc_session *session) { delete session; }

const char *gradc_session_level(const gradc_session *session) {
  return session ? session->artifact->string(session->session->level().name).data() : nullptr;
}

int64_t gradc_session_step(const gradc_session *session) { return session ? session->step : 0; }

gradc_status gradc_session_set_seed(gradc_session *session, uint64_t seed) {
  return cCall({{session, "session"}}, [&] {
    session->seed = seed;
    return Status();
  });
}

// Entries -----------------------------------------------------------------------------------------

uint32_t gradc_entry_count(const gradc_session *session) {
  return session ? uint32_t(session->entries.size()) : 0;
}

gradc_status gradc_entry_find(const gradc_session *session, const char *name, uint32_t *entry) {
  return cCall({{session, "session"}, {name, "name"}, {entry, "entry"}}, [&]() -> Status {
    std::string_view wanted = name, suffix = GRADC_TAIL_SUFFIX;
    const gradc_artifact_entry *found = session->session->findEntry(wanted);
    // Older artifacts have a separate entry for a smaller last batch. An entry that accepts such a
    // batch serves for it.
    if (!found && wanted.ends_with(suffix)) {
      found = session->session->findEntry(wanted.substr(0, wanted.size() - suffix.size()));
      found = found && found->any_rows ? found : nullptr;
    }
    if (!found)
      return usage(text("no entry '", name, "', expected one of ",
                        entryNames(*session->artifact, session->entries)));
    *entry = uint32_t(found - session->entries.data());
    return {};
  });
}

gradc_status gradc_entry_describe(const gradc_session *session, uint32_t entry,
                                  gradc_entry_info *info) {
  return cCall({{session, "session"}}, [&] {
    return with(entryOf(*session, entry), [&](const gradc_artifact_entry &e) {
      const gradc_artifact_entry &run = scheduleOf(*session->artifact, session->entries, e);
      return deliver(
          {0, session->artifact->string(e.name).data(), e.batch, uint32_t(e.inputs.count),
           uint32_t(countGiven(session->artifact->elements<gradc_artifact_port>(e.outputs))),
           uint32_t(run.nodes.count), session->session->arenaOf(e), e.any_rows, e.least_rows,
           session->artifact->string(e.coupling_node).data()},
          info);
    });
  });
}

static Status describePort(const gradc_session &session, gradc_range range, const char *kind,
                           uint32_t index, gradc_port_info *info) {
  const Artifact &artifact = *session.artifact;
  auto ports = artifact.elements<gradc_artifact_port>(range);
  const gradc_artifact_port *found = findGiven(ports, index);
  if (!found)
    return usage(text(kind, " ", index, " of ", countGiven(ports)));
  const gradc_artifact_port &port = *found;
  auto shape = artifact.elements<int64_t>(port.tensor.shape);
  return deliver({0, artifact.string(port.tensor.name).data(), gradc_dtype(port.tensor.dtype),
                  uint32_t(shape.size()), shape.data(), port.tensor.bytes, gradc_role(port.role),
                  artifact.string(port.field).data(), port.classes, port.batched, port.text},
                 info);
}

gradc_status gradc_input_describe(const gradc_session *session, uint32_t entry, uint32_t input,
                                  gradc_port_info *info) {
  return cCall({{session, "session"}}, [&] {
    return with(entryOf(*session, entry), [&](const gradc_artifact_entry &e) {
      return describePort(*session, e.inputs, "input", input, info);
    });
  });
}

gradc_status gradc_output_describe(const gradc_session *session, uint32_t entry, uint32_t output,
                                   gradc_port_info *info) {
  return cCall({{session, "session"}}, [&] {
    return with(entryOf(*session, entry), [&](const gradc_artifact_entry &e) {
      return describePort(*session, e.outputs, "output", output, info);
    });
  });
}

/// Whether a node of the entry accesses the state.
static bool accesses(const Session &session, const gradc_artifact_entry &entry, uint32_t state) {
  const Artifact &artifact = session.artifact();
  const gradc_artifact_level &level = session.level();
  auto buffers = artifact.elements<gradc_artifact_buffer>(level.buffers);
  const gradc_artifact_entry &schedule =
      scheduleOf(artifact, artifact.elements<gradc_artifact_entry>(level.entries), entry);
  for (const auto &node : artifact.elements<gradc_artifact_node>(schedule.nodes))
    for (const auto &slice : artifact.elements<gradc_artifact_slice>(node.slices))
      if (slice.space == GRADC_SPACE_BUFFER && buffers[slice.index].state == state)
        return true;
  return false;
}

/// Fails if the entry computes with numbers that a training finds in its rows, and the session does
/// not have them.
static Status expectFitted(gradc_session &session, const gradc_artifact_entry &entry) {
  if (session.isFitted)
    return {};
  auto isNeeded = [&](uint32_t state) { return accesses(*session.session, entry, state); };
  if (std::string missing = missingFitted(*session.session, isNeeded); !missing.empty())
    return usage(text("'", missing,
                      "' goes by the training rows: load a checkpoint of the training "
                      "(gradc_checkpoint_load, --checkpoint)"));
  session.isFitted = missingFitted(*session.session).empty();
  return {};
}

/// A run of `rows` rows; none: of the largest batch.
static Status run(gradc_session &session, uint32_t entry, std::optional<int64_t> rows,
                  const void *const *inputs, uint32_t inputCount, void *const *outputs,
                  uint32_t outputCount) {
  if (outputCount && !outputs)
    return usage("outputs is null");
  return withInputs(session, entry, rows, inputs, inputCount, [&](auto &found, auto given) {
    session.begun = nullptr;
    if (Status fitted = expectFitted(session, found); !fitted.ok())
      return fitted;
    return session.session->run(found, given, {outputs, outputCount}, rows.value_or(found.batch));
  });
}

gradc_status gradc_run(gradc_session *session, uint32_t entry, const void *const *inputs,
                       uint32_t input_count, void *const *outputs, uint32_t output_count) {
  return cCall({{session, "session"}}, [&] {
    return run(*session, entry, {}, inputs, input_count, outputs, output_count);
  });
}

gradc_status gradc_run_rows(gradc_session *session, uint32_t entry, int64_t rows,
                            const void *const *inputs, uint32_t input_count, void *const *outputs,
                            uint32_t output_count) {
  return cCall({{session, "session"}}, [&] {
    return run(*session, entry, rows, inputs, input_count, outputs, output_count);
  });
}

// States ------------------------------------------------------------------------------------------

uint32_t gradc_state_count(const gradc_session *session) {
  return session ? uint32_t(session->artifact->states().size()) : 0;
}

gradc_status gradc_state_find(const gradc_session *session, const char *name, uint32_t *state) {
  return cCall({{session, "session"}, {name, "name"}, {state, "state"}}, [&]() -> Status {
    std::optional<uint32_t> found = session->artifact->findState(name);
    if (!found)
      return usage(text("no state '", name, "'"));
    *state = *found;
    return {};
  });
}

gradc_status gradc_state_describe(const gradc_session *session, uint32_t state,
                                  gradc_state_info *info) {
  return cCall({{session, "session"}}, [&] {
    return with(stateOf(*session, state), [&](const gradc_artifact_state &found) {
      const gradc_artifact_tensor &tensor = found.tensor;
      auto shape = session->artifact->elements<int64_t>(tensor.shape);
      return deliver({0, session->artifact->string(tensor.name).data(), gradc_dtype(tensor.dtype),
                      uint32_t(shape.size()), shape.data(), tensor.bytes,
                      gradc_state_kind(found.kind)},
                     info);
    });
  });
}

gradc_status gradc_state_get(gradc_session *session, uint32_t state, void *value, uint64_t bytes) {
  return cCall({{session, "session"}}, [&] {
    return with(stateOf(*session, state), [&](const gradc_artifact_state &found) {
      if (Status fits = checkMemory(value, found.tensor.bytes, bytes); !fits.ok())
        return fits;
      session->begun = nullptr;
      return session->session->readState(state, value);
    });
  });
}

gradc_status gradc_state_set(gradc_session *session, uint32_t state, const void *value,
                             uint64_t bytes) {
  return cCall({{session, "session"}}, [&] {
    return with(stateOf(*session, state), [&](const gradc_artifact_state &found) {
      if (Status fits = checkMemory(value, found.tensor.bytes, bytes); !fits.ok())
        return fits;
      session->begun = nullptr;
      session->isFitted = false;
      return session->session->writeState(state, value);
    });
  });
}

gradc_status gradc_state_reset(gradc_session *session) {
  return cCall({{session, "session"}}, [&] {
    session->begun = nullptr;
    session->isFitted = false;
    session->step = 0;
    session->steps = nullptr;
    return session->session->resetStates();
  });
}
