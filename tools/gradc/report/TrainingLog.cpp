// Reads a log line by line; unknown fields are metrics.
#include "tools/gradc/report/TrainingLog.h"

#include "runtime/base/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <set>

using nlohmann::json;

namespace gradc {
using namespace runtime;

namespace {

/// Fields of an event that are not curves.
constexpr llvm::StringLiteral places[] = {"event", "step", "epoch", "epoch_step", "epoch_steps"};

void addNumbers(std::map<std::string, Curve> &curves, const json &event, llvm::StringRef suffix) {
  for (const auto &[field, value] : event.items())
    if (value.is_number() && !llvm::is_contained(places, llvm::StringRef(field)))
      curves[field + suffix.str()].push_back(
          {event.value("step", int64_t(0)), value.get<double>()});
}

void dropAfter(std::map<std::string, Curve> &curves, int64_t step) {
  for (auto &[name, curve] : curves)
    llvm::erase_if(curve, [=](const CurvePoint &point) { return point.step > step; });
}

void addNote(TrainingLog &log, const json &event) {
  std::string kind = event["event"], text = event.value("message", "");
  if (kind == "plateau")
    text = "learning rate times " + json(event.value("factor", 0.0)).dump() + ", on a plateau";
  else if (kind == "thaw")
    text = "from here on " + event.value("groups", "") + " train, too";
  else if (kind == "resume")
    text = "resumed";
  else if (kind == "skipped")
    text = "step skipped: gradients are not finite at this scale of the loss";
  log.notes.push_back({event.value("step", int64_t(0)), text});
}

/// Reads rows with an equal number of counts; throws on anything else.
void addTable(TrainingLog &log, const std::string &field, const json &rows) {
  for (const json &row : rows)
    for (const json &count : row.get_ref<const json::array_t &>())
      (void)count.get<double>();
  log.tables[field] = rows;
}

void add(TrainingLog &log, const json &event) {
  std::string kind = event["event"];
  std::string entry = event.value("entry", "");
  if (kind == "step") {
    addNumbers(log.steps, event, entry.empty() ? "" : " (" + entry + ")");
  } else if (kind == "eval") {
    addNumbers(log.evaluations, event, "");
    for (const auto &[field, value] : event.items())
      if (value.is_array())
        addTable(log, field, value);
  } else if (kind == "watch") {
    std::map<std::string, Curve> curves;
    addNumbers(curves, event, "");
    for (const auto &[field, curve] : curves)
      llvm::append_range(log.watched[event.value("parameter", "") + " " + field], curve);
  } else if (kind == "start") {
    (void)event.value("level", "");
    log.start = event;
  } else if (kind == "done") {
    (void)event.value("reason", "");
    log.done = event;
  } else if (kind == "resume") {
    (void)event.value("level", "");
    for (auto *curves : {&log.steps, &log.evaluations, &log.watched})
      dropAfter(*curves, event.value("step", int64_t(0)));
    if (log.start.is_null())
      log.start = event;
    addNote(log, event);
  } else if (llvm::is_contained({"warning", "skip", "plateau", "thaw", "skipped", "nonfinite"},
                                kind)) {
    addNote(log, event);
  }
}

} // namespace

int64_t TrainingLog::lastStep() const {
  int64_t last = 0;
  for (const auto *curves : {&steps, &evaluations})
    for (const auto &[name, curve] : *curves)
      last = std::max(last, curve.empty() ? 0 : curve.back().step);
  return last;
}

Result<TrainingLog> readTrainingLog(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return Status::error(text("cannot read ", path, ": ", file.getError().message()));
  TrainingLog log;
  log.path = path;
  llvm::StringRef rest = (*file)->getBuffer();
  for (int64_t number = 1; !rest.empty(); ++number) {
    bool isWhole = rest.contains('\n');
    auto [line, after] = rest.split('\n');
    rest = after;
    json event = json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
    bool isEvent = event.is_object() && event.contains("event") && event["event"].is_string() &&
                   (!event.contains("step") || event["step"].is_number_integer());
    if (!isEvent && !isWhole && number > 1)
      break;
    if (!isEvent)
      return Status::error(text(path, ":", number,
                                ": expected an object with an \"event\", as the option --log of a "
                                "training writes them, found '",
                                line.take_front(60).str(), line.size() > 60 ? "..." : "", '\''));
    try {
      add(log, event);
    } catch (const json::exception &) {
      return Status::error(text(path, ":", number, ": this \"", event["event"].get<std::string>(),
                                "\" has a field of another type than a training writes"));
    }
  }
  if (log.lastStep() == 0)
    return Status::error(text(path, ": expected the log of a training, found no step in it"));
  return log;
}

/// The last `parts` components of a path; the file extension is included only if it distinguishes
/// runs.
static std::string endOf(llvm::StringRef path, size_t parts, bool hasExtension) {
  llvm::SmallVector<llvm::StringRef> all;
  path.split(all, '/', -1, /*KeepEmpty=*/false);
  std::string name = llvm::join(llvm::ArrayRef(all).take_back(parts), "/");
  llvm::StringRef extension = llvm::sys::path::extension(all.back());
  if (!hasExtension && extension != all.back())
    name.resize(name.size() - extension.size());
  return name;
}

Status nameRuns(std::vector<TrainingLog> &logs) {
  std::vector<std::string> paths;
  for (const TrainingLog &log : logs) {
    llvm::SmallString<128> path(log.path);
    (void)llvm::sys::fs::make_absolute(path);
    llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
    if (llvm::is_contained(paths, path.str()))
      return Status(Code::usage, text('\'', log.path, "' is given twice"));
    paths.emplace_back(path);
  }
  for (size_t parts = 1;; ++parts)
    for (bool hasExtension : {false, true}) {
      std::set<std::string> names;
      for (size_t i = 0; i < logs.size(); ++i)
        names.insert(logs[i].name = endOf(paths[i], parts, hasExtension));
      if (names.size() == logs.size())
        return {};
    }
}

} // namespace gradc
