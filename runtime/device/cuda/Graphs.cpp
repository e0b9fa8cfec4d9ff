// Captures work enqueued in a stream as a graph.
#include "runtime/device/cuda/Graphs.h"
#include "runtime/base/Text.h"

#include <algorithm>

namespace gradc::runtime::cuda {

Result<bool> Graphs::startWhole(const Schedule &schedule) {
  auto isControl = [](const Step &step) { return step.kind != Step::Kind::piece; };
  if (schedule.launches.empty() ||
      std::none_of(schedule.steps.begin(), schedule.steps.end(), isControl))
    return false;
  Unit &unit = unitOf(schedule.steps.data());
  if (!noteRows(unit, schedule.launches.front().rows) || !unit.captures)
    return false;
  auto graph = wholeOf(unit, schedule);
  if (!graph) {
    unit.captures = false;
    whyPieces = graph.status().message();
    return false;
  }
  started.push_back((*graph)->whole.get());
  Status s = started.back()->launch(launches.stream);
  return s.ok() ? Result<bool>(true) : s;
}

Status Graphs::startPiece(std::span<const Launch> piece) {
  if (piece.size() < 2)
    return startOneByOne(piece);
  Unit &unit = unitOf(piece.data());
  if (!noteRows(unit, piece.front().rows))
    return startOneByOne(piece);
  if (unit.captures) {
    auto graph = pieceOf(unit, piece);
    if (graph)
      return driver.check(driver.graphLaunch((*graph)->executable, launches.stream),
                          "cannot launch a step");
    unit.captures = false;
    whyNoGraph = graph.status().message();
  }
  return startOneByOne(piece);
}

Status Graphs::takeFailure() {
  Status failed;
  for (const ScheduleGraph *graph : started)
    if (failed.ok())
      failed = graph->failure();
  started.clear();
  return failed;
}

std::string Graphs::problem() const {
  std::string all;
  if (!whyNoGraph.empty())
    all = text("launches go one by one, not as a graph: ", whyNoGraph);
  if (!whyPieces.empty())
    appendText(all,
               text(all.empty() ? "" : "; ",
                    "the host reads conditions and counts of loops within a step: ", whyPieces));
  return all;
}

Graphs::Unit &Graphs::unitOf(const void *key) {
  auto unit = std::find_if(units.begin(), units.end(), [&](const Unit &u) { return u.key == key; });
  return unit == units.end() ? *units.insert(units.end(), Unit{key}) : *unit;
}

/// False: no run of late had these rows.
bool Graphs::noteRows(Unit &unit, int64_t rows) {
  auto known = std::find(unit.rows.begin(), unit.rows.end(), rows);
  bool isKnown = known != unit.rows.end();
  if (isKnown)
    unit.rows.erase(known);
  else if (unit.rows.size() == maxRows)
    unit.rows.pop_front();
  unit.rows.push_back(rows);
  return isKnown;
}

Status Graphs::startOneByOne(std::span<const Launch> piece) {
  for (const Launch &launch : piece)
    if (Status s = launches.enqueue(launch, launch.slices); !s.ok())
      return s;
  return {};
}

/// The graph of these slices, now the latest used; null: there is none.
Graphs::Captured *Graphs::find(Unit &unit, int64_t rows, std::span<void *const> slices) {
  auto graph = std::find_if(unit.graphs.begin(), unit.graphs.end(), [&](const Captured &graph) {
    return graph.rows == rows &&
           std::equal(slices.begin(), slices.end(), graph.slices.begin(), graph.slices.end());
  });
  if (graph == unit.graphs.end())
    return nullptr;
  unit.graphs.splice(unit.graphs.end(), unit.graphs, graph);
  return &unit.graphs.back();
}

Graphs::Captured &Graphs::add(Unit &unit, Captured graph) {
  if (unit.graphs.size() == maxGraphs) {
    release(unit.graphs.front());
    unit.graphs.pop_front();
  }
  return unit.graphs.emplace_back(std::move(graph));
}

Result<Graphs::Captured *> Graphs::wholeOf(Unit &unit, const Schedule &schedule) {
  int64_t rows = schedule.launches.front().rows;
  if (Captured *found = find(unit, rows, schedule.slices))
    return found;
  if (Status ready = control.load(); !ready.ok())
    return ready;
  auto made = ScheduleGraph::build(driver, launches, control, schedule);
  if (!made)
    return made.status();
  return &add(unit,
              {rows, {schedule.slices.begin(), schedule.slices.end()}, nullptr, std::move(*made)});
}

Result<Graphs::Captured *> Graphs::pieceOf(Unit &unit, std::span<const Launch> piece) {
  size_t count = 0;
  for (const Launch &launch : piece)
    count += launch.sliceCount;
  std::span<void *const> slices(piece.front().slices, count); // of all launches, concatenated
  int64_t rows = piece.front().rows;
  if (Captured *found = find(unit, rows, slices))
    return found;
  auto executable = capture(piece);
  if (!executable)
    return executable.status();
  return &add(unit, {rows, {slices.begin(), slices.end()}, *executable, nullptr});
}

Result<Handle> Graphs::capture(std::span<const Launch> piece) {
  Handle stream = launches.stream;
  Status s =
      driver.check(driver.streamBeginCapture(stream, captureRelaxed), "cannot capture a step");
  if (!s.ok())
    return s;
  s = startOneByOne(piece);
  Handle graph = nullptr, executable = nullptr;
  Status ended = driver.check(driver.streamEndCapture(stream, &graph), "cannot capture a step");
  if (s.ok())
    s = ended;
  if (s.ok())
    s = driver.check(driver.graphInstantiate(&executable, graph, 0), "cannot make a step's graph");
  if (graph)
    driver.graphDestroy(graph);
  if (!s.ok())
    return s;
  return executable;
}

void Graphs::forget(const Schedule &schedule) {
  const Launch *first = schedule.launches.data();
  units.remove_if([&](Unit &unit) {
    auto *launch = static_cast<const Launch *>(unit.key);
    if (unit.key != schedule.steps.data() &&
        (launch < first || launch >= first + schedule.launches.size()))
      return false;
    release(unit);
    return true;
  });
}

void Graphs::clear() {
  for (Unit &unit : units)
    release(unit);
  units.clear();
  control.close();
}

void Graphs::release(Captured &graph) {
  std::erase(started, graph.whole.get());
  graph.whole.reset();
  if (graph.executable)
    driver.graphExecDestroy(graph.executable);
}

void Graphs::release(Unit &unit) {
  for (Captured &graph : unit.graphs)
    release(graph);
}

} // namespace gradc::runtime::cuda
