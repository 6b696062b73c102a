/* Names, commands and channels of a cluster of two servers on the engine's rig.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_FIXTURE_H
#define CLUSTER_FIXTURE_H

#include "engine_fixture.h"
#include "reroute.h"

/* The first one serves all slots, until names are moved. */
static struct server *const first = &rig.server;
static struct server *const second = &rig.second;

/* Moves the slot of a name, as a driver does that has found another topology; commands are to follow. */
void move(const char *name, struct server *to);

/* Lets the commands of a server follow their names. */
void reroute(struct server *from);

/* Writes the next command of a server; answers go to it from then on. NULL: there is none. */
struct command *send_to(struct server *server, enum pipeline_role pipeline);

/* Writes all commands of a server for callers, and breaks their connection; the last one. */
struct command *lose(struct server *server);

/* An uncontended release at a server. */
void end_at(struct server *server, const char *name, uint64_t owner);

/* A waiter that was told by the first server of a holder elsewhere, and is subscribed. */
struct call *parked(const char *name, uint64_t owner);

#endif
