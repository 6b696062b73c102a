/* The simulated Redis server: a model of its keys, on which the real scripts run, its clock, its outages, its
 * connections.
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
    struct keyspace *snapshot; /* the data that a crash may go back to */
    struct drift_clock clock;
    bool up;
    int64_t paused_until;
    uint64_t run; /* number of the start, as the run id */
    uint64_t last_connection_id;
    bool knows[SCRIPT_COUNT];
    enum server_outage outage;
    int64_t outage_until;
    bool outage_in_script; /* refuses at the first write in a script, not before the script */
    int64_t doubling_until;
    int64_t late_renewals_until;
};

void server_start(struct world *world);
void server_free(struct model_server *server);

/* Serves one request and answers it. */
void server_serve(struct world *world, struct connection *connection, const struct request *request);

/* Ends the process with all its connections. `data` is what it has after its restart; the server owns it from now
 * on. */
void server_crash(struct world *world, struct keyspace *data);
void server_restart(struct world *world);

/* Sets the model's clock to the current time. */
void server_touch(struct world *world);

/* Returns the true time at which a key is gone that expires at `at_ms`. */
int64_t server_expiry(const struct model_server *server, int64_t at_ms);

/* Publishes the message that a lock is free. Returns the number of receivers. */
int server_publish(struct world *world, uint32_t name, int64_t message);

#endif
