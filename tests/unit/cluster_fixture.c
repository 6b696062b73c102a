/* A cluster of two servers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cluster_fixture.h"

void move(const char *name, struct server *to) {
    rig.routes[rig_name(name)->slot] = to;
    engine_routes_changed(&rig.engine, rig.now);
    rig_turn();
}

void reroute(struct server *from) {
    engine_reroute(&rig.engine, from, rig.now);
    rig_turn();
}

struct command *send_to(struct server *server, enum pipeline_role pipeline) {
    rig.at = server;
    return rig_send(pipeline);
}

struct command *lose(struct server *server) {
    struct command *last = NULL;
    struct command *command;
    while ((command = send_to(server, PIPELINE_CALLERS)) != NULL) {
        last = command;
    }
    rig_lost(PIPELINE_CALLERS);
    return last;
}

void end_at(struct server *server, const char *name, uint64_t owner) {
    rig.at = server;
    rig_end(name, owner);
}

struct call *parked(const char *name, uint64_t owner) {
    rig.at = first;
    struct call *call = rig_acquire(name, owner);
    rig_park(60000);
    CHECK_EQ_INT(call->operation->phase, PHASE_PARKED);
    return call;
}
