/* Which coverage points and planted faults a kind of lock cannot have. The simulation does not expect them of it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef KIND_LIMITS_H
#define KIND_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "coverage.h"
#include "planted.h"

/* Returns whether locks of this kind (enum redlatch_kind) cannot reach a point. */
bool kind_cannot_reach(uint8_t lock_kind, enum cover_point point);

/* Returns whether a planted fault of the machines makes no difference to locks of this kind. */
bool kind_cannot_have(uint8_t lock_kind, enum planted_fault fault);

/* Returns whether a planted fault of the machines makes a difference to locks of this kind in the simulation of
 * failovers. */
bool failover_can_have(uint8_t lock_kind, enum planted_fault fault);

/* The same for the simulation of a cluster, and whether that plays a kind. */
bool cluster_can_have(uint8_t lock_kind, enum planted_fault fault);
bool kind_clusters(uint8_t kind);

/* Returns whether a kind is only a number on the server, without holders. */
bool kind_is_number(uint8_t kind);

#endif
