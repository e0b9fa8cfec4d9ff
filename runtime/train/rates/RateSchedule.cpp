// The schedules as factors of the optimizer's rate, in closed form: a rate only depends on the
// count, so a resume needs no state.
#include "runtime/train/rates/RateSchedule.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <ranges>

namespace gradc::runtime {

namespace {

using Shape = std::function<double(double count)>;

/// Moves from `from` to `to` along a cosine as `part` goes from 0 to 1.
double alongCosine(double from, double to, double part) {
  return to + (from - to) / 2 * (1 + std::cos(std::numbers::pi * part));
}
double alongLine(double from, double to, double part) { return from + (to - from) * part; }

Shape constant(Config kind, double) {
  double factor = kind.real("factor", 1);
  return [=](double) { return factor; };
}

Shape linear(Config kind, double length) {
  double start = kind.real("start", 0), end = kind.real("end", 1);
  return [=](double count) { return alongLine(start, end, std::min(count / length, 1.0)); };
}

Shape step(Config kind, double) {
  double size = kind.real("size", 1), factor = kind.real("factor", 0.1);
  return [=](double count) { return std::pow(factor, std::floor(count / size)); };
}

Shape piecewise(Config kind, double) {
  struct Milestone {
    double count, factor;
  };
  std::vector<Config> factors = kind.children("factor");
  std::vector<Milestone> milestones;
  for (Config milestone : kind.children("milestone")) {
    size_t i = factors.size() > 1 ? milestones.size() : 0;
    milestones.push_back({milestone.real(0), i < factors.size() ? factors[i].real(1) : 0.1});
  }
  return [milestones = std::move(milestones)](double count) {
    double factor = 1;
    for (const Milestone &milestone : milestones)
      factor *= count >= milestone.count ? milestone.factor : 1;
    return factor;
  };
}

Shape exponential(Config kind, double) {
  double factor = kind.real("factor", 1);
  return [=](double count) { return std::pow(factor, count); };
}

Shape polynomial(Config kind, double length) {
  double power = kind.real("power", 1), end = kind.real("end", 0);
  return [=](double count) {
    return end + (1 - end) * std::pow(1 - std::min(count / length, 1.0), power);
  };
}

Shape cosine(Config kind, double length) {
  double end = kind.real("end", 0), growth = kind.real("growth", 1);
  if (!kind.boolean("restarts", false))
    return [=](double count) { return alongCosine(1, end, std::min(count / length, 1.0)); };
  return [=](double count) {
    double at = count, period = length;
    if (growth > 1)
      for (; at >= period; period *= growth)
        at -= period;
    else
      at = std::fmod(at, period);
    return alongCosine(1, end, at / period);
  };
}

/// The phases of the cycle: begins at `start`, reaches `peak` together with the rate, and then goes
/// to `end`.
Shape oneCycle(Config kind, double length, double start, double peak, double end) {
  struct Phase {
    double last, from, to; ///< `last`: the count at which it is `to`
  };
  double rise = kind.real("rise", 0.3);
  std::vector<Phase> phases = {{rise * length - 1, start, peak}};
  if (kind.boolean("three_phases", false)) {
    phases.push_back({2 * rise * length - 2, peak, start});
    phases.push_back({length - 1, start, end});
  } else {
    phases.push_back({length - 1, peak, end});
  }
  auto along = kind.boolean("linear", false) ? alongLine : alongCosine;
  return [=](double count) {
    double first = 0;
    for (const Phase &phase : phases) {
      if (count <= phase.last)
        return along(phase.from, phase.to,
                     phase.last > first ? (count - first) / (phase.last - first) : 1.0);
      first = phase.last;
    }
    return phases.back().to;
  };
}

Shape oneCycleRate(Config kind, double length) {
  double start = 1 / kind.real("initial_divisor", 25);
  return oneCycle(kind, length, start, 1, start / kind.real("final_divisor", 1e4));
}

Shape oneCycleMomentum(Config kind, double length) {
  double most = kind.real("max_momentum", 0.95);
  return oneCycle(kind, length, most, kind.real("base_momentum", 0.85), most);
}

/// Cycles from `base` to 1 and back, each half as high as the one before, or ever lower.
Shape cyclic(Config kind, double) {
  double base = kind.real("base", 0), factor = kind.real("factor", 1);
  double up = kind.real("up", 2000), down = kind.real("down", up);
  bool halves = kind.string("mode") == "TRIANGULAR2";
  return [=](double count) {
    double cycle = std::floor(count / (up + down)), at = count - cycle * (up + down);
    double height = at <= up ? at / up : (up + down - at) / down;
    double scale = halves ? std::pow(0.5, cycle) : std::pow(factor, count);
    return base + (1 - base) * height * scale;
  };
}

Shape shapeIn(Config block, double whole);

Shape sequence(Config kind, double length) {
  struct Part {
    double begin;
    Shape shape;
  };
  std::vector<Part> parts;
  double begin = 0;
  for (Config part : kind.children("part")) {
    double end = part.real("until", length);
    parts.push_back({begin, shapeIn(part, end - begin)});
    begin = end;
  }
  return [parts = std::move(parts)](double count) {
    for (const Part &part : std::views::reverse(parts))
      if (part.shape && count >= part.begin)
        return part.shape(count - part.begin);
    return 1.0;
  };
}

struct Kind {
  std::string_view name;
  Shape (*make)(Config kind, double length);
};

constexpr Kind kinds[] = {
    {"constant", constant},   {"linear", linear},           {"step", step},
    {"piecewise", piecewise}, {"exponential", exponential}, {"polynomial", polynomial},
    {"cosine", cosine},       {"one_cycle", oneCycleRate},  {"cyclic", cyclic},
    {"sequence", sequence}};

/// The length of a schedule of this kind, by default that of the whole.
double lengthOf(Config kind, double whole) { return std::max(1.0, kind.real("length", whole)); }

/// The shape of the block's kind; empty if it has none.
Shape shapeIn(Config block, double whole) {
  Shape shape;
  for (Config child : block.children())
    for (const Kind &kind : kinds)
      if (kind.name == child.name())
        shape = kind.make(child, lengthOf(child, whole));
  return shape;
}

/// For example "cosine (end 0.1, restarts)".
std::string describeBlock(Config block) {
  std::string fields;
  for (Config field : block.children()) {
    std::string separator = fields.empty() ? "" : ", ";
    if (double number = field.real(NAN); !std::isnan(number))
      fields += text(separator, field.name(), ' ', number);
    else if (!field.string().empty())
      fields += text(separator, field.name(), ' ', field.string());
    else if (block.boolean(field.name(), false))
      fields += text(separator, field.name());
  }
  return fields.empty() ? std::string(block.name()) : text(block.name(), " (", fields, ')');
}

/// The same, and of a sequence for example "linear (start 0.1) until 5, then cosine".
std::string describeKind(Config kind) {
  std::string parts;
  for (Config part : kind.children("part")) {
    parts += parts.empty() ? "" : ", then ";
    for (Config child : part.children())
      if (child.name() != "until")
        parts += describeBlock(child);
    if (int64_t until = part.integer("until", 0))
      appendText(parts, " until ", until);
  }
  return parts.empty() ? describeBlock(kind) : parts;
}

} // namespace

RateSchedule::RateSchedule(Config schedule, double rate, Run run)
    : base(rate), byEpochs(schedule.string("unit") == "EPOCHS") {
  Config warmUp = schedule.child("warm_up");
  warmUpSteps = warmUp.integer("steps", 0);
  warmUpFactor = warmUp.real("factor", 0);
  auto whole = double(byEpochs ? run.epochs : run.steps - warmUpSteps);
  shape = shapeIn(schedule, whole);
  for (Config child : schedule.children()) {
    if (child.name() == "reduce_on_plateau")
      thePlateau.emplace(child, rate);
    if (child.boolean("cycle_momentum", false))
      momentumOf = oneCycleMomentum(child, lengthOf(child, whole));
  }
}

double RateSchedule::rate(int64_t steps, int64_t epochs) const {
  double rate = base;
  if (steps < warmUpSteps)
    rate *= alongLine(warmUpFactor, 1, double(steps) / double(warmUpSteps));
  if (shape)
    rate *= shape(count(steps, epochs));
  return thePlateau ? rate * thePlateau->factor() : rate;
}

std::optional<double> RateSchedule::momentum(int64_t steps, int64_t epochs) const {
  return momentumOf ? std::optional(momentumOf(count(steps, epochs))) : std::nullopt;
}

double RateSchedule::count(int64_t steps, int64_t epochs) const {
  return double(byEpochs ? epochs : std::max<int64_t>(0, steps - warmUpSteps));
}

std::string RateSchedule::describe(Config schedule, double rate) {
  std::string kind = "constant", warmUp;
  for (Config child : schedule.children())
    if (child.name() == "warm_up")
      warmUp = text(describeBlock(child), ", then ");
    else if (child.name() != "unit")
      kind = describeKind(child);
  return text(rate, ", ", warmUp, kind, schedule.string("unit") == "EPOCHS" ? " by epochs" : "");
}

} // namespace gradc::runtime
