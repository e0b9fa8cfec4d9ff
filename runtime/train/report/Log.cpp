// Formats log lines without locale or allocation, and writes them in blocks.
#include "runtime/train/report/Log.h"

#include "runtime/base/Json.h"
#include "runtime/base/Text.h"
#include "runtime/data/source/MappedFile.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gradc::runtime {

LogLine::LogLine(std::string &out, std::string_view event) : out(out) {
  out += "{\"event\":\"";
  out += event;
  out += '"';
}

void LogLine::key(std::string_view name, std::string_view suffix) {
  out += ",\"";
  appendJson(out, name); // that of a metric may have any characters
  out += suffix;
  out += "\":";
}

LogLine &LogLine::integer(std::string_view name, int64_t value) {
  key(name);
  appendText(out, value);
  return *this;
}

template <typename T> LogLine &LogLine::real(std::string_view name, T value) {
  key(name);
  if (std::isfinite(value)) {
    appendText(out, value);
    return *this;
  }
  out += "null";
  key(name, "_is");
  out += std::isnan(value) ? "\"nan\"" : value > 0 ? "\"inf\"" : "\"-inf\"";
  return *this;
}
template LogLine &LogLine::real(std::string_view, float);
template LogLine &LogLine::real(std::string_view, double);

LogLine &LogLine::metric(const Metric &metric) {
  if (metric.table.empty())
    return real(metric.name, metric.value);
  key(metric.name);
  out += tableText(metric);
  return *this;
}

std::string tableText(const Metric &metric) {
  auto columns = size_t(std::sqrt(double(metric.table.size())) + 0.5);
  std::string out;
  for (size_t i = 0; i < metric.table.size(); ++i)
    out += text(i == 0 ? "[[" : i % columns ? "," : "],[", metric.table[i]);
  return out + "]]";
}

LogLine &LogLine::reals(std::string_view name, std::span<const double> values) {
  key(name);
  out += '[';
  for (size_t i = 0; i < values.size(); ++i)
    out += text(i ? "," : "", values[i]);
  out += ']';
  return *this;
}

LogLine &LogLine::string(std::string_view name, std::string_view value) {
  key(name);
  out += '"';
  appendJson(out, value);
  out += '"';
  return *this;
}

Log::~Log() {
  if (descriptor < 0)
    return;
  (void)flush();
  flock(descriptor, LOCK_UN); // a child that was forked meanwhile has the descriptor, too
  close(descriptor);
}

/// The bytes of a file up to the end of its last whole line.
static Result<off_t> wholeLines(const std::string &path) {
  auto file = MappedFile::open(path);
  if (!file)
    return file.status();
  std::span<const std::byte> bytes = (*file)->bytes();
  size_t end =
      std::string_view(reinterpret_cast<const char *>(bytes.data()), bytes.size()).rfind('\n');
  return off_t(end + 1); // 0 without any line
}

Status Log::failed(int code) const {
  return Status::error(text("cannot write log '", path, "': ", std::strerror(code)));
}

Status Log::open(const std::string &file, bool append) {
  path = file;
  descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND, 0666);
  if (descriptor < 0)
    return failed(errno);
  struct stat status;
  if (fstat(descriptor, &status) || !S_ISREG(status.st_mode))
    return {};
  if (flock(descriptor, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
    return Status::error(text("log '", path,
                              "' belongs to a training under way: wait for its end, or name "
                              "another file with --log"));
  // A run that was killed, or whose disk was full, may have left a part of a line.
  auto whole = append ? wholeLines(path) : Result<off_t>(0);
  if (!whole)
    return whole.status();
  kept = *whole;
  return {};
}

Status Log::begin() {
  return kept < 0 || ftruncate(descriptor, kept) == 0 ? Status() : failed(errno);
}

void Log::step(const StepReport &report) {
  if (!isOpen())
    return;
  LogLine line(buffer, "step");
  line.integer("step", report.step);
  if (!report.entry.empty())
    line.string("entry", report.entry);
  line.real("loss", report.loss);
  for (const Metric &metric : report.metrics)
    metric.table.empty() ? line.real(metric.name, float(metric.value)) : line.metric(metric);
  line.real("lr", report.learningRate);
  if (report.momentum)
    line.real("momentum", *report.momentum);
  if (report.gradientNorm)
    line.real("grad_norm", *report.gradientNorm);
  if (report.lossScale)
    line.real("scale", *report.lossScale).integer("skipped", report.skipped);
  // Whole microseconds; further digits are noise.
  line.real("ms", std::round(report.milliseconds * 1e3) / 1e3);
  line.real("input_ms", std::round(report.inputMilliseconds * 1e3) / 1e3);
  waiting += report.milliseconds;
}

/// Removes the part of a line at the end of the buffer's first `written` bytes from the file.
void Log::dropTornLine(size_t written) {
  size_t line = std::string_view(buffer).substr(0, written).rfind('\n');
  size_t torn = line == std::string_view::npos ? written : written - line - 1;
  struct stat status;
  if (torn && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) [[maybe_unused]]
    int ignored = ftruncate(descriptor, status.st_size - off_t(torn));
}

Status Log::flush() {
  waiting = 0;
  size_t done = 0;
  while (isOpen() && done < buffer.size()) {
    ssize_t written = ::write(descriptor, buffer.data() + done, buffer.size() - done);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0) {
      int code = errno;
      dropTornLine(done);
      buffer.clear();
      return failed(code);
    }
    done += size_t(written);
  }
  buffer.clear();
  return {};
}

/// With four decimals, except large numbers, such as the perplexity of a model that has not
/// learned.
static std::string valueText(double value) {
  if (!(std::abs(value) < 1e15))
    return text(value);
  char digits[40];
  std::snprintf(digits, sizeof digits, "%.4f", value);
  return digits;
}

std::string metricsText(std::span<const Metric> metrics) {
  std::string out;
  for (const Metric &metric : metrics)
    out += text(out.empty() ? "" : ", ", metric.name, ' ',
                metric.table.empty() ? valueText(metric.value) : tableText(metric));
  return out;
}

} // namespace gradc::runtime
