// The headers that nearly every pass includes, precompiled once.
#include "dialects/Pch.h"
#include "dialects/exec/Exec.h"
#include "dialects/grad/Grad.h"
