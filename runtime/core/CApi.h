// The C interface's handles, and how its calls fail.
#ifndef RUNTIME_CORE_CAPI_H
#define RUNTIME_CORE_CAPI_H

#include "runtime/base/Text.h"
#include "runtime/core/NonFinite.h"
#include "runtime/core/Session.h"
#include "runtime/include/gradc/gradc.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>

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
  std::shared_ptr<void> steps; // what training keeps between single steps
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

/// Fails if an input is null or a label in the run's rows is out of range.
Status checkInputs(const Artifact &artifact, const gradc_artifact_entry &entry,
                   std::span<const void *const> inputs, int64_t rows);

// Every index that comes from a caller passes through a lookup such as this one.
inline Result<const gradc_artifact_entry *> entryOf(const gradc_session &session, uint32_t entry) {
  if (entry >= session.entries.size())
    return usage(text("entry ", entry, " of ", session.entries.size()));
  return &session.entries[entry];
}

/// Calls the body with what a lookup found.
template <typename Found, typename Body>
Status with(const Result<const Found *> &found, Body &&body) {
  return found ? body(**found) : found.status();
}

/// Calls the body with an entry or its bucket, and inputs of `rows` rows, which were checked for
/// it; nothing: the largest batch.
template <typename Body>
Status withInputs(const gradc_session &session, uint32_t entry, std::optional<int64_t> rows,
                  const void *const *inputs, uint32_t count, Body &&body) {
  return with(entryOf(session, entry), [&](const gradc_artifact_entry &found) {
    std::span<const void *const> given(inputs, count);
    int64_t number = rows.value_or(found.batch);
    Status checked = checkRows(*session.artifact, found, number);
    if (checked.ok())
      checked = checkInputs(*session.artifact, found, given, number);
    if (!checked.ok())
      return checked;
    return body(entryOfRows(*session.artifact, session.entries, found, number), given);
  });
}

inline Status checkBytes(uint64_t expected, uint64_t found) {
  return expected == found ? Status() : usage(text("expected ", expected, " bytes, found ", found));
}

} // namespace gradc::runtime

#endif
