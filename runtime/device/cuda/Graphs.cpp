// Captures work enqueued in a stream as a graph.
#include "runtime/device/cuda/Graphs.h"

#include <algorithm>

namespace gradc::runtime::cuda {

Status Graphs::start(std::span<const Launch> launches, Handle stream) {
  if (launches.size() < 2)
    return startOneByOne(launches);
  auto piece = std::find_if(pieces.begin(), pieces.end(),
                            [&](const Piece &p) { return p.launches == launches.data(); });
  if (piece == pieces.end())
    piece = pieces.insert(pieces.end(), {launches.data()});
  if (!noteRows(*piece, launches.front().rows))
    return startOneByOne(launches);
  if (piece->captures) {
    auto graph = graphOf(*piece, launches, stream);
    if (graph)
      return driver.check(driver.graphLaunch(*graph, stream), "cannot launch a step");
    piece->captures = false;
    whyNot = graph.status().message();
  }
  return startOneByOne(launches);
}

/// False: no run of late had these rows.
bool Graphs::noteRows(Piece &piece, int64_t rows) {
  auto known = std::find(piece.rows.begin(), piece.rows.end(), rows);
  bool isKnown = known != piece.rows.end();
  if (isKnown)
    piece.rows.erase(known);
  else if (piece.rows.size() == maxRows)
    piece.rows.pop_front();
  piece.rows.push_back(rows);
  return isKnown;
}

Status Graphs::startOneByOne(std::span<const Launch> launches) {
  for (const Launch &launch : launches)
    if (Status s = enqueue(launch, launch.slices); !s.ok())
      return s;
  return {};
}

Result<Handle> Graphs::graphOf(Piece &piece, std::span<const Launch> launches, Handle stream) {
  size_t count = 0;
  for (const Launch &launch : launches)
    count += launch.sliceCount;
  std::span<void *const> slices(launches.front().slices, count); // of all launches, concatenated
  int64_t rows = launches.front().rows;
  for (auto graph = piece.graphs.begin(); graph != piece.graphs.end(); ++graph)
    if (graph->rows == rows && std::equal(slices.begin(), slices.end(), graph->slices.begin())) {
      piece.graphs.splice(piece.graphs.end(), piece.graphs, graph);
      return graph->executable;
    }
  auto executable = capture(launches, stream);
  if (!executable)
    return executable;
  if (piece.graphs.size() == maxGraphs) {
    driver.graphExecDestroy(piece.graphs.front().executable);
    piece.graphs.pop_front();
  }
  piece.graphs.push_back({rows, {slices.begin(), slices.end()}, *executable});
  return executable;
}

Result<Handle> Graphs::capture(std::span<const Launch> launches, Handle stream) {
  // A library may load code at any time, which only a relaxed capture permits.
  Status s =
      driver.check(driver.streamBeginCapture(stream, 2 /*relaxed*/), "cannot capture a step");
  if (!s.ok())
    return s;
  s = startOneByOne(launches);
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

void Graphs::forget(std::span<const Launch> launches) {
  pieces.remove_if([&](const Piece &piece) {
    if (piece.launches < launches.data() || piece.launches >= launches.data() + launches.size())
      return false;
    release(piece);
    return true;
  });
}

void Graphs::clear() {
  for (const Piece &piece : pieces)
    release(piece);
  pieces.clear();
}

void Graphs::release(const Piece &piece) {
  for (const Captured &graph : piece.graphs)
    driver.graphExecDestroy(graph.executable);
}

} // namespace gradc::runtime::cuda
