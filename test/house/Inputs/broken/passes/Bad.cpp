#include "runtime/include/gradc/roles.h" // allowed
#include "runtime/include/gradc/artifact.h"
