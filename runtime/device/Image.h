// Kernel code loaded into this process from memory.
#ifndef RUNTIME_DEVICE_IMAGE_H
#define RUNTIME_DEVICE_IMAGE_H

#include "runtime/device/Device.h"

namespace gradc::runtime {

/// Opens an ELF shared object in memory and leaves no file behind.
Result<std::unique_ptr<Image>> openElfImage(std::span<const std::byte> code);

} // namespace gradc::runtime

#endif
