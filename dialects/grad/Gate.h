// Ops that only their makers and RetypeF64 name, apart from those of Grad.h.
#ifndef DIALECTS_GRAD_GATE_H
#define DIALECTS_GRAD_GATE_H

#include "dialects/grad/Build.h"

#define GET_OP_CLASSES
#include "dialects/grad/GradGateOps.h.inc"

#endif
