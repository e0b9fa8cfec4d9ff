// Asks the devices, the GPU first, which levels they execute.
#include "runtime/core/Placement.h"
#include "runtime/core/Text.h"

using namespace gradc;

namespace {

/// The level asked for, or the highest one that the device executes.
Result<const gradc_artifact_level *> chooseLevel(const Artifact &artifact, const Device &device,
                                                 const std::string &wanted) {
  const gradc_artifact_level *chosen = nullptr;
  std::string offered;
  bool known = false;
  for (const gradc_artifact_level &level : artifact.levels()) {
    std::string_view name = artifact.string(level.name);
    offered += text(offered.empty() ? "" : ", ", name);
    known = known || name == wanted;
    if ((wanted.empty() || name == wanted) && device.executes(name))
      chosen = &level;
  }
  if (chosen)
    return chosen;
  std::string has = "the artifact has code for " + (offered.empty() ? "no level" : offered);
  if (!wanted.empty() && !known)
    return Status(Code::usage, text("unknown level ", wanted, ": ", has));
  return Status::error(text((wanted.empty() ? has : "cannot run level " + wanted),
                            "; this machine offers ", device.describe()));
}

bool isCuda(std::string_view level) { return level.starts_with("cuda:"); }

} // namespace

Result<Placement> gradc::placeSession(const Artifact &artifact, const SessionOptions &options) {
  bool cuda = false, cpu = false;
  for (const gradc_artifact_level &level : artifact.levels())
    (isCuda(artifact.string(level.name)) ? cuda : cpu) = true;
  Placement placed;
  if (cuda && (options.level.empty() || isCuda(options.level))) {
    auto device = createCudaDevice();
    Status failure = device.status();
    if (device) {
      auto level = chooseLevel(artifact, **device, options.level);
      failure = level.status();
      if (level) {
        placed = {std::move(*device), *level, ""};
        placed.note = text("runs on ", placed.device->describe());
        return placed;
      }
    }
    if (!cpu || !options.level.empty())
      return Status(failure.code() == Code::usage ? Code::usage : Code::doesNotFit,
                    failure.message());
    placed.note = text("the GPU is not used: ", failure.message());
  }
  auto host = createHostDevice(options.threads);
  if (!host)
    return host.status();
  auto level = chooseLevel(artifact, **host, options.level);
  if (!level)
    return level.status();
  placed.device = std::move(*host);
  placed.level = *level;
  return placed;
}
