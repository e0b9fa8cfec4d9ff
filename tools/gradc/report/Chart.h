// Draws curves over steps as SVG.
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

/// A figure with axes, grid, and curves. The vertical axis is logarithmic if all values are above 0
/// and span more than a factor of 30. Curves with many points are thinned to the extremes of each
/// stretch of steps. The `data-points` of each curve contains the points drawn, "STEP,VALUE ...".
std::string drawChart(const std::string &title, const std::vector<ChartCurve> &curves,
                      bool mayBeLog);

/// For text and attributes in HTML.
std::string escaped(const std::string &text);

/// At most four digits: "12.5k", "3e-05".
std::string shortNumber(double value);

} // namespace gradc

#endif
