/* The rig: a driver for the engine whose time a test sets. The rig allocates the engine's records, starts calls, takes
 * commands off the pipelines and replies to them. There is one rig per program. Each case opens and closes it, and
 * closing reports what was left.
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
 * The memory of an operation, or of a resource, is freed as soon as the engine may not use it any more, so that a
 * sanitizer notices a pointer that outlives it. */
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

/* One call of a user, and its result. */
struct call {
    struct call *next;
    struct name_set *set;        /* the names, if there are several */
    struct operation *operation; /* NULL once it is done, unless the engine still waits for its claim */
    struct hold *hold;           /* the owner's hold when the call was done; NULL: none */
    struct lock_answer answer;
    uint64_t id;
    int64_t result;
    int status;
    int nth; /* its number among the calls that are done, from 1 */
    bool done;
    bool forced;
};

struct rig_handle;

struct rig {
    struct engine engine;
    struct server server;
    struct server second; /* the second server of a cluster */
    struct server *at;    /* the server that the functions below are about; at first `server` */
    struct server *routes[SLOT_COUNT];
    int64_t now;
    uint8_t lock_kind;    /* of new calls; at first a mutex */
    uint32_t value_count; /* of groups that are named for the first time; at first 0 */
    struct call *calls;
    struct rig_handle *handles;
    struct list supplied; /* every block of memory that the engine was given */
    uint32_t commands, wait_queues, holds, batches, lines;
    int done_count;
};

extern struct rig rig;

void rig_open(void);

/* The same with a cluster of two servers. The first one serves all slots, until rig.routes is changed. */
void rig_open_cluster(void);

/* Lets subscriptions end after their linger time, drops the names and frees everything. Returns "nothing", or a
 * name for something that the engine still had. */
const char *rig_close(void);
#define RIG_CLOSE() CHECK_STR(rig_close(), "nothing")

/* Returns the resource of a name. The rig keeps a reference to it, as a user's handle would. */
struct resource *rig_name(const char *name);
struct wait_queue *rig_wait_queue(const char *name);

/* rig_call makes a call, whose operation can be changed before rig_start starts it. It is a blocking call without a
 * deadline, on PIPELINE_CALLERS. */
struct call *rig_call(enum operation_kind kind, const char *name, uint64_t owner);
void rig_start(struct call *call);

/* The same for several names of one letter each. rig_acquire_all and rig_release_all also start the call. */
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

/* Writes the next command of a pipeline. Returns NULL if there is none. The functions below reply to the oldest command
 * written. */
struct command *rig_send(enum pipeline_role pipeline);
void rig_nil(enum pipeline_role pipeline);
void rig_integer(enum pipeline_role pipeline, int64_t value);
void rig_error(enum pipeline_role pipeline, const char *text);
void rig_granted(enum pipeline_role pipeline);                             /* a set is granted, without tokens */
void rig_contended(enum pipeline_role pipeline, int line, int64_t ttl_ms); /* of a set: which name is held, from 1 */
void rig_integers(enum pipeline_role pipeline, const int64_t *values, size_t count);
void rig_reply(enum pipeline_role pipeline, const struct reply *reply);

/* Replies as a driver does if acknowledgements are wanted. `replicas` replicas acknowledge the command. */
void rig_acknowledged(enum pipeline_role pipeline, struct reply reply, int64_t replicas);

/* Writes the commands of the background thread and replies to them as to renewals, until there are no more. */
void rig_drain_background(void);

/* Report a broken connection, a new connection, and a failed attempt to connect. */
void rig_lost(enum pipeline_role pipeline);
void rig_ready(enum pipeline_role pipeline, enum resolution how);
void rig_failed(enum pipeline_role pipeline, int status);

/* Confirms all channels that the engine wants subscribed to or left. Returns how many there were. */
int rig_subscriptions(void);
void rig_message(const char *name); /* a message with the number 0 */
void rig_message_of(const char *name, int64_t number);

/* Replies to the call on PIPELINE_CALLERS that others hold the lock, until the call is parked and subscribed. */
void rig_park(int64_t ttl_ms);

/* Fills the pools as the background thread does before it works. */
void rig_supply(void);

/* Lets time pass. Each timer runs when it is due. */
void rig_pass(int64_t microseconds);

/* An uncontended acquire, and a release, from the start of the call to the reply of success. */
struct hold *rig_grant(const char *name, uint64_t owner);
struct hold *rig_grant_for(const char *name, uint64_t owner, int64_t lease_ms);
void rig_end(const char *name, uint64_t owner);

/* Collects finished calls and frees dead resources. To be called after engine functions that the rig does not wrap. */
void rig_turn(void);

/* Takes all holds off a queue of losses. Returns how many there were. *reason_out is set to the reason of the last;
 * `reason_out` may be NULL. */
int rig_losses(enum loss_queue queue, int *reason_out);

#endif
