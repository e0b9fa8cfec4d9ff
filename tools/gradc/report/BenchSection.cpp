// The kernel table with roofline and memory, from the output of `gradc bench --json`.
#include "tools/gradc/report/Chart.h"
#include "tools/gradc/report/Page.h"

#include "runtime/base/Text.h"

#include <cmath>
#include <fmt/core.h>

using nlohmann::json;

namespace gradc {
using namespace runtime;

namespace {

struct Peak {
  std::string what;
  double flops;
};

/// The peaks that kernels are compared with, the highest last: that of 8-bit integers only if a
/// kernel multiplies them.
std::vector<Peak> peaksOf(const json &bench) {
  std::vector<Peak> peaks = {{"floats", bench.at("machine").at("flops").at("all_threads")}};
  for (const json &kernel : bench.at("kernels"))
    if (kernel.value("of_int8s", false)) {
      peaks.push_back({"8-bit integers", bench.at("machine").at("int8_flops").at("all_threads")});
      break;
    }
  if (peaks.front().flops > peaks.back().flops)
    std::swap(peaks.front(), peaks.back());
  return peaks;
}

/// A plot of each kernel's rate over its work per byte, below the machine's limits.
std::string roofline(const json &bench) {
  constexpr double width = 560, height = 260, left = 62, right = 14, top = 12, bottom = 34;
  std::vector<Peak> peaks = peaksOf(bench);
  double peak = peaks.back().flops, bandwidth = bench.at("machine").at("bytes").at("all_threads");
  auto x = [&](double perByte) {
    return left + (std::log10(perByte) + 2) / 5 * (width - left - right);
  };
  auto y = [&](double flops) {
    return top + (std::log10(peak) + 0.2 - std::log10(flops)) / 5.2 * (height - top - bottom);
  };
  std::string out = fmt::format(
      "<figure class=\"chart\"><figcaption>Roofline: GFLOP/s over FLOP per byte <small>logarithmic"
      "</small></figcaption>\n<svg viewBox=\"0 0 {} {}\" role=\"img\">\n",
      width, height);
  for (int power = -2; power <= 3; ++power)
    out += fmt::format("<line class=\"grid\" x1=\"{0:.2f}\" x2=\"{0:.2f}\" y1=\"{1}\" "
                       "y2=\"{2}\"/><text class=\"below\" "
                       "x=\"{0:.2f}\" y=\"{3}\">{4:g}</text>\n",
                       x(std::pow(10, power)), top, height - bottom, height - bottom + 18,
                       std::pow(10, power));
  for (double flops = std::pow(10, std::floor(std::log10(peak))); flops > peak / 1.2e5; flops /= 10)
    out += fmt::format("<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.2f}\" "
                       "y2=\"{2:.2f}\"/><text class=\"left\" "
                       "x=\"{3}\" y=\"{4:.2f}\">{5}</text>\n",
                       left, width - right, y(flops), left - 6, y(flops) + 4,
                       shortNumber(flops / 1e9));
  for (const auto &[what, flops] : peaks)
    out += fmt::format("<polyline class=\"roof\" points=\"{:.2f},{:.2f} {:.2f},{:.2f} "
                       "{:.2f},{:.2f}\"><title>peak of {}: {} GFLOP/s</title></polyline>\n",
                       x(0.01), y(bandwidth * 0.01), x(flops / bandwidth), y(flops), x(1000),
                       y(flops), what, shortNumber(flops / 1e9));
  for (const json &kernel : bench.at("kernels")) {
    double flops = kernel.at("flops"), bytes = kernel.at("bytes"),
           rate = flops / (kernel.at("ms").get<double>() / 1e3);
    if (flops <= 0 || bytes <= 0 || rate < peak / 1.5e5)
      continue;
    out += fmt::format("<circle class=\"kernel\" cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"4\"><title>{}: {} "
                       "GFLOP/s</title></circle>\n",
                       x(std::clamp(flops / bytes, 0.01, 1000.0)), y(std::min(rate, peak * 1.5)),
                       escaped(kernel.at("kernel")), shortNumber(rate / 1e9));
  }
  return out + "</svg></figure>\n";
}

std::string kernelTable(const json &bench) {
  double all = 0;
  for (const json &kernel : bench.at("kernels"))
    all += kernel.at("ms").get<double>();
  std::string out = "<div class=\"wide\"><table "
                    "class=\"kernels\"><tr><th>kernel<th>nodes<th>ms<th>share<th>GFLOP/s<th>GB/s"
                    "<th>of the roof</tr>\n";
  for (const json &kernel : bench.at("kernels")) {
    double ms = kernel.at("ms"), flops = kernel.at("flops"), bytes = kernel.at("bytes"),
           roof = kernel.at("roof");
    double share = all > 0 ? ms / all : 0;
    out += fmt::format(
        "<tr><td>{}<td>{}<td>{}<td class=\"bar\" style=\"--share:{:.4f}\">{:.1f} %<td>{}<td>{}"
        "<td class=\"bar\" style=\"--share:{:.4f}\">{:.0f} %</tr>\n",
        escaped(kernel.at("kernel")), escaped(kernel.at("nodes")), shortNumber(ms), share,
        100 * share, flops > 0 ? shortNumber(flops / ms / 1e6) : "", shortNumber(bytes / ms / 1e6),
        std::min(roof, 1.0), 100 * roof);
  }
  return out + "</table></div>\n";
}

std::string memory(const json &bench) {
  const json &memory = bench.at("memory");
  double states = memory.at("states"), arena = memory.at("arena"), peak = memory.at("peak");
  double rest = std::max(peak - states - arena, 0.0), all = states + arena + rest;
  std::string out = "<h3>Memory</h3><div class=\"stack\">";
  for (const auto &[what, bytes] :
       {std::pair("states", states), std::pair("results of a step", arena),
        std::pair("program, code and batches", rest)})
    out += fmt::format("<div style=\"flex:{:.4f}\" title=\"{}: {} bytes\"><b>{}</b> {} MiB</div>",
                       bytes / all, what, int64_t(bytes), what, shortNumber(bytes / 1048576));
  return out + "</div>\n";
}

} // namespace

Result<std::string> benchSection(const std::string &name, const json &bench) {
  try {
    return fmt::format("<section><h2>Kernels of {} in {}</h2>\n<p>{} on {}: a step takes {} ms "
                       "(median; {} to {} from the "
                       "first tenth to the last), {} GFLOP/s, {} threads.</p>\n",
                       escaped(bench.at("entry")), escaped(name),
                       escaped("batch " + bench.at("batch").dump()), escaped(bench.at("level")),
                       shortNumber(bench.at("ms").at("median")),
                       shortNumber(bench.at("ms").at("p10")), shortNumber(bench.at("ms").at("p90")),
                       shortNumber(bench.at("gflops")), escaped(bench.at("threads").dump())) +
           roofline(bench) + kernelTable(bench) + memory(bench) + "</section>\n";
  } catch (const json::exception &) {
    return Status::error(text(name, ": expected the output of gradc bench --json for a step"));
  }
}

} // namespace gradc
