// The C interface: profiles, and stepping launch by launch.
#include "runtime/core/capi/CApi.h"
#include "runtime/device/Device.h"

using namespace gradc::runtime;

static Result<const gradc_artifact_node *>
nodeOf(const gradc_session &session, const gradc_artifact_entry &entry, uint32_t launch) {
  const gradc_artifact_entry &run = scheduleOf(*session.artifact, session.entries, entry);
  auto nodes = session.artifact->elements<gradc_artifact_node>(run.nodes);
  if (launch >= nodes.size())
    return usage(text("launch ", launch, " of ", nodes.size()));
  return &nodes[launch];
}

static Result<const gradc_artifact_slice *> sliceOf(const gradc_session &session,
                                                    const gradc_artifact_entry &entry,
                                                    uint32_t launch, uint32_t slice) {
  auto found = nodeOf(session, entry, launch);
  if (!found)
    return found.status();
  auto slices = session.artifact->elements<gradc_artifact_slice>((*found)->slices);
  if (slice >= slices.size())
    return usage(text("slice ", slice, " of ", slices.size()));
  return &slices[slice];
}

// Profiling ---------------------------------------------------------------------------------------

gradc_status gradc_session_profile(gradc_session *session, uint32_t on) {
  return cCall({{session, "session"}}, [&] {
    session->session->profile(on != 0);
    return Status();
  });
}

gradc_status gradc_launch_times(const gradc_session *session, int64_t *times, uint32_t count) {
  return cCall({{session, "session"}, {times, "times"}}, [&]() -> Status {
    const std::vector<int64_t> &found = session->session->lastProfile().times;
    if (found.empty())
      return usage("no call was profiled: gradc_session_profile and gradc_run come first");
    if (count != found.size())
      return usage(text("expected room for ", found.size(), " times, found ", count));
    std::copy(found.begin(), found.end(), times);
    return {};
  });
}

uint32_t gradc_launches_run(const gradc_session *session) {
  return session ? uint32_t(session->session->lastProfile().paths.size()) : 0;
}

static Status deliverPath(const std::optional<LaunchPath> &path, gradc_launch_path *out) {
  gradc_launch_path value = {0, GRADC_NONE, 0, {}};
  if (path) {
    value.launch = path->node;
    value.loops = path->loops;
    std::copy(std::begin(path->iterations), std::end(path->iterations), value.iterations);
  }
  return deliver(value, out);
}

gradc_status gradc_launch_run(const gradc_session *session, uint32_t index,
                              gradc_launch_path *path) {
  return cCall({{session, "session"}}, [&] {
    const std::vector<LaunchPath> &paths = session->session->lastProfile().paths;
    return index < paths.size() ? deliverPath(paths[index], path)
                                : usage(text("launch ", index, " of ", paths.size(), " that ran"));
  });
}

// Launch by launch --------------------------------------------------------------------------------

gradc_status gradc_launch_describe(const gradc_session *session, uint32_t entry, uint32_t launch,
                                   gradc_launch_info *info) {
  auto describe = [&](const gradc_artifact_node &node) {
    const Artifact &artifact = *session->artifact;
    auto kernels = artifact.elements<gradc_artifact_kernel>(session->session->level().kernels);
    gradc_launch_info value = {};
    value.symbol = "";
    value.title = nodeTitle(artifact, node, kernels).data();
    value.node = artifact.string(node.node).data();
    value.operands = node.operands;
    value.slices = uint32_t(node.slices.count);
    value.kind = gradc_node_kind(node.kind);
    value.end = node.end;
    if (node.kind == GRADC_NODE_LAUNCH) {
      const gradc_artifact_kernel &kernel = kernels[node.as.launch.kernel];
      value.symbol = artifact.string(kernel.symbol).data();
      value.flops = kernel.flops;
      value.bytes = kernel.bytes;
      value.units = kernel.units;
    } else if (node.kind == GRADC_NODE_IF) {
      value.otherwise = node.as.branch.otherwise;
    } else if (node.kind == GRADC_NODE_LOOP) {
      value.trips = node.as.loop.trips;
    }
    return deliver(value, info);
  };
  return cCall({{session, "session"}}, [&] {
    return with(entryOf(*session, entry), [&](const gradc_artifact_entry &found) {
      return with(nodeOf(*session, found, launch), describe);
    });
  });
}

gradc_status gradc_slice_describe(const gradc_session *session, uint32_t entry, uint32_t launch,
                                  uint32_t slice, gradc_slice_info *info) {
  auto describe = [&](const gradc_artifact_slice &s) {
    auto strides = session->artifact->elements<int64_t>(s.strides);
    return deliver({0, gradc_space(s.space), s.index, s.offset, s.bytes, gradc_dtype(s.dtype),
                    s.packed, uint32_t(strides.size()), strides.data()},
                   info);
  };
  return cCall({{session, "session"}}, [&] {
    return with(entryOf(*session, entry), [&](const gradc_artifact_entry &found) {
      return with(sliceOf(*session, found, launch, slice), describe);
    });
  });
}

gradc_status gradc_begin(gradc_session *session, uint32_t entry, const void *const *inputs,
                         uint32_t input_count) {
  return cCall({{session, "session"}}, [&] {
    return withInputs(*session, entry, {}, inputs, input_count, [&](auto &found, auto given) {
      Status begun = session->session->begin(found, given);
      session->begun = begun.ok() ? &found : nullptr;
      return begun;
    });
  });
}

static Status nothingBegun() { return usage("no entry is begun: gradc_begin comes first"); }

gradc_status gradc_next(gradc_session *session, gradc_launch_path *path) {
  return cCall({{session, "session"}}, [&]() -> Status {
    if (!session->begun)
      return nothingBegun();
    auto found = session->session->next();
    return found ? deliverPath(*found, path) : found.status();
  });
}

gradc_status gradc_launch(gradc_session *session, uint32_t launch) {
  return cCall({{session, "session"}}, [&]() -> Status {
    if (!session->begun)
      return nothingBegun();
    return with(nodeOf(*session, *session->begun, launch), [&](const gradc_artifact_node &node) {
      return node.kind != GRADC_NODE_IF && node.kind != GRADC_NODE_LOOP
                 ? session->session->runLaunch(launch)
                 : usage(text("launch ", launch, " is control flow: gradc_next walks through it"));
    });
  });
}

gradc_status gradc_slice_read(gradc_session *session, uint32_t launch, uint32_t slice, void *value,
                              uint64_t bytes) {
  return cCall({{session, "session"}}, [&]() -> Status {
    if (!session->begun)
      return nothingBegun();
    return with(sliceOf(*session, *session->begun, launch, slice), [&](auto &found) {
      Status fits = checkMemory(value, found.bytes, bytes);
      if (fits.ok())
        std::memcpy(value, session->session->slice(found).data(), found.bytes);
      return fits;
    });
  });
}

gradc_status gradc_find_non_finite(gradc_session *session, uint32_t entry,
                                   const void *const *inputs, uint32_t input_count,
                                   gradc_non_finite *found) {
  return cCall({{session, "session"}}, [&]() -> Status {
    if (Status sized = checkSize(found); !sized.ok())
      return sized;
    return withInputs(*session, entry, {}, inputs, input_count, [&](auto &replayed, auto given) {
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
