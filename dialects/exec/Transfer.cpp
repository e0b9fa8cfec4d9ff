#include "dialects/exec/Transfer.h"

using namespace mlir;
using namespace mlir::exec;

#define GET_OP_CLASSES
#include "dialects/exec/ExecTransferOps.cpp.inc"
