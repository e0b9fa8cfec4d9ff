// The memory plan, from the output of `gradc plan --json`: which tensor is where in the arena, and
// how long.
#include "tools/gradc/report/Chart.h"
#include "tools/gradc/report/Page.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <fmt/core.h>

using nlohmann::json;

namespace gradc {
using namespace runtime;

namespace {

std::string mebibytes(double bytes) { return shortNumber(bytes / 1048576) + " MiB"; }

/// Draws each tensor as a box: its place in the arena upwards, its lifetime in launches to the
/// right.
std::string arena(const json &entry) {
  constexpr double width = 560, height = 260, left = 62, right = 14, top = 12, bottom = 30;
  double bytes = entry.at("arena"), nodes = double(entry.at("nodes").size());
  auto x = [&](double node) { return left + node / nodes * (width - left - right); };
  auto y = [&](double place) { return height - bottom - place / bytes * (height - top - bottom); };
  std::string out =
      fmt::format("<figure class=\"chart\"><figcaption>{}: the arena <small>over the launches; {} "
                  "of {} at the peak</small></figcaption>\n"
                  "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"arena of {}\">\n",
                  escaped(entry.at("entry")), mebibytes(entry.at("peak").at("bytes")),
                  mebibytes(bytes), width, height, escaped(entry.at("entry")));
  for (int part = 0; part <= 4; ++part)
    out += fmt::format("<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.2f}\" y2=\"{2:.2f}\"/>"
                       "<text class=\"left\" x=\"{3}\" y=\"{4:.2f}\">{5}</text>\n",
                       left, width - right, y(bytes * part / 4), left - 6, y(bytes * part / 4) + 4,
                       mebibytes(bytes * part / 4));
  for (const json &tensor : entry.at("tensors")) {
    double begin = tensor.at("begin"), end = tensor.at("end"), first = tensor.at("first"),
           last = tensor.at("last");
    out += fmt::format(
        "<rect class=\"tensor\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\">"
        "<title>{} {}, {}, launches {} to {}</title></rect>\n",
        x(first), y(end), x(last + 1) - x(first), y(begin) - y(end), escaped(tensor.at("nodes")),
        escaped(tensor.at("type")), mebibytes(tensor.at("bytes")), first, last);
  }
  double peak = x(entry.at("peak").at("node").get<double>() + 0.5);
  return out + fmt::format("<line class=\"peak\" x1=\"{0:.2f}\" x2=\"{0:.2f}\" y1=\"{1}\" "
                           "y2=\"{2}\"/>\n<text class=\"below\" x=\"{0:.2f}\" y=\"{3}\">peak: "
                           "launch {4}</text>\n</svg></figure>\n",
                           peak, top, height - bottom, height - bottom + 18,
                           entry.at("peak").at("node").get<int64_t>());
}

/// Lists the largest tensors that are alive at the peak.
std::string atPeak(const json &entry) {
  constexpr size_t most = 12;
  int64_t peak = entry.at("peak").at("node");
  std::vector<const json *> alive;
  for (const json &tensor : entry.at("tensors"))
    if (tensor.at("first") <= peak && tensor.at("last") >= peak)
      alive.push_back(&tensor);
  auto bytes = [](const json *tensor) { return tensor->at("bytes").get<int64_t>(); };
  std::ranges::stable_sort(alive, std::ranges::greater(), bytes);
  std::string out = "<div class=\"wide\"><table class=\"alive\"><tr><th>alive at the peak<th>type"
                    "<th>memory</tr>\n";
  for (size_t i = 0; i < std::min(alive.size(), most); ++i)
    out += fmt::format("<tr><td>{}<td>{}<td>{}</tr>\n", escaped(alive[i]->at("nodes")),
                       escaped(alive[i]->at("type")), mebibytes(double(bytes(alive[i]))));
  if (alive.size() > most)
    out += fmt::format("<tr><td>and {} smaller ones<td><td></tr>\n", alive.size() - most);
  return out + "</table></div>\n";
}

std::string levelSection(const std::string &name, const json &level) {
  std::string out =
      fmt::format("<section><h2>Memory plan of {} for {}</h2>\n"
                  "<p>States take {}; the entries share one arena.</p>\n"
                  "<div class=\"wide\"><table class=\"plan\"><tr><th>entry"
                  "<th>launches<th>arena<th>alive at the peak</tr>\n",
                  escaped(name), escaped(level.at("level")), mebibytes(level.at("states")));
  std::string drawings;
  for (const json &entry : level.at("entries")) {
    out += fmt::format("<tr><td>{}<td>{}<td>{}<td>{}</tr>\n", escaped(entry.at("entry")),
                       entry.at("launches").get<int64_t>(), mebibytes(entry.at("arena")),
                       mebibytes(entry.at("peak").at("bytes")));
    if (entry.at("arena") > 0 && !entry.at("tensors").empty())
      drawings += arena(entry) + atPeak(entry);
  }
  return out + "</table></div>\n" + drawings + "</section>\n";
}

} // namespace

Result<std::string> memorySection(const std::string &name, const json &plan) {
  try {
    std::string out;
    for (const json &level : plan.at("levels"))
      out += levelSection(name, level);
    return out;
  } catch (const json::exception &) {
    return Status::error(text(name, ": expected the output of gradc plan --json"));
  }
}

} // namespace gradc
