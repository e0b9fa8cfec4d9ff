// Formats progress lines, at most a few per second.
#include "runtime/train/report/Progress.h"

#include "runtime/base/Text.h"
#include "runtime/ranks/Ranks.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sys/ioctl.h>
#include <unistd.h>

namespace gradc::runtime {

std::string shortCount(double value) {
  const char *unit = "";
  for (const char *next : {"k", "M", "G"}) {
    if (value < 9999.5)
      break;
    value /= 1000;
    unit = next;
  }
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.0f%s", value, unit);
  return digits;
}

/// Whether a person sees what is written.
static bool isTerminal(int descriptor) {
  return isatty(descriptor) && (launchedRanks() < 2 || std::getenv(terminalVariable));
}

Progress::Progress(int descriptor, bool quiet, int64_t totalSteps, int64_t batchSize)
    : descriptor(descriptor), quiet(quiet), terminal(isTerminal(descriptor)),
      colours(terminal && !std::getenv("NO_COLOR")), totalSteps(totalSteps), batchSize(batchSize),
      interval(std::chrono::milliseconds(terminal ? 250 : 2000)), begin(Clock::now()),
      since(begin) {}

/// Truncates the line to the terminal's width: fields are dropped from the end, because a line that
/// wraps cannot be rewritten.
static void fit(std::string &line, int descriptor) {
  winsize size = {};
  if (ioctl(descriptor, TIOCGWINSZ, &size) || size.ws_col < 2)
    return;
  size_t width = size.ws_col - 1u;
  while (line.size() > width) {
    size_t gap = line.rfind("  ");
    line.resize(gap == line.npos || gap == 0 ? width : gap);
  }
}

static constexpr int64_t barWidth = 10;

/// For example "[##--------]  25%  1:07 left  "; empty if the end is not known.
std::string Progress::bar(int64_t step, Clock::time_point now) const {
  if (totalSteps > int64_t(1) << 52)
    return "";
  double done = double(step) / double(totalSteps);
  double seconds = std::chrono::duration<double>(now - begin).count() / double(allSteps) *
                   double(totalSteps - step);
  auto filled = size_t(done * barWidth);
  char part[64];
  std::snprintf(part, sizeof part, "]  %2.0f%%  %lld:%02lld left  ", std::floor(100 * done),
                static_cast<long long>(seconds / 60), static_cast<long long>(seconds) % 60);
  return text('[', std::string(filled, '#'), std::string(barWidth - filled, '-'), part);
}

void Progress::step(const StepReport &report, Clock::time_point now) {
  if (quiet)
    return;
  ++steps;
  ++allSteps;
  milliseconds += report.milliseconds;
  inputMilliseconds += report.inputMilliseconds;
  if (now - since < interval)
    return;

  std::string total = text(totalSteps);
  char part[160];
  std::snprintf(part, sizeof part, "step %*lld/%s  ", int(total.size()),
                static_cast<long long>(report.step), total.c_str());
  std::string line = text(terminal ? bar(report.step, now) : "", part);
  if (!report.entry.empty())
    line += text(report.entry, ' ');
  std::snprintf(part, sizeof part, "loss %.4f", double(report.loss));
  line += part;
  if (report.gradientNorm) {
    std::snprintf(part, sizeof part, "  norm %.2f", double(*report.gradientNorm));
    line += part;
  }
  double mean = milliseconds / double(steps);
  std::snprintf(part, sizeof part, "  lr %.1e  %.*f ms  %s samples/s  input %.1f%%",
                double(report.learningRate), mean < 1 ? 3 : 1, mean,
                shortCount(double(batchSize) * 1000 / mean).c_str(),
                100 * inputMilliseconds / milliseconds);
  line += part;
  if (terminal)
    fit(line, descriptor);
  if (colours && line.starts_with('['))
    line = text("\x1b[32m", line.substr(0, barWidth + 2), "\x1b[0m",
                line.substr(std::min<size_t>(barWidth + 2, line.size())));
  write(terminal ? text('\r', line, "\x1b[K") : line + '\n');
  rewriting = terminal;
  since = now;
  steps = 0;
  milliseconds = inputMilliseconds = 0;
}

void Progress::print(const std::string &line) {
  if (quiet)
    return;
  write(text(rewriting ? "\r\x1b[K" : "", printable(line), '\n'));
  rewriting = false;
}

void Progress::warn(const std::string &message) {
  if (descriptor < 0)
    return;
  if (rewriting)
    write("\r\x1b[K");
  rewriting = false;
  std::fprintf(stderr, "warning: %s\n", printable(message).c_str());
}

void Progress::write(const std::string &bytes) const {
  // Training continues even if its output can no longer be written.
  [[maybe_unused]] ssize_t ignored = ::write(descriptor, bytes.data(), bytes.size());
}

} // namespace gradc::runtime
