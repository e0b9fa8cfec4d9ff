// The C interface's handles and error handling.
#ifndef RUNTIME_CORE_CAPI_CAPI_H
#define RUNTIME_CORE_CAPI_CAPI_H

#include "runtime/base/Text.h"
#include "runtime/core/NonFinite.h"
#include "runtime/core/Session.h"
#include "runtime/include/gradc/gradc.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

struct gradc_model {
  std::shared_ptr<const gradc::runtime::Artifact> artifact;
};

struct gradc_session {
  std::shared_ptr<const gradc::runtime::Artifact> artifact;
  std::unique_ptr<gradc::runtime::Session> session;
  std::span<const gradc_artifact_entry> entries;
  const gradc_artifact_entry *begun = nullptr; // set by gradc_begin
  gradc::runtime::NonFinite nonFinite;         // owns strings returned by gradc_find_non_finite
  int64_t step = 0;
  uint64_t seed = 0;
  int32_t drawSeed = 0, drawCounter = 0; // of random ops in a call that gives none
  std::shared_ptr<void> steps;           // training's state between single steps
  bool isFitted = false; // known to have the numbers that stages find in training rows
};

namespace gradc::runtime {

/// Stores a failure's message for gradc_last_error.
gradc_status recordStatus(const Status &status);

/// Runs the body of a C function. The body returns a Status; exceptions do not propagate into C.
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

/// A pointer that a caller must give, and the name of its parameter.
struct Required {
  const void *pointer;
  const char *name;
};

/// cCall for a function with pointers that must not be null.
template <typename Body> gradc_status cCall(std::initializer_list<Required> pointers, Body &&body) {
  return cCall([&]() -> Status {
    for (const Required &required : pointers)
      if (!required.pointer)
        return usage(text(required.name, " is null"));
    return body();
  });
}

/// Fails if a struct for results does not begin with its size. Functions that change a session
/// check this first, so that a refused call has changed nothing.
template <typename T> Status checkSize(const T *out) {
  if (!out || out->size < sizeof out->size)
    return usage("expected the result's size to be set to sizeof of its struct");
  return {};
}

/// Copies a struct to a caller that may have been compiled against an older, shorter version.
template <typename T> Status deliver(T value, T *out) {
  if (Status sized = checkSize(out); !sized.ok())
    return sized;
  value.size = out->size;
  std::memcpy(out, &value, std::min(out->size, sizeof value));
  return {};
}

/// A caller's options; fields that are absent or unknown to the caller are zero.
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

/// Calls the body with the result of a lookup, if it succeeded.
template <typename Found, typename Body>
Status with(const Result<const Found *> &found, Body &&body) {
  return found ? body(**found) : found.status();
}

/// The inputs of a call, in `all` if it gives no seed or counter of random ops: these are then the
/// session's seed and 0, which the session has until the next call.
std::span<const void *const> withDraws(gradc_session &session, const gradc_artifact_entry &entry,
                                       std::span<const void *const> given,
                                       std::vector<const void *> &all);

/// Checks the inputs for `rows` rows (none: the largest batch), then calls the body with the entry
/// or its bucket for that number of rows, and the inputs.
template <typename Body>
Status withInputs(gradc_session &session, uint32_t entry, std::optional<int64_t> rows,
                  const void *const *inputs, uint32_t count, Body &&body) {
  return with(entryOf(session, entry), [&](const gradc_artifact_entry &found) {
    if (count && !inputs)
      return usage("inputs is null");
    std::vector<const void *> all;
    std::span<const void *const> given = withDraws(session, found, {inputs, count}, all);
    int64_t number = rows.value_or(found.batch);
    Status checked = checkRows(*session.artifact, found, number);
    if (checked.ok())
      checked = checkInputs(*session.artifact, found, given, number);
    if (!checked.ok())
      return checked;
    return body(entryOfRows(*session.artifact, session.entries, found, number), given);
  });
}

/// Checks a caller's memory for a value of `expected` bytes.
inline Status checkMemory(const void *value, uint64_t expected, uint64_t found) {
  if (expected != found)
    return usage(text("expected ", expected, " bytes, found ", found));
  return value || found == 0 ? Status() : usage("value is null");
}

} // namespace gradc::runtime

#endif
