/* Names, commands and channels of a cluster of two servers on the engine's rig.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_FIXTURE_H
#define CLUSTER_FIXTURE_H

#include "engine_fixture.h"
#include "reroute.h"

/* `first` serves all slots until names are moved. */
static struct server *const first = &rig.server;
static struct server *const second = &rig.second;

/* Moves the slot of a name to a server, as a driver does after the topology changed. Commands follow at reroute. */
void move(const char *name, struct server *to);

/* Lets the commands of a server follow their names. */
void reroute(struct server *from);

/* Writes the next command to a server. From then on the rig's replies come from that server. Returns NULL if there is
 * no command. */
struct command *send_to(struct server *server, enum pipeline_role pipeline);

/* Writes all commands to a server on the pipeline of callers, and breaks its connection. Returns the last command. */
struct command *lose(struct server *server);

/* An uncontended release at a server. */
void end_at(struct server *server, const char *name, uint64_t owner);

/* Returns a parked waiter with a subscription. The first server has replied that others hold the lock. */
struct call *parked(const char *name, uint64_t owner);

#endif
