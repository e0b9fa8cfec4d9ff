#include "mlir/IR/Value.h"
#include "compiler/Pipeline.h"
#include "runtime/core/Session.h" // allowed
