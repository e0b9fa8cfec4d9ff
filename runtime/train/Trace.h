// The profile as a trace: the JSON that chrome://tracing and ui.perfetto.dev open.
#ifndef RUNTIME_TRAIN_TRACE_H
#define RUNTIME_TRAIN_TRACE_H

#include "runtime/core/Session.h"
#include "runtime/data/Dataset.h"

#include <chrono>
#include <string>
#include <unordered_map>
#include <vector>

namespace gradc::runtime {

/// Complete ("X") events in microseconds since the trace was opened; those that lie
/// within another one's time are drawn below it.
class Trace {
public:
  Trace() = default;
  Trace(const Trace &) = delete;
  /// A trace that was not closed is, as far as it came.
  ~Trace();

  Status open(const std::string &path);
  bool isOpen() const { return descriptor >= 0; }
  /// The steady clock's nanoseconds now.
  static int64_t now() {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  /// `step`: its number, -1 where it has none.
  void span(std::string_view name, std::string_view category, int64_t begin, int64_t end,
            int64_t step = -1);
  /// On a row of its own, where one of the input's threads did it.
  void input(const InputSpan &span);
  /// The launches of the session's last run, which was of this entry.
  void launches(const Session &session, const gradc_artifact_entry &entry);
  /// Ends the JSON. The first failure of all that was written.
  Status close();

private:
  void end(int64_t begin, int64_t end);
  void flush();
  /// The part of each launch's event that is the same in every step.
  const std::vector<std::string> &describe(const Session &session,
                                           const gradc_artifact_entry &entry);

  std::string path, buffer;
  int descriptor = -1;
  int64_t origin = 0;
  int inputThreads = 0; ///< that have been named
  Status failure;
  std::unordered_map<const gradc_artifact_entry *, std::vector<std::string>> descriptions;
};

} // namespace gradc::runtime

#endif
