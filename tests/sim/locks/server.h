/* The simulated Redis server: a model of its keys under the real scripts, its clock, its troubles, its connections.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_SERVER_H
#define SIM_SERVER_H

#include "sim_connection.h"
#include "drift_clock.h"
#include "script_set.h"

enum server_outage {
    OUTAGE_NONE,
    OUTAGE_LOADING,
    OUTAGE_BUSY,
    OUTAGE_MEMORY,
    OUTAGE_MISCONF,
    OUTAGE_READ_ONLY,
    OUTAGE_PUBLISH
};

struct model_server {
    struct keyspace *keyspace;
    struct keyspace *snapshot; /* what a crash may fall back to */
    struct drift_clock clock;
    bool up;
    int64_t paused_until;
    uint64_t run; /* changes with each start */
    uint64_t last_connection_id;
    bool knows[SCRIPT_COUNT];
    enum server_outage outage;
    int64_t outage_until;
    bool outage_in_script; /* refused at the first write instead of before */
    int64_t doubling_until;
    int64_t late_renewals_until;
};

void server_start(struct world *world);
void server_free(struct model_server *server);

/* Carries out one request and answers it. */
void server_serve(struct world *world, struct connection *connection, const struct request *request);

/* The process ends, with all its connections; what it finds when it comes back is `data`, which it owns now. */
void server_crash(struct world *world, struct keyspace *data);
void server_restart(struct world *world);

/* Sets the model's clock to the present. */
void server_touch(struct world *world);

/* The true time at which a key that expires at `at_ms` is gone. */
int64_t server_expiry(const struct model_server *server, int64_t at_ms);

/* The message that a lock is free, to whoever hears it; returns how many. */
int server_publish(struct world *world, uint32_t name, int64_t message);

#endif
