/* The engine: everything a client decides, for one server, without a socket, clock, thread or allocation.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A driver (the client layer, or the simulation) holds one lock around the engine, feeds it what happens - calls,
 * replies, broken connections, messages, time - and afterwards carries out what the engine left in its output:
 *
 *   server->pipelines[i].unsent  commands to write; take them with engine_next_to_send, answer them with engine_replied
 *   finished               operations that are done: wake or notify their callers
 *   losses[]               holds that were lost and not yet reported to events, to waiting threads, as parts of sets;
 *                          and those that were renewed late
 *   server->subscription_changes  channels to be subscribed to or left
 *   engine_next_timer      when to call engine_run_timers at the latest
 *
 * Times are microseconds of a clock that counts suspend. */
#ifndef ENGINE_H
#define ENGINE_H

#include "invariant.h"
#include "records.h"
#include "resources.h"

/* How a broken connection's unanswered commands stand, once a new connection is there. */
enum resolution {
    RESOLVED_BY_KILL,    /* nothing old can arrive any more: the server closed the old connection, or all that was sent
                           over it had been answered */
    RESOLVED_BY_RESTART, /* the server is another process than before: nothing old can arrive, everything may be
                           forgotten */
    RESOLUTION_DENIED    /* we may not ask: late commands may still arrive within one lease */
};

/* A hold that was granted by itself is told of as such; one that was granted as part of a set to whoever keeps sets.
 * LATE_THREADS has holds that were renewed late, not lost. */
enum loss_queue { LOSS_EVENTS, LOSS_THREADS, LOSS_SETS, LATE_THREADS, LOSS_QUEUES };

/* Numbers of keys in which the outcome of an operation was recorded and is not needed any more: the next operation
 * records its own there. More of them are forgotten; their keys end by their TTL. */
enum { RECORD_KEYS = 1024 };

struct record_keys {
    uint64_t numbers[RECORD_KEYS];
    uint32_t count;
};

/* Lists of holds by the number of their owner, so that the end of an owner does not look at every name. */
enum { OWNER_CHAINS = 256 };

struct engine_settings {
    int64_t watchdog_lease_ms;
    int64_t unreachable_timeout_ms;
    int64_t claim_timeout_ms;
    int64_t linger_ms;
    int64_t fair_timeout_ms;
    int64_t replica_timeout_ms; /* for acknowledgements */
    uint32_t min_replicas;      /* that acknowledge each grant; 0: none is asked */
    bool durable;               /* each grant is on the server's disk, too */
};

struct machines;

struct engine {
    const struct machines *machines; /* what each kind does: machine.h */
    struct engine_settings settings;
    char uuid[37];
    uint64_t last_id;    /* wire numbers are counted up and used once */
    uint64_t hold_waits; /* waits for holds so far: see hold_command_done */
    uint64_t random;
    struct resource_table resources;
    struct server *server;  /* the only one; of a cluster, where a slot leads whose server is not known */
    struct server **routes; /* of a cluster, the driver's: by slot. NULL: there is one server */
    struct timer_heap timers;
    struct list operations;
    struct list holds_of[OWNER_CHAINS]; /* by owner */
    struct list wait_queues;
    struct list finished;
    struct hold *losses[LOSS_QUEUES];
    struct hold **losses_end[LOSS_QUEUES];
    bool losses_wanted[LOSS_QUEUES];
    struct list command_pool;
    struct list wait_queue_pool;
    struct list batch_pool;  /* commands with room for a renewal */
    int64_t renewals_try_at; /* when the last hold that found none in the pool tries again */
    struct list entries_pool;
    struct hold *hold_pool;
    struct resource *dead_resources; /* for the driver to free */
    uint32_t command_pool_size, wait_queue_pool_size, hold_pool_size, batch_pool_size, entries_pool_size;
    uint32_t reserved_commands, reserved_wait_queues, reserved_holds, reserved_entries;
    uint32_t returning_commands; /* bound in undos of operations that go on */
    uint32_t expired_entries;    /* of renewals under way: each may need a command to be given back with */
    uint32_t refreshes;          /* commands there should be for refreshes of places, which are nobody's */
    struct record_keys record_keys;
    const char *broken; /* an invariant that is: nothing is done any more. NULL */
    int32_t subscriptions;
    redlatch_stats stats;
};

