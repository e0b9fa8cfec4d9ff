// Curves over steps as a drawing in SVG.
#ifndef TOOLS_GRADC_REPORT_CHART_H
#define TOOLS_GRADC_REPORT_CHART_H

#include "tools/gradc/report/TrainingLog.h"

namespace gradc {

struct ChartCurve {
  size_t run; ///< its color and its place in the legend
  std::string name;
  bool isEvaluation; ///< few points, drawn with dots
  const Curve *points;
};

/// A figure with axes, grid and curves. The vertical axis is logarithmic where values are above 0
/// and span more than a factor of 30. Curves of many points are thinned to the extremes of each
/// stretch of steps. Each curve's `data-points` has what is drawn, "STEP,VALUE ...".
std::string drawChart(const std::string &title, const std::vector<ChartCurve> &curves,
                      bool mayBeLog);

/// For text and for attributes of HTML.
std::string escaped(const std::string &text);

/// Four digits at most, "12.5k", "3e-05".
std::string shortNumber(double value);

} // namespace gradc

#endif
