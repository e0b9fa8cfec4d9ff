// What the C interface's handles are, and how its calls fail.
#ifndef RUNTIME_CORE_CAPI_H
#define RUNTIME_CORE_CAPI_H

#include "runtime/base/Text.h"
#include "runtime/core/NonFinite.h"
#include "runtime/core/Session.h"
#include "runtime/include/gradc/gradc.h"

#include <algorithm>
#include <cstring>
#include <exception>

struct gradc_model {
  std::shared_ptr<const gradc::runtime::Artifact> artifact;
};

struct gradc_session {
  std::shared_ptr<const gradc::runtime::Artifact> artifact;
  std::unique_ptr<gradc::runtime::Session> session;
  std::span<const gradc_artifact_entry> entries;
  const gradc_artifact_entry *begun = nullptr; // by gradc_begin
  gradc::runtime::NonFinite nonFinite;         // strings that gradc_find_non_finite handed out
  int64_t step = 0;
  uint64_t seed = 0;
};

namespace gradc::runtime {

/// Keeps a failure's message for gradc_last_error.
gradc_status recordStatus(const Status &status);

/// Runs the body of a C function, which returns a Status: no exception passes into C.
template <typename Body> gradc_status cCall(Body &&body) {
  try {
    return recordStatus(body());
  } catch (const std::bad_alloc &) {
    return recordStatus(Status(Code::doesNotFit, "out of memory"));
  } catch (const std::exception &error) {
    return recordStatus(Status::error(error.what()));
  }
}

inline Status usage(std::string message) { return Status(Code::usage, std::move(message)); }

/// Hands a struct to a caller who may know an older, shorter one.
template <typename T> Status deliver(T value, T *out) {
  if (!out || out->size < sizeof out->size)
    return usage("expected the result's size to be set to sizeof of its struct");
  value.size = out->size;
  std::memcpy(out, &value, std::min(out->size, sizeof value));
  return {};
}

/// A caller's options: zero where absent or unknown to the caller.
template <typename T> Result<T> acceptOptions(const T *options) {
  T value = {};
  if (!options)
    return value;
  if (options->size < sizeof options->size)
    return usage("expected the options' size to be set to sizeof of their struct");
  std::memcpy(&value, options, std::min(options->size, sizeof value));
  return value;
}

inline const char *orEmpty(const char *text) { return text ? text : ""; }

/// Fails when an input is null or a label out of range.
Status checkInputs(const Artifact &artifact, const gradc_artifact_entry &entry,
                   std::span<const void *const> inputs);

} // namespace gradc::runtime

#endif
