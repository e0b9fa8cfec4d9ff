// Work enqueued while a stream captures becomes a graph.
#include "runtime/device/cuda/Graphs.h"

#include <algorithm>

namespace gradc::runtime::cuda {

Status Graphs::start(std::span<const Launch> launches, Handle stream) {
  if (launches.size() < 2)
    return startOneByOne(launches);
  auto entry = std::find_if(entries.begin(), entries.end(),
                            [&](const Entry &e) { return e.launches == launches.data(); });
  if (entry == entries.end()) {
    entries.push_back({launches.data()});
    return startOneByOne(launches);
  }
  if (entry->captures) {
    auto graph = graphOf(*entry, launches, stream);
    if (graph)
      return driver.check(driver.graphLaunch(*graph, stream), "cannot launch a step");
    entry->captures = false;
    whyNot = graph.status().message();
  }
  return startOneByOne(launches);
}

Status Graphs::startOneByOne(std::span<const Launch> launches) {
  for (const Launch &launch : launches)
    if (Status s = enqueue(launch); !s.ok())
      return s;
  return {};
}

Result<Handle> Graphs::graphOf(Entry &entry, std::span<const Launch> launches, Handle stream) {
  size_t count = 0;
  for (const Launch &launch : launches)
    count += launch.sliceCount;
  std::span<void *const> slices(launches.front().slices, count); // of all launches, concatenated
  for (const Captured &graph : entry.graphs)
    if (std::equal(slices.begin(), slices.end(), graph.slices.begin()))
      return graph.executable;
  auto executable = capture(launches, stream);
  if (!executable)
    return executable;
  if (entry.graphs.size() == 2) {
    driver.graphExecDestroy(entry.graphs.front().executable);
    entry.graphs.pop_front();
  }
  entry.graphs.push_back({{slices.begin(), slices.end()}, *executable});
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
  entries.remove_if([&](const Entry &entry) {
    if (entry.launches != launches.data())
      return false;
    for (const Captured &graph : entry.graphs)
      driver.graphExecDestroy(graph.executable);
    return true;
  });
}

void Graphs::clear() {
  while (!entries.empty())
    forget({entries.front().launches, 0});
}

} // namespace gradc::runtime::cuda
