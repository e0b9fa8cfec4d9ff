// Scales, ticks and polylines of a chart.
#include "tools/gradc/report/Chart.h"

#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <fmt/core.h>
#include <limits>

namespace gradc {

namespace {

constexpr double width = 560, height = 260, left = 62, right = 14, top = 12, bottom = 30;
constexpr size_t mostPoints = 1200;

/// Maps values to positions on the page.
struct Axis {
  double low, high;
  double begin, end; ///< on the page
  bool isLog = false;

  double place(double value) const {
    auto scaled = [&](double number) { return isLog ? std::log10(number) : number; };
    double share = (scaled(value) - scaled(low)) / (scaled(high) - scaled(low));
    return begin + share * (end - begin);
  }
};

/// About `count` round numbers: 1, 2, or 5 times a power of ten.
std::vector<double> ticks(const Axis &axis, int count) {
  std::vector<double> result;
  if (axis.isLog) {
    int first = int(std::ceil(std::log10(axis.low) - 1e-9)),
        last = int(std::floor(std::log10(axis.high) + 1e-9));
    int stride = std::max(1, (last - first) / count + 1);
    for (int power = first; power <= last; power += stride)
      result.push_back(std::pow(10.0, power));
    if (result.size() < 2)
      result = {axis.low, std::sqrt(axis.low * axis.high), axis.high};
    return result;
  }
  double rough = (axis.high - axis.low) / count,
         power = std::pow(10, std::floor(std::log10(rough)));
  double step = power * (rough / power > 5   ? 10
                         : rough / power > 2 ? 5
                         : rough / power > 1 ? 2
                                             : 1);
  // Far from 0, a step may be too small to change a number.
  for (double tick = std::ceil(axis.low / step - 1e-9) * step;
       tick <= axis.high + step * 1e-9 && int(result.size()) <= count; tick += step)
    result.push_back(std::abs(tick) < step * 1e-9 ? 0 : tick);
  return result;
}

Axis valueAxis(const std::vector<ChartCurve> &curves, bool mayBeLog) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const ChartCurve &curve : curves)
    for (const CurvePoint &point : *curve.points) {
      low = std::min(low, point.value);
      high = std::max(high, point.value);
    }
  Axis axis = {low, high, height - bottom, top, mayBeLog && low > 0 && high / low > 30};
  if (high - low <= 1e-9 * std::max(std::abs(low), std::abs(high))) { // all values look equal
    axis.low -= std::max(std::abs(low) / 10, 1e-9);
    axis.high += std::max(std::abs(high) / 10, 1e-9);
  }
  return axis;
}

/// The first point, the last one, and the minimum and maximum of each stretch in between.
Curve thinned(const Curve &curve) {
  if (curve.size() <= mostPoints)
    return curve;
  Curve result = {curve.front()};
  size_t stretches = mostPoints / 2;
  auto byValue = [](const CurvePoint &a, const CurvePoint &b) { return a.value < b.value; };
  for (size_t i = 0; i < stretches; ++i) {
    auto begin = curve.begin() + long(1 + i * (curve.size() - 2) / stretches);
    auto end = curve.begin() + long(1 + (i + 1) * (curve.size() - 2) / stretches);
    auto [least, largest] = std::minmax_element(begin, end, byValue);
    result.push_back(*std::min(least, largest));
    if (least != largest)
      result.push_back(*std::max(least, largest));
  }
  result.push_back(curve.back());
  return result;
}

/// Moving means over a fiftieth of the curve, which make the line readable.
Curve averaged(const Curve &curve) {
  Curve result;
  size_t stretch = std::max<size_t>(curve.size() / 50, 1);
  for (size_t begin = 0; begin < curve.size(); begin += stretch) {
    double sum = 0;
    size_t end = std::min(begin + stretch, curve.size());
    for (size_t i = begin; i < end; ++i)
      sum += curve[i].value;
    result.push_back({curve[(begin + end - 1) / 2].step, sum / double(end - begin)});
  }
  return result;
}

