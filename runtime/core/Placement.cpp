// Asks the devices which levels they execute, starting with the GPU.
#include "runtime/core/Placement.h"
#include "runtime/base/Text.h"

using namespace gradc::runtime;

namespace {

/// The requested level, or the highest one that the device executes.
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

Result<Placement> gradc::runtime::placeOnHost(const Artifact &artifact,
                                              const SessionOptions &options,
                                              const std::string &whyNotGpu) {
  std::string note = whyNotGpu.empty() ? "" : "the GPU is not used: " + whyNotGpu;
  auto host = createHostDevice(options.threads, options.ranks ? options.ranks->pages() : nullptr);
  if (!host)
    return host.status();
  auto level = chooseLevel(artifact, **host, options.level);
  if (!level)
    return Status(level.status().code(),
                  text(level.status().message(), note.empty() ? "" : "; ", note));
  return Placement{std::move(*host), *level, std::move(note)};
}

Result<Placement> gradc::runtime::placeSession(const Artifact &artifact,
                                               const SessionOptions &options) {
  bool cuda = false, cpu = false;
  for (const gradc_artifact_level &level : artifact.levels())
    (isCuda(artifact.string(level.name)) ? cuda : cpu) = true;
  if (!cuda || (!options.level.empty() && !isCuda(options.level)))
    return placeOnHost(artifact, options);
  auto device = createCudaDevice ? createCudaDevice()
                                 : Status(Code::doesNotFit, "this program was linked without GPUs");
  Status failure = device.status();
  bool hasInstead = cpu && options.level.empty();
  if (device) {
    auto level = chooseLevel(artifact, **device, options.level);
    failure = level.status();
    if (level) {
      std::string note = text("runs on ", (*device)->describe());
      return Placement{std::move(*device), *level, std::move(note), hasInstead};
    }
  }
  if (hasInstead)
    return placeOnHost(artifact, options, failure.message());
  return Status(failure.code() == Code::usage ? Code::usage : Code::doesNotFit, failure.message());
}
