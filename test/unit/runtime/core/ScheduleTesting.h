// Schedules with control flow written by hand, in an artifact with one entry, "walk".
#ifndef TEST_UNIT_RUNTIME_CORE_SCHEDULETESTING_H
#define TEST_UNIT_RUNTIME_CORE_SCHEDULETESTING_H

#include "runtime/core/Session.h"
#include "test/unit/runtime/ArtifactBuilder.h"

#include <memory>

namespace gradc::runtime::test {

/// The elements of a row, and of what a launch of `addNumbers` adds.
constexpr int columns = 16;
constexpr uint64_t rowBytes = columns * sizeof(float);
/// The kernels: the sum of two rows, and whether the first element of a row is above 0.
enum ScheduleKernel : uint32_t { addNumbers, isPositive };

gradc_artifact_slice sliceAt(gradc_space space, uint32_t index, uint64_t bytes = rowBytes,
                             gradc_dtype dtype = GRADC_F32);

struct ScheduleNodes {
  using Slices = std::vector<gradc_artifact_slice>;
  using Strides = std::vector<std::vector<int64_t>>; ///< of each slice; those left out have none

  gradc_artifact_node &add(gradc_node_kind kind, uint32_t end, Slices slices, uint32_t operands,
                           Strides strides = {});

  std::vector<gradc_artifact_node> nodes;
  std::vector<Slices> slices;   ///< of each node
  std::vector<Strides> strides; ///< of each node
};

/// Nodes are named "n0", "n1", and so on.
class ScheduleWriter : public ArtifactBuilder {
public:
  gradc_artifact_port input(const char *name, gradc_dtype dtype, std::vector<int64_t> shape);
  gradc_artifact_port output(const char *name, std::vector<int64_t> shape, uint32_t index);
  Bytes write(ScheduleNodes all, const std::vector<gradc_artifact_port> &inputs,
              const std::vector<gradc_artifact_port> &outputs);

private:
  gradc_artifact_kernel kernel(const char *symbol, int64_t units);
};

/// What opening the artifact says about the entry, or "".
std::string errorOfSchedule(const Bytes &blob);

struct LoadedSchedule {
  LoadedSchedule(Bytes artifact, int threads);
  const gradc_artifact_entry &entry() const { return *session->findEntry("walk"); }

  Bytes blob; ///< which the session reads
  std::unique_ptr<Session> session;
};

/// A node and its iterations: "3[1,0] ".
std::string pathText(const LaunchPath &path);

} // namespace gradc::runtime::test

#endif