void server_init(struct server *server);

/* Whether SPUBLISH and SSUBSCRIBE are used on a server of a cluster. A change is for a new process, or the first. */
void server_set_sharding(struct server *server, bool shards_messages);

/* `server` is set up, too, and outlives the engine. uuid: 36 characters. `random` seeds jitter. */
void engine_init(struct engine *engine, struct server *server, const struct engine_settings *settings, const char *uuid,
                 uint64_t random);

/* What engine_start needs to be sure never to want for memory. The driver supplies what is lacking before each start.
 */
struct engine_preallocation {
    uint32_t commands, wait_queues, holds, batches, entries;
};
struct engine_preallocation engine_preallocation_needed(const struct engine *engine, uint8_t operation_kind);
struct engine_preallocation engine_preallocation_needed_for_set(const struct engine *engine, uint8_t operation_kind,
                                                                uint32_t count);
void engine_add_command(struct engine *engine, struct command *command);
void engine_add_batch(struct engine *engine, struct command *command, struct renewal *entries);
void engine_add_entries(struct engine *engine, struct entries *entries);
void engine_add_wait_queue(struct engine *engine, struct wait_queue *queue);
void engine_add_hold(struct engine *engine, struct hold *hold);

/* A pipeline to that server, if there is one. */
static inline struct pipeline *engine_pipeline(const struct engine *engine, enum pipeline_role role) {
    return &engine->server->pipelines[role];
}

/* Starts an operation whose caller's fields are set (resource or set, owner, kind, pipeline, leases, wait_until,
 * flags). It may be done at once: look at its phase. */
void engine_start(struct engine *engine, struct operation *operation, int64_t now);

/* Once an invariant is broken: ends all operations with INTERNAL, without their machines. */
void engine_end_broken(struct engine *engine);

/* Ends an operation whose caller has had enough: TIMEOUT becomes the status that says why (held by others,
 * unreachable, no reply). What it left under way is undone in the background. Does nothing once it is done. */
void engine_abort(struct engine *engine, struct operation *operation, int status, int64_t now);

int64_t engine_next_timer(const struct engine *engine);
void engine_run_timers(struct engine *engine, int64_t now);

/* The next command to write to a pipeline; NULL when there is none. engine_next_to_send takes it and marks it as sent
 * now.
 */
struct command *engine_first_to_send(struct engine *engine, struct pipeline *pipeline);
struct command *engine_next_to_send(struct engine *engine, struct pipeline *pipeline, int64_t now);

/* Ends commands to a server that were held back for too long, without sending them (acknowledgement.h). */
void engine_refuse_late(struct engine *engine, struct server *server, int64_t now);

/* The reply to the oldest unanswered command of a pipeline. */
void engine_replied(struct engine *engine, struct pipeline *pipeline, const struct reply *reply, int64_t now);

/* How many bytes the next reply of the pipeline may have: one page of an inspection is the longest. */
size_t engine_reply_size_max(const struct pipeline *pipeline);

/* Whether the question whose reply is next can do without it: a CLIENT LIST that has more bytes need not be read. */
bool engine_reply_is_optional(const struct pipeline *pipeline);

/* The pipeline's connection is broken: what was sent is in doubt until engine_pipeline_ready. What was not stays as it
 * is, as fresh as if there had been no connection. All holds are verified, for something may have befallen the server.
 */
void engine_pipeline_lost(struct engine *engine, struct pipeline *pipeline, int64_t now);

/* The pipeline has a connection; says how what the old one left stands. */
void engine_pipeline_ready(struct engine *engine, struct pipeline *pipeline, enum resolution how, int64_t now);

/* An attempt to connect failed with `status`. Operations that do not wait fail, and all do unless it may pass without
 * repair by hand. */
void engine_pipeline_failed(struct engine *engine, struct pipeline *pipeline, int status, bool passes, int64_t now);

