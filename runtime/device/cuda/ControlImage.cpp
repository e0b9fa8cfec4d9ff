// Includes the fatbin in the program's constants. GRADC_CONTROL_IMAGE: its path, from CMake.
#include "runtime/device/cuda/ControlImage.h"

#ifdef GRADC_CONTROL_IMAGE
asm(".pushsection .rodata.gradc_control_image, \"a\", @progbits\n"
    ".balign 64\n"
    ".hidden gradc_control_image\n"
    ".globl gradc_control_image\n"
    "gradc_control_image:\n"
    ".incbin \"" GRADC_CONTROL_IMAGE "\"\n"
    ".popsection\n");
extern "C" __attribute__((visibility("hidden"))) const unsigned char gradc_control_image[];
const void *gradc::runtime::cuda::controlImage() { return gradc_control_image; }
#else
const void *gradc::runtime::cuda::controlImage() { return nullptr; }
#endif
