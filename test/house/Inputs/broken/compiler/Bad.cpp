#include "runtime/core/Session.h"
#include "runtime/include/gradc/artifact.h" // allowed
