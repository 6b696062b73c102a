/* Composite operations and their subrequests: which operations are brief, and what becomes of a grant that is collected
 * late.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <unistd.h>

#include "client_lock.h"
#include "outputs.h"
#include "fake_server.h"
#include "handles.h"
#include "composite.h"
#include "records.h"
#include "redlatch.h"
#include "composite_op.h"
#include "hold_end.h"
#include "system.h"
#include "unit.h"

enum { OWNER = 5, LEASE_MS = 60000, CLAIM_MS = 30000, NAMES = 2 };

static struct fake_server server;
static redlatch_client *handle;
static redlatch_lock *names[NAMES];
static redlatch_lock *both;
static struct client *client;
static struct composite_op op;
static struct subrequest subrequest;

/* Grants every set. The release of each name reaches one subscriber. */
static const char *answer(void *context, int connection, const char *command) {
    (void)context;
    const char *greeting = fake_greeting(connection, command);
    if (greeting) {
        return greeting;
    }
    return strstr(command, "redisson_lock__channel") ? ":2\r\n" : "*1\r\n:0\r\n";
}

static void begin(void) {
    redlatch_client_options options;
    fake_open_unix(&server);
    fake_serve(&server, answer, NULL);
    CHECK_EQ_INT(redlatch_client_options_init(&options, sizeof options), REDLATCH_OK);
    options.claim_timeout_ms = CLAIM_MS;
    CHECK_EQ_INT(redlatch_client_open(server.url, &options, &handle), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_lock_new(handle, REDLATCH_MUTEX, "one", 3, NULL, &names[0]), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_lock_new(handle, REDLATCH_MUTEX, "two", 3, NULL, &names[1]), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_multi_lock_new(names, NAMES, NULL, &both), REDLATCH_OK);
    client = handle->client;
}

static void end(void) {
    redlatch_lock_free(both);
    redlatch_lock_free(names[0]);
    redlatch_lock_free(names[1]);
    redlatch_client_free(handle);
    fake_close(&server);
}

/* Starts a subrequest of `op` that acquires both names, and waits until it is granted. */
static void start_and_wait(void) {
    memset(&op, 0, sizeof op);
    op.first = client;
    struct subrequest_spec spec = {.kind = OPERATION_ACQUIRE,
                                   .set = both->composite->groups[0].set,
                                   .owner = OWNER,
                                   .named_owner = true,
                                   .lease_ms = LEASE_MS,
                                   .max_hold_ms = REDLATCH_FOREVER,
                                   .non_blocking = true,
                                   .op = &op};
    subrequest_start(&subrequest, client, &spec);
    int64_t timeout = system_now() + 10 * SECOND;
    while (!atomic_load(&op.posted) && system_now() < timeout) {
        usleep(1000);
    }
    CHECK(subrequest.active && subrequest.request.operation.phase == PHASE_DONE);
    CHECK_EQ_INT(subrequest.request.operation.status, REDLATCH_OK);
}

static struct hold *hold_of(int name) {
    return resource_hold_of(names[name]->resource, REDLATCH_MUTEX, OWNER);
}

/* One of the names is lost, the other is released because nobody claims it. Once the subrequest is collected, no hold
 * refers to its operation, so it may be freed. */
static void collected_when_a_part_is_lost_and_a_part_given_back(void) {
    begin();
    start_and_wait();
    client_lock(client);
    int64_t now = system_now();
    hold_lose(&client->engine, hold_of(0), REDLATCH_REASON_MISSING, now);
    engine_run_timers(&client->engine, now + (CLAIM_MS + 1) * MILLISECOND);
    client_finish_step(client, now);
    client_unlock(client);
    CHECK(subrequest_collect(&subrequest));
    CHECK_EQ_INT(subrequest.status, REDLATCH_UNCLAIMED);
    client_lock(client);
    for (int i = 0; i < NAMES; i++) {
        CHECK(!hold_of(i) || !hold_of(i)->claim);
    }
    client_unlock(client);
    end();
}

static bool is_brief(int64_t wait_ms) {
    struct composite_op *new = composite_op_new(both, OWNER, LEASE_MS, wait_ms, NULL);
    bool brief = new->multi.brief;
    composite_op_free(new);
    return brief;
}

/* A missing reply counts against a server if the wait was 100 ms or longer, or if the acquire does not wait. */
static void which_waits_are_brief(void) {
    begin();
    CHECK(is_brief(1) && is_brief(99));
    CHECK(!is_brief(0) && !is_brief(100) && !is_brief(REDLATCH_FOREVER));
    end();
}

int main(void) {
    RUN(which_waits_are_brief);
    RUN(collected_when_a_part_is_lost_and_a_part_given_back);
    return unit_done();
}
