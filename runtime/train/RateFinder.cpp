// The sweep over rates, its curve, and the rate suggested by the curve.
#include "runtime/train/RateFinder.h"

#include "runtime/base/AtomicFile.h"
#include "runtime/base/Text.h"
#include "runtime/train/Trainer.h"
#include "runtime/train/report/Log.h"
#include "runtime/train/report/Progress.h"

#include <algorithm>
#include <cmath>

namespace gradc::runtime {

static constexpr int64_t defaultSteps = 100;
/// The decay of the mean that smooths the losses.
static constexpr double decay = 0.9;
/// The sweep ends when the smoothed loss has risen from the best one by this multiple of the
/// losses' size: that of the best one, but at least this part of the first one's.
static constexpr double tooMuch = 3;
static constexpr double nearZero = 0.1;

bool hasExploded(double smoothed, double best, double first) {
  double size = std::max(std::abs(best), nearZero * std::abs(first));
  return !std::isfinite(smoothed) || smoothed > best + tooMuch * size;
}

const RatePoint *steepest(std::span<const RatePoint> curve) {
  const RatePoint *found = nullptr;
  double least = 0;
  for (size_t i = std::max<size_t>(curve.size() / 10, 1); i + 1 < curve.size(); ++i) {
    double slope = (curve[i + 1].smoothed - curve[i - 1].smoothed) /
                   std::log(curve[i + 1].rate / curve[i - 1].rate);
    if (slope < least) {
      least = slope;
      found = &curve[i];
    }
  }
  return found;
}

/// Comma-separated values, or JSON lines if the file name ends in .jsonl.
static std::string curveText(const std::string &path, std::span<const RatePoint> curve) {
  bool isJson = path.ends_with(".jsonl");
  std::string out = isJson ? "" : "step,learning_rate,loss,smoothed\n";
  for (size_t i = 0; i < curve.size(); ++i) {
    const auto &[rate, loss, smoothed] = curve[i];
    auto step = int64_t(i + 1);
    if (isJson)
      LogLine(out, "rate")
          .integer("step", step)
          .real("lr", rate)
          .real("loss", float(loss))
          .real("smoothed", smoothed);
    else
      out += text(step, ',', rate, ',', float(loss), ',', smoothed, '\n');
  }
  return out;
}

static Status writeCurve(const std::string &path, std::span<const RatePoint> curve) {
  std::string written = curveText(path, curve);
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(written)));
  return file.commit();
}

Result<TrainSummary> findLearningRate(std::shared_ptr<const Artifact> artifact,
                                      const TrainOptions &options) {
  if (Config::job(*artifact).child("train"))
    return Status(
        Code::usage,
        "option '--find-learning-rate' follows one loss over its rates, but the job has train "
        "blocks, each with its own");
  TrainOptions sweep = options;
  int64_t steps = options.steps.value_or(defaultSteps);
  sweep.steps = steps;
  auto [low, high] = options.rateRange.value_or(std::pair(1e-7, 10.));
  sweep.rateOfStep = [=](int64_t done) {
    return low * std::pow(high / low, double(done) / double(std::max<int64_t>(steps - 1, 1)));
  };
  if (Status status = AtomicFile::check(options.findRate); !status.ok())
    return status;

  std::vector<RatePoint> curve;
  double mean = 0, best = INFINITY;
  sweep.onStep = [&](const StepReport &report) {
    mean = decay * mean + (1 - decay) * double(report.loss);
    double smoothed = mean / (1 - std::pow(decay, double(report.step)));
    curve.push_back({sweep.rateOfStep(report.step - 1), double(report.loss), smoothed});
    best = std::min(best, smoothed);
    return !hasExploded(smoothed, best, curve.front().loss);
  };
  auto summary = train(std::move(artifact), sweep);
  if (!summary)
    return summary;
  if (Status status = writeCurve(options.findRate, curve); !status.ok())
    return status;
  const RatePoint *found = steepest(curve);
  Progress(/*descriptor=*/1, options.quiet, steps, 1)
      .print(text("wrote the losses of ", curve.size(), " learning rates from ", low, " to ",
                  curve.empty() ? low : curve.back().rate, " to '", options.findRate, "'; ",
                  found ? text("the loss falls most steeply at ", float(found->rate))
                        : std::string("the loss falls nowhere")));
  return summary;
}

} // namespace gradc::runtime
