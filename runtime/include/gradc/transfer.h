/* Values that one rank gives to another: the nodes of schedules that only the stages of a pipeline have.
 *
 * A transfer is a node of kind GRADC_NODE_COLLECTIVE that involves two ranks. A send reads its one slice, a
 * receive writes its one slice. It has no cuts, and travels as it is. */
#ifndef GRADC_TRANSFER_H
#define GRADC_TRANSFER_H

#include "artifact.h"

/* Kinds beside those of gradc_collective_kind. */
#define GRADC_TRANSFER_SEND 3u
#define GRADC_TRANSFER_RECEIVE 4u

#define GRADC_MAX_TRANSFERS 0x3fff /* numbers of the transfers of an entry are below */

/* In the name of an entry, before the number of a stage: "train.stage.K" is what rank K runs in place of "train". */
#define GRADC_STAGE_INFIX ".stage."

/* `zeros` of a transfer holds the other rank and the number that both halves have. */
#define gradc_transfer_zeros(peer, number) ((uint64_t)(number) << 32 | (uint32_t)(peer))
#define gradc_transfer_peer(zeros) ((uint32_t)(zeros))
#define gradc_transfer_number(zeros) ((uint32_t)((zeros) >> 32))

#endif
