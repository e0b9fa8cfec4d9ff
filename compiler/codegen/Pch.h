// The headers that nearly every file of the code generator includes, precompiled once.
#include "dialects/Pch.h"
#include "dialects/exec/Exec.h"
#include "dialects/grad/Grad.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
