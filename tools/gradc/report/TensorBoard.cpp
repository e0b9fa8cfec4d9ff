// Writes Event messages in protobuf's wire format, each in a record of a TFRecord file.
#include "tools/gradc/report/TensorBoard.h"

#include "runtime/data/source/Crc32c.h"

#include <algorithm>
#include <cstring>

namespace gradc {

namespace {

template <typename T> void appendBytes(std::string &out, T value) {
  out.append(reinterpret_cast<const char *>(&value), sizeof value);
}

void appendVarint(std::string &out, uint64_t value) {
  for (; value >= 128; value >>= 7)
    out += char(value | 128);
  out += char(value);
}

enum WireType { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

void appendKey(std::string &out, int field, WireType type) { out += char(field << 3 | type); }

void appendString(std::string &out, int field, const std::string &value) {
  appendKey(out, field, bytes);
  appendVarint(out, value.size());
  out += value;
}

/// Event { double wall_time = 1; int64 step = 2; }
std::string eventAt(double seconds, int64_t step) {
  std::string event;
  appendKey(event, 1, fixed64);
  appendBytes(event, seconds);
  appendKey(event, 2, varint);
  appendVarint(event, uint64_t(step));
  return event;
}

/// Event { Summary summary = 5 { Value value = 1 { string tag = 1; float simple_value = 2; } } }
std::string scalar(double seconds, const std::string &tag, const CurvePoint &point) {
  std::string value, summary, event = eventAt(seconds, point.step);
  appendString(value, 1, tag);
  appendKey(value, 2, fixed32);
  appendBytes(value, float(point.value));
  appendString(summary, 1, value);
  appendString(event, 5, summary);
  return event;
}

uint32_t checksum(const std::string &data) {
  return runtime::maskedCrc32c(std::as_bytes(std::span(data)));
}

void appendRecord(std::string &out, const std::string &data) {
  std::string length;
  appendBytes(length, uint64_t(data.size()));
  out += length;
  appendBytes(out, checksum(length));
  out += data;
  appendBytes(out, checksum(data));
}

/// Milliseconds from the first step to the end of each step.
Curve elapsed(const TrainingLog &log) {
  Curve times;
  for (const auto &[field, curve] : log.steps)
    if (field == "ms" || field.starts_with("ms ("))
      times.insert(times.end(), curve.begin(), curve.end());
  std::ranges::sort(times, {}, &CurvePoint::step);
  for (size_t i = 1; i < times.size(); ++i)
    times[i].value += times[i - 1].value;
  return times;
}

} // namespace

std::string tensorBoardEvents(const TrainingLog &log, double endSeconds) {
  Curve times = elapsed(log);
  auto timeOf = [&](int64_t step) {
    if (times.empty())
      return endSeconds;
    auto at = std::ranges::lower_bound(times, step, {}, &CurvePoint::step);
    double left = times.back().value - (at == times.end() ? times.back() : *at).value;
    return endSeconds - left / 1e3;
  };
  std::string out, first = eventAt(timeOf(0), 0);
  appendString(first, 3, "brain.Event:2"); // the format version
  appendRecord(out, first);
  const std::pair<const char *, const std::map<std::string, Curve> *> groups[] = {
      {"train/", &log.steps}, {"evaluation/", &log.evaluations}, {"watch/", &log.watched}};
  for (const auto &[group, curves] : groups)
    for (const auto &[field, curve] : *curves)
      for (const CurvePoint &point : curve)
        appendRecord(out, scalar(timeOf(point.step), group + field, point));
  return out;
}

} // namespace gradc