/* The reply to the oldest unanswered command says that the server is a replica: it was not carried out. It goes again
 * when the connection, which is to be given up, has been made anew. */
void engine_refused_by_replica(struct engine *engine, struct pipeline *pipeline);

/* Whether anything is held, waited for or listened to. */
static inline bool engine_is_in_use(const struct engine *engine) {
    return engine->stats.held > 0 || engine->stats.waiters > 0 || engine->subscriptions > 0;
}

/* Another process is in place of the server: all holds on it are verified there, and whoever waits rechecks. */
void engine_server_changed(struct engine *engine, struct server *server, int64_t now);

/* Subscriptions. The driver takes them off subscription_changes, requests them, and reports the replies: of one, of all
 * that a channel serves at that server, or that all at that server are lost. One that the server ends by itself,
 * because the slot went to another server, is requested again from that one. A server replies in order. So a driver may
 * keep those that it requested in a list, by their link `sent`; the engine removes those that were confirmed, and an
 * error is about the oldest that is left. `number` is the number in a message (wire format 1.6), 0 if its text is no
 * number. False: no subscription to the channel is wanted at that server, for one because its name went to another one.
 */
enum pubsub_reply { PUBSUB_MESSAGE, PUBSUB_SUBSCRIBED, PUBSUB_UNSUBSCRIBED };
void engine_subscribed(struct engine *engine, struct subscription *subscription, int64_t now);
void engine_unsubscribed(struct engine *engine, struct subscription *subscription, int64_t now);
void engine_message(struct engine *engine, struct subscription *subscription, int64_t number, int64_t now);
bool engine_pubsub_received(struct engine *engine, const struct server *server, enum pubsub_reply what,
                            const char *channel, size_t size, int64_t number, int64_t now);
void engine_subscription_denied(struct engine *engine, struct subscription *subscription, int64_t now);
void engine_subscriptions_lost(struct engine *engine, struct server *server, int64_t now);

/* Appends the subscriptions that are heard from a server to a list, by their link `sent`, for another connection to
 * hear them, too. One of them that is denied there counts as denied. */
void engine_list_active(struct engine *engine, const struct server *server, struct list *active);

/* Whether a channel that is to be left serves others, who want to go on hearing it. */
bool engine_needs_channel(struct engine *engine, const struct subscription *leaving, const char *channel, size_t size);

/* The owner is gone: its holds run out, with an event each. */
void engine_owner_end(struct engine *engine, uint64_t owner, int64_t now);

/* Releases every level of a hold without anybody waiting for it; needs a spare command, else only stops renewing. */
void engine_give_back(struct engine *engine, struct hold *hold, int64_t now);

/* Of a client that closes: no reply will come to the unconfirmed releases that are in progress, which is reported. */
void engine_fail_unconfirmed(struct engine *engine);

/* Forgets a hold that is lost: its owner will not come to be told by release. */
void engine_forget_lost(struct engine *engine, struct hold *hold, int64_t now);

/* The host collected an asynchronous operation, whatever came of it: the engine knows of it no more. */
void engine_claimed(struct engine *engine, struct operation *operation);

/* Nobody will collect it: permits go back, a hold is left to engine_give_back. */
void engine_unclaimed(struct engine *engine, struct operation *operation);

/* The first unreported loss, or late renewal, of a queue, or NULL; engine_loss_taken takes it off. */
struct hold *engine_first_loss(struct engine *engine, enum loss_queue queue);
void engine_loss_taken(struct engine *engine, enum loss_queue queue);

/* The hold an owner has as one kind of lock, brought up to date with the clock; NULL if none. */
struct hold *engine_hold_of(struct engine *engine, struct resource *resource, uint8_t lock_kind, uint64_t owner,
                            int64_t now);

/* The levels that a hold will have once what is being released of it is. */
uint32_t hold_count_left(const struct hold *hold);

/* A number below `bound` for jitter. */
uint32_t engine_random(struct engine *engine, uint32_t bound);

/* The lease a command states for a hold taken with `lease_ms`. */
int64_t engine_wire_lease(const struct engine *engine, int64_t lease_ms);

#endif
