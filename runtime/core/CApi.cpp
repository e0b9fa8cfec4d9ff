// The C interface: models, sessions, entries, states, and stepping launch by launch.
#include "runtime/core/CApi.h"
#include "runtime/base/OwnFile.h"
#include "runtime/core/Config.h"

#include <new>

using namespace gradc::runtime;

static thread_local std::string lastError;

gradc_status gradc::runtime::recordStatus(const Status &status) {
  if (!status.ok())
    lastError = status.message();
  return gradc_status(status.code());
}

template <typename Int>
static Status checkLabels(std::string_view port, const void *values, size_t bytes,
                          int64_t classes) {
  auto raw = static_cast<const std::byte *>(values);
  for (size_t i = 0; i < bytes / sizeof(Int); ++i) {
    Int value;
    std::memcpy(&value, raw + i * sizeof value, sizeof value);
    // A value that wraps becomes negative.
    if (int64_t(value) < 0 || int64_t(value) >= classes)
      return Status::error(text("input '", port, "': element ", i, " is ", value,
                                ", expected a label in [0, ", classes, ")"));
  }
  return {};
}

Status gradc::runtime::checkInputs(const Artifact &artifact, const gradc_artifact_entry &entry,
                                   std::span<const void *const> inputs) {
  auto ports = artifact.elements<gradc_artifact_port>(entry.inputs);
  for (size_t i = 0; i < std::min(ports.size(), inputs.size()); ++i) {
    const gradc_artifact_tensor &tensor = ports[i].tensor;
    std::string_view name = artifact.string(tensor.name);
    if (!inputs[i])
      return usage(text("input '", name, "' is null"));
    if (ports[i].classes <= 0)
      continue;
    Status labels;
    if (tensor.dtype == GRADC_I64)
      labels = checkLabels<int64_t>(name, inputs[i], tensor.bytes, ports[i].classes);
    else if (tensor.dtype == GRADC_I32)
      labels = checkLabels<int32_t>(name, inputs[i], tensor.bytes, ports[i].classes);
    else if (tensor.dtype == GRADC_U8)
      labels = checkLabels<uint8_t>(name, inputs[i], tensor.bytes, ports[i].classes);
    if (!labels.ok())
      return labels;
  }
  return {};
}

// Every index that comes from a caller passes through one of these.

static Result<const gradc_artifact_entry *> entryOf(const gradc_session &session, uint32_t entry) {
  if (entry >= session.entries.size())
    return usage(text("entry ", entry, " of ", session.entries.size()));
  return &session.entries[entry];
}

static Result<const gradc_artifact_launch *>
launchOf(const gradc_session &session, const gradc_artifact_entry &entry, uint32_t launch) {
  auto launches = session.artifact->elements<gradc_artifact_launch>(entry.launches);
  if (launch >= launches.size())
    return usage(text("launch ", launch, " of ", launches.size()));
  return &launches[launch];
}

static Result<const gradc_artifact_slice *> sliceOf(const gradc_session &session,
                                                    const gradc_artifact_entry &entry,
                                                    uint32_t launch, uint32_t slice) {
  auto found = launchOf(session, entry, launch);
  if (!found)
    return found.status();
  auto slices = session.artifact->elements<gradc_artifact_slice>((*found)->slices);
  if (slice >= slices.size())
    return usage(text("slice ", slice, " of ", slices.size()));
  return &slices[slice];
}

static Result<const gradc_artifact_state *> stateOf(const gradc_session &session, uint32_t state) {
  auto states = session.artifact->states();
  if (state >= states.size())
    return usage(text("state ", state, " of ", states.size()));
  return &states[state];
}

/// Calls the body with what a lookup found.
template <typename Found, typename Body>
static Status with(const Result<const Found *> &found, Body &&body) {
  return found ? body(**found) : found.status();
}

/// Calls the body with an entry and inputs that were checked for it.
template <typename Body>
static Status withInputs(const gradc_session &session, uint32_t entry, const void *const *inputs,
                         uint32_t count, Body &&body) {
  return with(entryOf(session, entry), [&](const gradc_artifact_entry &found) {
    std::span<const void *const> given(inputs, count);
    Status checked = checkInputs(*session.artifact, found, given);
    return checked.ok() ? body(found, given) : checked;
  });
}

static Status checkBytes(uint64_t expected, uint64_t found) {
  return expected == found ? Status() : usage(text("expected ", expected, " bytes, found ", found));
}

// Models ------------------------------------------------------------------------------------------

uint32_t gradc_abi_version(void) { return GRADC_ABI_VERSION; }

const char *gradc_last_error(void) { return lastError.c_str(); }

