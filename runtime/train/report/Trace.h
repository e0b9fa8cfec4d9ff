// The profile as a JSON trace, which chrome://tracing and ui.perfetto.dev open.
#ifndef RUNTIME_TRAIN_REPORT_TRACE_H
#define RUNTIME_TRAIN_REPORT_TRACE_H

#include "runtime/core/Session.h"
#include "runtime/data/Dataset.h"

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace gradc::runtime {

/// Complete ("X") events in microseconds since the trace was opened. An event within the time of
/// another one is drawn below it.
class Trace {
public:
  Trace() = default;
  Trace(const Trace &) = delete;
  /// A trace that was not closed is valid up to its last event.
  ~Trace();

  Status open(const std::string &path);
  bool isOpen() const { return descriptor >= 0; }
  /// The steady clock's current nanoseconds.
  static int64_t now() {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  /// `step`: its number; -1 if the span belongs to none.
  void span(std::string_view name, std::string_view category, int64_t begin, int64_t end,
            int64_t step = -1);
  /// On the row of the input thread that did the work.
  void input(const InputSpan &span);
  /// The launches of the session's last run, which executed this entry.
  void launches(const Session &session, const gradc_artifact_entry &entry);
  /// Ends the JSON. Returns the first failure of all writes.
  Status close();

private:
  void end(int64_t begin, int64_t end);
  void flush();
  /// The constant part of each launch's event.
  const std::vector<std::string> &describe(const Session &session,
                                           const gradc_artifact_entry &entry);

  std::string path, buffer;
  int descriptor = -1;
  int64_t origin = 0;
  int inputThreads = 0; ///< that have a name so far
  Status failure;
  std::map<const gradc_artifact_entry *, std::vector<std::string>> descriptions;
};

} // namespace gradc::runtime

#endif
