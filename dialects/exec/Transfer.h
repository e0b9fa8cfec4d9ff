// The planned form of transfers from rank to rank.
#ifndef DIALECTS_EXEC_TRANSFER_H
#define DIALECTS_EXEC_TRANSFER_H

#include "dialects/exec/Exec.h"

#define GET_OP_CLASSES
#include "dialects/exec/ExecTransferOps.h.inc"

#endif
