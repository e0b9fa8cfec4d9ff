// The parts of a walk that do not run at every launch.
#include "runtime/device/Schedule.h"
#include "runtime/base/Text.h"

#include <cstring>

using namespace gradc::runtime;

Status ScheduleWalk::tooManyIterations(const Step &step, int64_t trips) {
  return Status::error(text("the loop of node ", step.node, " counts ", trips,
                            " iterations, expected at most ", step.trips));
}

int64_t gradc::runtime::numberIn(const void *bytes, uint32_t size) {
  int64_t wide = 0;
  int32_t narrow = 0;
  switch (size) {
  case 1:
    return *static_cast<const unsigned char *>(bytes);
  case sizeof narrow:
    std::memcpy(&narrow, bytes, sizeof narrow);
    return narrow;
  default:
    std::memcpy(&wide, bytes, sizeof wide);
    return wide;
  }
}
