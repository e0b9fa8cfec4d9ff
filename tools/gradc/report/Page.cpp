// Composes the page: runs, curves, evaluation tables, kernels, memory, notes.
#include "tools/gradc/report/Page.h"
#include "tools/gradc/report/Chart.h"

#include "llvm/ADT/STLExtras.h"
#include <fmt/core.h>
#include <set>

using nlohmann::json;

namespace gradc {

static constexpr const char *style =
#include "page.css.inc"
    ;
static constexpr const char *script =
#include "page.js.inc"
    ;

namespace {

/// The titles of the log's fields, in the page's order. Other fields are metrics and follow the
/// loss.
const std::pair<const char *, const char *> titles[] = {
    {"loss", "Loss"},
    {"", ""},
    {"lr", "Learning rate"},
    {"momentum", "Momentum"},
    {"grad_norm", "Norm of the gradients"},
    {"scale", "Scale of the loss"},
    {"skipped", "Skipped steps"},
    {"ms", "Time of a step (ms)"},
    {"input_ms", "Wait for input in a step (ms)"},
};

std::string bareName(const std::string &field) { return field.substr(0, field.find(" (")); }

/// Fields in the page's order.
std::vector<std::string> orderedFields(const std::vector<TrainingLog> &logs) {
  std::set<std::string> all;
  for (const TrainingLog &log : logs)
    for (const auto *curves : {&log.steps, &log.evaluations})
      for (const auto &[field, curve] : *curves)
        if (!curve.empty())
          all.insert(field);
  auto rank = [](const std::string &field) {
    size_t metrics = 1;
    for (size_t i = 0; i < std::size(titles); ++i)
      if (bareName(field) == titles[i].first)
        return i;
    return metrics;
  };
  std::vector<std::string> fields(all.begin(), all.end());
  llvm::sort(fields, [&](const auto &a, const auto &b) {
    return std::pair(rank(a), a) < std::pair(rank(b), b);
  });
  return fields;
}

/// Metrics are usually between 0 and 1, where a linear axis is more useful. The loss of an
/// evaluation's set is called "NAME/loss".
bool isMetric(const std::string &field) {
  return !field.ends_with("/loss") &&
         llvm::none_of(titles, [&](const auto &title) { return bareName(field) == title.first; });
}

std::string titleOf(const std::string &field) {
  for (const auto &[name, title] : titles)
    if (bareName(field) == name)
      return title + field.substr(bareName(field).size());
  return field;
}

std::string charts(const std::vector<TrainingLog> &logs) {
  std::string out = "<section><h2>Curves</h2><div class=\"charts\">\n";
  for (const std::string &field : orderedFields(logs)) {
    std::vector<ChartCurve> curves;
    for (size_t run = 0; run < logs.size(); ++run) {
      auto add = [&](const auto &from, bool isEvaluation) {
        if (auto found = from.find(field); found != from.end() && !found->second.empty())
          curves.push_back(
              {run, isEvaluation ? "evaluation " + field : field, isEvaluation, &found->second});
      };
      add(logs[run].steps, false);
      add(logs[run].evaluations, true);
    }
    bool isEvaluated =
        llvm::any_of(curves, [](const ChartCurve &curve) { return curve.isEvaluation; });
    bool isTrained =
        llvm::any_of(curves, [](const ChartCurve &curve) { return !curve.isEvaluation; });
    const char *of = !isEvaluated ? ""
                     : isTrained  ? " in training, and in evaluation (dots)"
                                  : " in evaluation";
    out += drawChart(titleOf(field) + of, curves, !isMetric(field));
  }
  return out + "</div></section>\n";
}

std::string cell(const std::string &text) { return "<td>" + escaped(text) + "</td>"; }

std::string numberCell(const json &event, const char *field) {
  return cell(event.contains(field) && event[field].is_number()
                  ? shortNumber(event[field].get<double>())
                  : "");
}

/// Also the legend: its buttons show and hide runs.
std::string runs(const std::vector<TrainingLog> &logs) {
  std::set<std::string> metrics;
  for (const TrainingLog &log : logs)
    for (const auto &[field, curve] : log.evaluations)
      metrics.insert(field);
  std::string out = "<section><h2>Runs</h2><div "
                    "class=\"wide\"><table><tr><th>run<th>level<th>steps<th>epochs<th>seconds"
                    "<th>samples/s<th>last loss";
  for (const std::string &metric : metrics)
    out += "<th>evaluation " + escaped(metric);
  out += "<th>ended</tr>\n";
  for (size_t run = 0; run < logs.size(); ++run) {
    const TrainingLog &log = logs[run];
    json done = log.done.is_null() ? json::object() : log.done;
    json start = log.start.is_null() ? json::object() : log.start;
    out += fmt::format(
        "<tr><td><button class=\"run{}\" data-run=\"{}\" aria-pressed=\"true\">{}</button></td>",
        run % 8, run, escaped(log.name));
    out += cell(start.value("level", "")) + cell(std::to_string(log.lastStep()));
    for (const char *field : {"epochs", "seconds", "samples_per_second", "last_loss"})
      out += numberCell(done, field);
    for (const std::string &metric : metrics) {
      auto found = log.evaluations.find(metric);
      bool isThere = found != log.evaluations.end() && !found->second.empty();
      out += cell(isThere ? shortNumber(found->second.back().value) : "");
    }
    out += cell(done.value("reason", "goes on")) + "</tr>\n";
  }
  return out + "</table></div></section>\n";
}

/// Rows are labels, columns are predictions; the shade is the share of the row.
std::string confusion(const std::string &run, const std::string &metric, const json &rows) {
  std::string out = fmt::format("<figure class=\"matrix\"><figcaption>{}: {}</figcaption><table>\n",
                                escaped(run), escaped(metric));
  for (const json &row : rows) {
    double sum = 0;
    for (const json &count : row)
      sum += count.get<double>();
    out += "<tr>";
    for (const json &count : row)
      out +=
          fmt::format("<td style=\"--share:{:.3f}\">{}</td>",
                      sum > 0 ? count.get<double>() / sum : 0.0, shortNumber(count.get<double>()));
    out += "</tr>\n";
  }
  return out + "</table></figure>\n";
}

std::string tables(const std::vector<TrainingLog> &logs) {
  std::string out;
  for (const TrainingLog &log : logs)
    for (const auto &[metric, rows] : log.tables)
      out += confusion(log.name, metric, rows);
  return out.empty() ? ""
                     : "<section><h2>Last evaluation: labels (rows) and predictions (columns)</h2>"
                       "<div class=\"matrices\">\n" +
                           out + "</div></section>\n";
}

std::string notes(const std::vector<TrainingLog> &logs) {
  std::string out;
  for (const TrainingLog &log : logs)
    for (const LogNote &note : log.notes)
      out += "<tr>" + cell(log.name) + cell(note.step ? std::to_string(note.step) : "") +
             cell(note.text) + "</tr>\n";
  return out.empty() ? ""
                     : "<section><h2>Notes</h2><div class=\"wide\"><table "
                       "class=\"notes\"><tr><th>run<th>step<th>note</tr>\n" +
                           out + "</table></div></section>\n";
}

} // namespace

runtime::Result<std::string> reportPage(const std::vector<TrainingLog> &logs,
                                        const std::vector<NamedJson> &benches,
                                        const std::vector<NamedJson> &plans) {
  std::string body = runs(logs) + charts(logs) + tables(logs);
  for (auto [files, makeSection] :
       {std::pair(&benches, &benchSection), std::pair(&plans, &memorySection)})
    for (const auto &[name, content] : *files) {
      auto section = makeSection(name, content);
      if (!section)
        return section.status();
      body += *section;
    }
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
         escaped(logs.front().name) +
         (logs.size() > 1 ? fmt::format(" and {} more", logs.size() - 1) : "") +
         " - training report</title>\n<style>\n" + style +
         "</style></head>\n<body><h1>Training report</h1>\n" + body + notes(logs) + "<script>\n" +
         script + "</script></body></html>\n";
}

} // namespace gradc
