// Constructors and registration of every pass, generated from Passes.td.
#ifndef PASSES_PASSES_H
#define PASSES_PASSES_H

#include "dialects/Pch.h"
#include "dialects/exec/Exec.h"

namespace gradc {

#define GEN_PASS_DECL
#include "passes/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

} // namespace gradc

#endif
