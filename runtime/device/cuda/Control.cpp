// Finds the kernels of ControlKernels.cu in their image.
#include "runtime/device/cuda/Control.h"
#include "runtime/base/Text.h"
#include "runtime/device/cuda/ControlImage.h"

namespace gradc::runtime::cuda {

Status Control::load() {
  if (!tried)
    loaded = loadOnce();
  tried = true;
  return loaded;
}

Status Control::loadOnce() {
  if (!driver.hasConditionalNodes())
    return Status::error(text("conditions in graphs need a driver for CUDA 12.4 or newer, found ",
                              driver.versionText()));
  const void *image = controlImage();
  if (!image)
    return Status::error("this program was built without nvcc and nvlink, which compile the "
                         "kernels that set conditions");
  Status s = driver.check(driver.moduleLoadData(&module, image),
                          "cannot load the kernels that set conditions");
  for (auto [kernel, name] :
       {std::pair(&beginLoop, "gradc_begin_loop"),
        std::pair(&nextIteration, "gradc_next_iteration"), std::pair(&branch, "gradc_branch"),
        std::pair(&guard, "gradc_guard"), std::pair(&copy, "gradc_copy")})
    if (s.ok())
      s = driver.check(driver.moduleGetFunction(kernel, module, name),
                       "cannot find a kernel that sets conditions");
  return s;
}

void Control::close() {
  if (module)
    driver.moduleUnload(module);
  module = nullptr;
}

} // namespace gradc::runtime::cuda