std::string places(const Curve &curve, const Axis &x, const Axis &y) {
  std::string out;
  for (const CurvePoint &point : curve)
    out += fmt::format("{}{:.2f},{:.2f}", out.empty() ? "" : " ", x.place(double(point.step)),
                       y.place(point.value));
  return out;
}

std::string draw(const ChartCurve &curve, const Axis &x, const Axis &y) {
  Curve shown = thinned(*curve.points);
  std::string data, out;
  for (const CurvePoint &point : shown)
    data += fmt::format("{}{},{}", data.empty() ? "" : " ", point.step, point.value);
  bool isNoisy = !curve.isEvaluation && shown.size() > 100;
  out +=
      fmt::format("<polyline class=\"curve run{}{}{}\" data-run=\"{}\" data-name=\"{}\" "
                  "data-points=\"{}\" points=\"{}\"/>\n",
                  curve.run % 8, curve.isEvaluation ? " evaluation" : "", isNoisy ? " noisy" : "",
                  curve.run, escaped(curve.name), data, places(shown, x, y));
  if (isNoisy)
    out += fmt::format("<polyline class=\"mean run{}\" data-run=\"{}\" points=\"{}\"/>\n",
                       curve.run % 8, curve.run, places(averaged(*curve.points), x, y));
  if (shown.size() <= (curve.isEvaluation ? 60 : 1))
    for (const CurvePoint &point : shown)
      out += fmt::format(
          "<circle class=\"run{}\" data-run=\"{}\" cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"2.5\"/>\n",
          curve.run % 8, curve.run, x.place(double(point.step)), y.place(point.value));
  return out;
}

} // namespace

std::string escaped(const std::string &text) {
  std::string out;
  for (char c : text)
    out += c == '&'   ? "&amp;"
           : c == '<' ? "&lt;"
           : c == '>' ? "&gt;"
           : c == '"' ? "&quot;"
                      : std::string(1, c);
  return out;
}

std::string shortNumber(double value) {
  double magnitude = std::abs(value);
  if (magnitude >= 1e4 && magnitude < 1e6)
    return fmt::format("{:.4g}k", value / 1e3);
  if (magnitude >= 1e6 && magnitude < 1e9)
    return fmt::format("{:.4g}M", value / 1e6);
  return fmt::format("{:.4g}", value);
}

std::string drawChart(const std::string &title, const std::vector<ChartCurve> &curves,
                      bool mayBeLog) {
  int64_t first = std::numeric_limits<int64_t>::max(), last = 0;
  for (const ChartCurve &curve : curves) {
    first = std::min(first, curve.points->front().step);
    last = std::max(last, curve.points->back().step);
  }
  Axis x = {double(first), double(std::max(last, first + 1)), left, width - right},
       y = valueAxis(curves, mayBeLog);
  std::string out = fmt::format("<figure class=\"chart\"><figcaption>{}{}</figcaption>\n<svg "
                                "viewBox=\"0 0 {} {}\" role=\"img\" "
                                "aria-label=\"{}\" data-x=\"{},{},{},{}\">\n",
                                escaped(title), y.isLog ? " <small>logarithmic</small>" : "", width,
                                height, escaped(title), x.low, x.high, x.begin, x.end);
  for (double tick : ticks(y, 5))
    out += fmt::format("<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.2f}\" y2=\"{2:.2f}\"/>"
                       "<text x=\"{3}\" y=\"{4:.2f}\" class=\"left\">{5}</text>\n",
                       left, width - right, y.place(tick), left - 6, y.place(tick) + 4,
                       shortNumber(tick));
  for (double tick : ticks(x, 6))
    out +=
        fmt::format("<line class=\"grid\" x1=\"{0:.2f}\" x2=\"{0:.2f}\" y1=\"{1}\" y2=\"{2}\"/>"
                    "<text x=\"{0:.2f}\" y=\"{3}\" class=\"below\">{4}</text>\n",
                    x.place(tick), top, height - bottom, height - bottom + 18, shortNumber(tick));
  for (const ChartCurve &curve : curves)
    out += draw(curve, x, y);
  return out + fmt::format("<line class=\"cursor\" y1=\"{}\" y2=\"{}\"/>\n</svg></figure>\n", top,
                           height - bottom);
}

} // namespace gradc
