// The training log: one JSON object per line.
#ifndef RUNTIME_TRAIN_REPORT_LOG_H
#define RUNTIME_TRAIN_REPORT_LOG_H

#include "runtime/base/Status.h"
#include "runtime/train/report/TrainReport.h"

#include <string>
#include <string_view>

namespace gradc::runtime {

/// A line being composed: {"event":"eval","epoch":1,...}. JSON has neither NaN nor infinity, so
/// such a number is null, and a field NAME_is tells which one it was.
class LogLine {
public:
  LogLine(std::string &out, std::string_view event);
  ~LogLine() { out += "}\n"; }
  LogLine(const LogLine &) = delete;

  LogLine &integer(std::string_view name, int64_t value);
  /// Adds the number in the shortest form that reads back to the same float or double.
  template <typename T> LogLine &real(std::string_view name, T value);
  /// Adds the value, or the table as an array of rows.
  LogLine &metric(const Metric &metric);
  LogLine &string(std::string_view name, std::string_view value);
  LogLine &reals(std::string_view name, std::span<const double> values);

private:
  void key(std::string_view name, std::string_view suffix = {});
  std::string &out;
};

/// For example "[[5,1],[0,4]]".
std::string tableText(const Metric &metric);

/// For example "loss 0.1234, accuracy 0.9722".
std::string metricsText(std::span<const Metric> metrics);

/// Drops all lines if there is no path.
class Log {
public:
  Log() = default;
  ~Log();
  Log(const Log &) = delete;

  /// Opens the file, which keeps its content until `begin`. `append`: goes on after the last whole
  /// line of an existing file.
  Status open(const std::string &path, bool append);
  /// Removes the lines of an earlier run, or only a torn one that it has left.
  Status begin();
  bool isOpen() const { return descriptor >= 0; }

  void step(const StepReport &report);
  LogLine line(std::string_view event) { return LogLine(buffer, event); }
  /// Writes the lines of a full buffer or of one second's steps, so that a reader can follow the
  /// file. Other lines wait for `flush`.
  Status write() { return buffer.size() < 1 << 16 && waiting < 1000 ? Status() : flush(); }
  /// If that fails, the file ends with a whole line.
  Status flush();

private:
  Status failed(int code) const;
  void dropTornLine(size_t written);

  std::string path;
  int descriptor = -1;
  int64_t kept = -1; ///< bytes of an earlier run; -1: it is no regular file
  std::string buffer;
  double waiting = 0; // milliseconds of the steps in the buffer
};

} // namespace gradc::runtime

#endif