gradc_status gradc_open(const char *path, gradc_model **model) {
  return cCall([&]() -> Status {
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
  return cCall([&]() -> Status {
    auto artifact = Artifact::fromMemory({static_cast<const std::byte *>(bytes), count});
    if (artifact)
      *model = new gradc_model{*artifact};
    return artifact.status();
  });
}

void gradc_close(gradc_model *model) { delete model; }

gradc_status gradc_model_describe(const gradc_model *model, gradc_model_info *info) {
  return cCall([&] {
    const gradc_artifact_header &header = model->artifact->header();
    return deliver({0, header.hash, header.model_hash, uint32_t(header.levels.count),
                    uint32_t(header.states.count), header.job.count ? 1u : 0u},
                   info);
  });
}

const char *gradc_level_name(const gradc_model *model, uint32_t level) {
  auto levels = model->artifact->levels();
  return level < levels.size() ? model->artifact->string(levels[level].name).data() : nullptr;
}

// Sessions ----------------------------------------------------------------------------------------

gradc_status gradc_session_create(const gradc_model *model, const gradc_session_options *options,
                                  gradc_session **session) {
  return cCall([&]() -> Status {
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
  return session->artifact->string(session->session->level().name).data();
}

int64_t gradc_session_step(const gradc_session *session) { return session->step; }

gradc_status gradc_session_set_seed(gradc_session *session, uint64_t seed) {
  session->seed = seed;
  return GRADC_OK;
}

// Entries -----------------------------------------------------------------------------------------

uint32_t gradc_entry_count(const gradc_session *session) {
  return uint32_t(session->entries.size());
}

gradc_status gradc_entry_find(const gradc_session *session, const char *name, uint32_t *entry) {
  return cCall([&]() -> Status {
    const gradc_artifact_entry *found = session->session->findEntry(orEmpty(name));
    if (!found)
      return usage(text("no entry '", orEmpty(name), "'"));
    *entry = uint32_t(found - session->entries.data());
    return {};
  });
}

gradc_status gradc_entry_describe(const gradc_session *session, uint32_t entry,
                                  gradc_entry_info *info) {
  return cCall([&] {
    return with(entryOf(*session, entry), [&](const gradc_artifact_entry &e) {
      return deliver({0, session->artifact->string(e.name).data(), e.batch,
                      uint32_t(e.inputs.count), uint32_t(e.outputs.count),
                      uint32_t(e.launches.count), e.arena},
                     info);
    });
  });
}

static Status describePort(const gradc_session &session, gradc_range range, const char *kind,
                           uint32_t index, gradc_port_info *info) {
  const Artifact &artifact = *session.artifact;
  auto ports = artifact.elements<gradc_artifact_port>(range);
  if (index >= ports.size())
    return usage(text(kind, " ", index, " of ", ports.size()));
  const gradc_artifact_port &port = ports[index];
  auto shape = artifact.elements<int64_t>(port.tensor.shape);
  return deliver({0, artifact.string(port.tensor.name).data(), gradc_dtype(port.tensor.dtype),
                  uint32_t(shape.size()), shape.data(), port.tensor.bytes, gradc_role(port.role),
                  artifact.string(port.field).data(), port.classes},
                 info);
}

gradc_status gradc_input_describe(const gradc_session *session, uint32_t entry, uint32_t input,
                                  gradc_port_info *info) {
  return cCall([&] {
    return with(entryOf(*session, entry), [&](const gradc_artifact_entry &e) {
      return describePort(*session, e.inputs, "input", input, info);
    });
  });
}

gradc_status gradc_output_describe(const gradc_session *session, uint32_t entry, uint32_t output,
                                   gradc_port_info *info) {
  return cCall([&] {
    return with(entryOf(*session, entry), [&](const gradc_artifact_entry &e) {
      return describePort(*session, e.outputs, "output", output, info);
    });
  });
}

gradc_status gradc_run(gradc_session *session, uint32_t entry, const void *const *inputs,
                       uint32_t input_count, void *const *outputs, uint32_t output_count) {
  return cCall([&] {
    return withInputs(*session, entry, inputs, input_count, [&](auto &found, auto given) {
      session->begun = nullptr;
      return session->session->run(found, given, {outputs, output_count});
    });
  });
}

// States ------------------------------------------------------------------------------------------

uint32_t gradc_state_count(const gradc_session *session) {
  return uint32_t(session->artifact->states().size());
}

gradc_status gradc_state_find(const gradc_session *session, const char *name, uint32_t *state) {
  return cCall([&]() -> Status {
    auto states = session->artifact->states();
    for (uint32_t i = 0; i < states.size(); ++i)
      if (session->artifact->string(states[i].tensor.name) == orEmpty(name)) {
        *state = i;
        return {};
      }
    return usage(text("no state '", orEmpty(name), "'"));
  });
}

gradc_status gradc_state_describe(const gradc_session *session, uint32_t state,
                                  gradc_state_info *info) {
  return cCall([&] {
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
  return cCall([&] {
    return with(stateOf(*session, state), [&](const gradc_artifact_state &found) {
      if (Status fits = checkBytes(found.tensor.bytes, bytes); !fits.ok())
        return fits;
      session->begun = nullptr;
      return session->session->readState(state, value);
    });
  });
}

gradc_status gradc_state_set(gradc_session *session, uint32_t state, const void *value,
                             uint64_t bytes) {
  return cCall([&] {
    return with(stateOf(*session, state), [&](const gradc_artifact_state &found) {
      if (Status fits = checkBytes(found.tensor.bytes, bytes); !fits.ok())
        return fits;
      session->begun = nullptr;
      return session->session->writeState(state, value);
    });
  });
}

gradc_status gradc_state_reset(gradc_session *session) {
  return cCall([&] {
    session->begun = nullptr;
    session->step = 0;
    return session->session->resetStates();
  });
}

// Profiling ---------------------------------------------------------------------------------------

gradc_status gradc_session_profile(gradc_session *session, uint32_t on) {
  session->session->profile(on != 0);
  return GRADC_OK;
}

gradc_status gradc_launch_times(const gradc_session *session, int64_t *times, uint32_t count) {
  return cCall([&]() -> Status {
    std::span<const int64_t> found = session->session->launchTimes();
    if (found.empty())
      return usage("no call was profiled: gradc_session_profile and gradc_run come first");
    if (count != found.size())
      return usage(text("expected room for ", found.size(), " times, found ", count));
    std::copy(found.begin(), found.end(), times);
    return {};
  });
}

// Launch by launch --------------------------------------------------------------------------------

gradc_status gradc_launch_describe(const gradc_session *session, uint32_t entry, uint32_t launch,
                                   gradc_launch_info *info) {
  auto describe = [&](const gradc_artifact_launch &found) {
    const Artifact &artifact = *session->artifact;
    const gradc_artifact_level &level = session->session->level();
    const auto &kernel = artifact.elements<gradc_artifact_kernel>(level.kernels)[found.kernel];
    return deliver({0, artifact.string(kernel.symbol).data(), artifact.string(kernel.title).data(),
                    artifact.string(found.node).data(), kernel.flops, kernel.bytes, kernel.units,
                    found.operands, uint32_t(found.slices.count)},
                   info);
  };
  return cCall([&] {
    return with(entryOf(*session, entry), [&](const gradc_artifact_entry &found) {
      return with(launchOf(*session, found, launch), describe);
    });
  });
}

gradc_status gradc_slice_describe(const gradc_session *session, uint32_t entry, uint32_t launch,
                                  uint32_t slice, gradc_slice_info *info) {
  auto describe = [&](const gradc_artifact_slice &s) {
    return deliver(
        {0, gradc_space(s.space), s.index, s.offset, s.bytes, gradc_dtype(s.dtype), s.packed},
        info);
  };
  return cCall([&] {
    return with(entryOf(*session, entry), [&](const gradc_artifact_entry &found) {
      return with(sliceOf(*session, found, launch, slice), describe);
    });
  });
}

gradc_status gradc_begin(gradc_session *session, uint32_t entry, const void *const *inputs,
                         uint32_t input_count) {
  return cCall([&] {
    return withInputs(*session, entry, inputs, input_count, [&](auto &found, auto given) {
      Status begun = session->session->begin(found, given);
      session->begun = begun.ok() ? &found : nullptr;
      return begun;
    });
  });
}

gradc_status gradc_launch(gradc_session *session, uint32_t launch) {
  return cCall([&]() -> Status {
    if (!session->begun)
      return usage("no entry is begun: gradc_begin comes first");
    return with(launchOf(*session, *session->begun, launch),
                [&](auto &) { return session->session->runLaunch(launch); });
  });
}

gradc_status gradc_slice_read(gradc_session *session, uint32_t launch, uint32_t slice, void *value,
                              uint64_t bytes) {
  return cCall([&]() -> Status {
    if (!session->begun)
      return usage("no entry is begun: gradc_begin comes first");
    return with(sliceOf(*session, *session->begun, launch, slice), [&](auto &found) {
      Status fits = checkBytes(found.bytes, bytes);
      if (fits.ok())
        std::memcpy(value, session->session->slice(found).data(), found.bytes);
      return fits;
    });
  });
}

gradc_status gradc_find_non_finite(gradc_session *session, uint32_t entry,
                                   const void *const *inputs, uint32_t input_count,
                                   gradc_non_finite *found) {
  return cCall([&] {
    return withInputs(*session, entry, inputs, input_count, [&](auto &replayed, auto given) {
      session->begun = nullptr;
      auto result = findNonFinite(*session->session, replayed, given);
      if (!result)
        return result.status();
      session->nonFinite = std::move(*result);
      const NonFinite &bad = session->nonFinite;
      return deliver({0, bad.node.c_str(), bad.kernel.c_str(), bad.index, bad.value}, found);
    });
  });
}
