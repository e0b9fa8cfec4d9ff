#include "dialects/grad/Transfer.h"

using namespace mlir;
using namespace mlir::grad;

#define GET_OP_CLASSES
#include "dialects/grad/GradTransferOps.cpp.inc"
