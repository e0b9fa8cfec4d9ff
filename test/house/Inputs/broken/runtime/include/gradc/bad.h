#include "runtime/core/Status.h"
