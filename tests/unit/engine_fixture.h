/* A driver for the engine with fed time: it supplies memory, starts calls, takes commands off the pipelines and answers
 * them as a test likes. There is one rig per program; each case opens and closes it, and closing tells what was left.
 * SPDX-License-Identifier: Apache-2.0
 *
 *     rig_open();
 *     struct call *call = rig_acquire("orders", 1);
 *     rig_send(PIPELINE_CALLERS);
 *     rig_nil(PIPELINE_CALLERS);
 *     CHECK_EQ_INT(call->status, REDLATCH_OK);
 *     rig_end("orders", 1);
 *     RIG_CLOSE();
 *
 * The memory of a call's operation, and that of a resource, is freed as soon as the engine has no right to it any
 * more, so that a sanitizer sees a pointer that outlives it. */
#ifndef ENGINE_FIXTURE_H
#define ENGINE_FIXTURE_H

#include "routes.h"
#include "unit.h"

enum {
    RIG_LEASE_MS = 30000,
    RIG_UNREACHABLE_MS = 20000,
    RIG_CLAIM_MS = 5000,
    RIG_LINGER_MS = 3000,
    RIG_FAIR_MS = 30000
};

extern const char rig_uuid[];

/* One call of a user and what came of it. */
struct call {
    struct call *next;
    struct name_set *set;        /* of several names */
    struct operation *operation; /* NULL once it is done, unless the engine still waits for its claim */
    struct hold *hold;           /* what the owner held when it was done */
    struct lock_answer answer;
    uint64_t id;
    int64_t result;
    int status;
    int nth; /* of all calls that are done, from 1 */
    bool done;
    bool forced;
};

struct rig_handle;

struct rig {
    struct engine engine;
    struct server server;
    struct server second; /* of a cluster */
    struct server *at;    /* whose pipelines and channels the functions below are about; the first one's */
    struct server *routes[SLOT_COUNT];
    int64_t now;
    uint8_t lock_kind;    /* of the calls made; a mutex */
    uint32_t value_count; /* of a group that is named for the first time; none */
    struct call *calls;
    struct rig_handle *handles;
    struct list supplied; /* every block of memory the engine was given */
    uint32_t commands, wait_queues, holds, batches, lines;
    int done_count;
};

extern struct rig rig;

void rig_open(void);

/* The same with a cluster of two servers. The first one serves all slots, until rig.routes is changed. */
void rig_open_cluster(void);

/* Lets subscriptions linger out, gives up the names and frees everything; "nothing", or what the engine still held. */
const char *rig_close(void);
#define RIG_CLOSE() CHECK_STR(rig_close(), "nothing")

/* The resource of a name, which the rig keeps as a handle of a user would. */
struct resource *rig_name(const char *name);
struct wait_queue *rig_wait_queue(const char *name);

/* A call whose operation can still be changed, and its start. It is a blocking call without end, on PIPELINE_CALLERS.
 */
struct call *rig_call(enum operation_kind kind, const char *name, uint64_t owner);
void rig_start(struct call *call);

/* The same about several names, each of one letter. */
struct call *rig_set_call(enum operation_kind kind, const char *letters, uint64_t owner);
struct call *rig_acquire_all(const char *letters, uint64_t owner);
struct call *rig_release_all(const char *letters, uint64_t owner);

struct call *rig_acquire(const char *name, uint64_t owner);
struct call *rig_acquire_for(const char *name, uint64_t owner, int64_t lease_ms);
struct call *rig_acquire_named(const char *name, uint64_t owner); /* an owner that may have several calls at once */
struct call *rig_try(const char *name, uint64_t owner);
struct call *rig_release(const char *name, uint64_t owner);
struct call *rig_extend(const char *name, uint64_t owner, int64_t lease_ms);
void rig_abort(struct call *call, int status);
void rig_claim(struct call *call);

/* Writes the next command of a pipeline; NULL when there is none. Answers go to the oldest command written. */
struct command *rig_send(enum pipeline_role pipeline);
void rig_nil(enum pipeline_role pipeline);
void rig_integer(enum pipeline_role pipeline, int64_t value);
void rig_error(enum pipeline_role pipeline, const char *text);
void rig_granted(enum pipeline_role pipeline);                             /* of a set, without tokens */
void rig_contended(enum pipeline_role pipeline, int line, int64_t ttl_ms); /* what is in the way of a set, from 1 */
void rig_integers(enum pipeline_role pipeline, const int64_t *values, size_t count);
void rig_reply(enum pipeline_role pipeline, const struct reply *reply);

/* Answers as a driver does where acknowledgements are wanted, with so many behind it. */
void rig_acknowledged(enum pipeline_role pipeline, struct reply reply, int64_t replicas);

/* Renews whatever the background thread has to send, until it has nothing more. */
void rig_drain_background(void);

/* A broken connection, the next one, and an attempt that failed. */
void rig_lost(enum pipeline_role pipeline);
void rig_ready(enum pipeline_role pipeline, enum resolution how);
void rig_failed(enum pipeline_role pipeline, int status);

/* Carries out what the engine wants subscribed to or left; returns how many channels changed. */
int rig_subscriptions(void);
void rig_message(const char *name); /* "0" */
void rig_message_of(const char *name, int64_t number);

/* Tells the call under way on PIPELINE_CALLERS of a holder, until it is parked and subscribed. */
void rig_park(int64_t ttl_ms);

/* Fills the pools as the background thread does before it works. */
void rig_supply(void);

/* Time passes, and each timer fires when it is due. */
void rig_pass(int64_t microseconds);

/* In one go: an uncontended grant; a release answered with success; a level more. */
struct hold *rig_grant(const char *name, uint64_t owner);
struct hold *rig_grant_for(const char *name, uint64_t owner, int64_t lease_ms);
void rig_end(const char *name, uint64_t owner);

/* To be called after a call of the engine that the rig does not wrap: collects what is done, frees what is dead. */
void rig_turn(void);

/* Takes every report off a queue of losses; returns how many there were, with the reason of the last. */
int rig_losses(enum loss_queue queue, int *reason_out);

#endif
