// Reads the watched parameters after a step, and logs a line for each.
#include "runtime/train/report/ParameterWatch.h"

#include "runtime/base/DataType.h"
#include "runtime/base/ShortFloats.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fnmatch.h>

namespace gradc::runtime {

/// The square root of the sum of squares.
static double normOf(std::span<const float> values) {
  double sum = 0;
  for (float value : values)
    sum += double(value) * double(value);
  return std::sqrt(sum);
}

namespace {
/// Counts of finite values in bins of equal width between the minimum and the maximum.
struct Histogram {
  double least = 0, largest = 0;
  std::vector<double> counts;
};
} // namespace

static Histogram histogramOf(std::span<const float> values, size_t bins) {
  Histogram histogram{INFINITY, -INFINITY, std::vector<double>(bins)};
  for (float value : values)
    if (std::isfinite(value)) {
      histogram.least = std::min(histogram.least, double(value));
      histogram.largest = std::max(histogram.largest, double(value));
    }
  double range = histogram.largest - histogram.least;
  for (float value : values)
    if (std::isfinite(value)) {
      double at = range > 0 ? (double(value) - histogram.least) / range * double(bins) : 0;
      ++histogram.counts[std::min(size_t(at), bins - 1)];
    }
  return histogram;
}

ParameterWatch::ParameterWatch(Session &session, Config job) : session(&session) {
  for (Config config : job.children("watch")) {
    Block block{{},
                config.boolean("gradients", true),
                config.boolean("weights", true),
                config.integer("every", 100),
                config.integer("histogram_bins", 0)};
    for (Config pattern : config.children("pattern"))
      block.patterns.emplace_back(pattern.string());
    blocks.push_back(std::move(block));
  }
}

bool ParameterWatch::Block::matches(const std::string &parameter) const {
  return patterns.empty() || std::ranges::any_of(patterns, [&](const std::string &pattern) {
           return pattern == parameter || fnmatch(pattern.c_str(), parameter.c_str(), 0) == 0;
         });
}

bool ParameterWatch::isDue(int64_t step) const {
  return std::ranges::any_of(blocks, [&](const Block &block) { return step % block.every == 0; });
}

/// Adds "weight_norm" and, with bins, "weight_least", "weight_largest", and "weight_histogram".
static void add(LogLine &line, std::string_view what, std::span<const float> values, int64_t bins) {
  line.real(text(what, "_norm"), normOf(values));
  if (!bins)
    return;
  Histogram histogram = histogramOf(values, size_t(bins));
  line.real(text(what, "_least"), histogram.least)
      .real(text(what, "_largest"), histogram.largest)
      .reals(text(what, "_histogram"), histogram.counts);
}

/// The values of a state of floats, as f32.
static Result<std::vector<float>> readFloats(Session &session, uint32_t number) {
  const gradc_artifact_tensor &tensor = session.artifact().states()[number].tensor;
  std::vector<std::byte> bytes(tensor.bytes);
  if (Status status = session.readState(number, bytes.data()); !status.ok())
    return status;
  std::vector<float> values(tensor.bytes / findDataType(tensor.dtype)->bytes);
  if (tensor.dtype == GRADC_F64) {
    std::vector<double> wide(values.size());
    std::memcpy(wide.data(), bytes.data(), bytes.size());
    std::ranges::copy(wide, values.begin());
  } else if (isShortFloat(tensor.dtype)) {
    widenFloats(gradc_dtype(tensor.dtype), bytes, reinterpret_cast<std::byte *>(values.data()));
  } else {
    std::memcpy(values.data(), bytes.data(), bytes.size());
  }
  return values;
}

Status ParameterWatch::observe(int64_t step, std::string_view block, const EntryCall *gradients,
                               Log &log) const {
  const Artifact &artifact = session->artifact();
  for (uint32_t i = 0; i < artifact.states().size(); ++i) {
    const gradc_artifact_state &state = artifact.states()[i];
    if (state.kind != GRADC_STATE_PARAMETER)
      continue;
    std::string name(artifact.string(state.tensor.name));
    std::span<const EntryCall::Gradient> all;
    if (gradients)
      all = gradients->gradients();
    auto gradient = std::ranges::find(all, std::string_view(name), &EntryCall::Gradient::parameter);
    for (const Block &watch : blocks) {
      bool showsGradient = watch.gradients && gradient != all.end();
      if (step % watch.every || !watch.matches(name) || (!watch.weights && !showsGradient))
        continue;
      LogLine line = log.line("watch");
      line.integer("step", step);
      if (!block.empty())
        line.string("entry", block);
      line.string("parameter", name);
      if (watch.weights) {
        auto values = readFloats(*session, i);
        if (!values)
          return values.status();
        add(line, "weight", *values, watch.bins);
      }
      if (showsGradient)
        add(line, "gradient", gradient->values, watch.bins);
    }
  }
  return {};
}

} // namespace gradc::runtime
