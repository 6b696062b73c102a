/* The engine: everything that a client decides, without a socket, clock, thread or allocation.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A driver, such as the client layer or the simulation, calls the engine from one thread at a time. It reports events:
 * requests, replies, broken connections, messages, time. After each event it carries out the engine's output:
 *
 *   server->pipelines[i].unsent   commands to write: engine_next_to_send takes one, engine_replied takes its reply
 *   finished                      operations that are done: wake or notify their callers
 *   losses[]                      holds to report: lost holds, and holds that were renewed late (enum loss_queue)
 *   server->subscription_changes  channels to be subscribed to or left
 *   engine_next_timer             when to call engine_run_timers at the latest
 *
 * Times are microseconds of a clock that also runs while the computer is suspended. */
#ifndef ENGINE_H
#define ENGINE_H

#include "invariant.h"
#include "records.h"
#include "resources.h"

/* What a new connection found out about the unanswered commands of the broken connection before it. */
enum resolution {
    RESOLVED_BY_KILL,    /* no old command can arrive any more: the server killed the old connection, or had replied to
                           everything that was sent over it */
    RESOLVED_BY_RESTART, /* the server is another process than before: no old command can arrive, and it may have
                           forgotten everything */
    RESOLUTION_DENIED    /* the old connection cannot be killed: old commands may still arrive, within one lease */
};

/* Queues of holds to report: as events, to threads that wait for losses, and to composite locks. LOSS_EVENTS and
 * LOSS_THREADS have lost holds that were granted by themselves, and holds whose unconfirmed release failed. LOSS_SETS
 * has lost holds that were granted as part of a set. LATE_EVENTS and LATE_THREADS have holds that were renewed late. */
enum loss_queue { LOSS_EVENTS, LOSS_THREADS, LOSS_SETS, LATE_EVENTS, LATE_THREADS, LOSS_QUEUES };

/* Numbers of record keys whose outcome is not needed any more. The next operation records its outcome in one of them.
 * Numbers beyond RECORD_KEYS are forgotten; their keys end by their TTL. */
enum { RECORD_KEYS = 1024 };

struct record_keys {
    uint64_t numbers[RECORD_KEYS];
    uint32_t count;
};

/* Lists of holds by the number of their owner, so that the end of an owner does not visit every name. */
enum { OWNER_CHAINS = 256 };

struct engine_settings {
    int64_t watchdog_lease_ms;
    int64_t unreachable_timeout_ms;
    int64_t claim_timeout_ms;
    int64_t linger_ms;
    int64_t fair_timeout_ms;
    int64_t replica_timeout_ms; /* for acknowledgements */
    uint32_t min_replicas;      /* how many acknowledge each grant; 0: none */
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
    struct server *server;  /* the only one; in a cluster the route of each slot whose server is not known */
    struct server **routes; /* in a cluster the server of each slot: memory of the driver. NULL: no cluster */
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
    struct list batch_pool;  /* commands with room for the entries of a renewal */
    int64_t renewals_try_at; /* when the last hold that found this pool empty tries again */
    struct list entries_pool;
    struct hold *hold_pool;
    struct resource *dead_resources; /* for the driver to free */
    uint32_t command_pool_size, wait_queue_pool_size, hold_pool_size, batch_pool_size, entries_pool_size;
    uint32_t reserved_commands, reserved_wait_queues, reserved_holds, reserved_entries;
    uint32_t returning_commands; /* commands bound in undos of operations that go on */
    uint32_t refused_commands;   /* commands that wait to be sent again after an error reply */
    uint32_t renewal_groups;     /* groups of holds that refused batches were divided into so far */
    uint32_t expired_entries;    /* entries of renewals whose hold expired: each may need a command for its release */
    uint32_t refreshes;          /* commands to keep for refreshes of positions, which no operation reserves */
    struct record_keys record_keys;
    const char *broken; /* an invariant that does not hold: the engine does nothing any more. NULL: there is none */
    int32_t subscriptions;
    redlatch_stats stats;
};

void server_init(struct server *server);

/* Sets whether SPUBLISH and SSUBSCRIBE are used on a server of a cluster. The value changes only with its process. */
void server_set_sharding(struct server *server, bool shards_messages);

/* Sets up `server`, too, which is to outlive the engine. `uuid` has 36 characters. `random` seeds jitter. */
void engine_init(struct engine *engine, struct server *server, const struct engine_settings *settings, const char *uuid,
                 uint64_t random);

/* How many records the pools lack for an operation. The driver adds these before each engine_start, so that no
 * operation ever runs out of memory. */
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

/* Returns a pipeline to the only server of a client without a cluster. */
static inline struct pipeline *engine_pipeline(const struct engine *engine, enum pipeline_role role) {
    return &engine->server->pipelines[role];
}

/* Starts an operation whose request is filled in (resource or set, owner, kind, pipeline, leases, wait_until, flags).
 * The operation may be done when this returns: see its phase. */
void engine_start(struct engine *engine, struct operation *operation, int64_t now);

/* Called once an invariant is broken: ends all operations with INTERNAL, without their machines. */
void engine_end_broken(struct engine *engine);

/* Ends an operation whose caller gave up. TIMEOUT becomes the status that says why (held by others, unreachable, no
 * reply). Its command in flight is undone, or goes on, in the background. Does nothing if the operation is done. */
void engine_abort(struct engine *engine, struct operation *operation, int status, int64_t now);

int64_t engine_next_timer(const struct engine *engine);
void engine_run_timers(struct engine *engine, int64_t now);

/* engine_first_to_send returns the next command to write to a pipeline, or NULL if there is none. It drops abandoned
 * commands, and makes releases of hand-overs whose receivers gave up. engine_next_to_send also takes the command off
 * the unsent ones, and marks it as sent now. */
struct command *engine_first_to_send(struct engine *engine, struct pipeline *pipeline, int64_t now);
struct command *engine_next_to_send(struct engine *engine, struct pipeline *pipeline, int64_t now);

/* Ends commands to a server that were held back for too long, without sending them (acknowledgement.h). */
void engine_refuse_late(struct engine *engine, struct server *server, int64_t now);

/* Takes the reply to the oldest unanswered command of a pipeline. */
void engine_replied(struct engine *engine, struct pipeline *pipeline, const struct reply *reply, int64_t now);

/* Returns how many bytes the next reply of a pipeline may have. The replies to inspections are the longest. */
size_t engine_reply_size_max(const struct pipeline *pipeline);

/* Returns whether the driver may discard the next reply if it has more bytes than that, and elements of an array that
 * are not read: the reply to a plain question, or to an inspection that nobody waits for any more. */
bool engine_reply_is_optional(const struct pipeline *pipeline);

/* The next reply cannot be read, so that the driver gives the connection up. If it answers a plain question, that ends
 * with PROTOCOL: sent again, it would break each new connection, and hold up the commands behind it. */
void engine_reply_unreadable(struct engine *engine, struct pipeline *pipeline, int64_t now);

/* The pipeline's connection is broken. The commands that were sent are in doubt until engine_pipeline_ready. The others
 * stay unsent, and no longer count as held back. All holds on the server are verified, because the server may have
 * restarted. */
void engine_pipeline_lost(struct engine *engine, struct pipeline *pipeline, int64_t now);

/* The pipeline has a new connection. `how` says what became of the commands that the old connection left in doubt. */
void engine_pipeline_ready(struct engine *engine, struct pipeline *pipeline, enum resolution how, int64_t now);

/* An attempt to connect failed with `status`. `passes` says whether a later attempt may succeed without repair. If so,
 * only operations that do not wait for the server fail; else all of the pipeline fail. */
void engine_pipeline_failed(struct engine *engine, struct pipeline *pipeline, int status, bool passes, int64_t now);

/* The reply to the oldest unanswered command says that the server is a replica, so the command did not run. The driver
 * gives the connection up, and the command is sent again over the next one. */
void engine_refused_by_replica(struct engine *engine, struct pipeline *pipeline);

/* Returns whether the client has a hold, a waiter or an active subscription. */
static inline bool engine_is_in_use(const struct engine *engine) {
    return engine->stats.held > 0 || engine->stats.waiters > 0 || engine->subscriptions > 0;
}

/* The server is another process now. All holds on it are verified there, and its waiters recheck. */
void engine_server_changed(struct engine *engine, struct server *server, int64_t now);

/* Subscriptions. The driver takes them off `subscription_changes`, sends the requests and reports the replies.
 * engine_pubsub_received is about all subscriptions that a channel serves at a server, engine_subscriptions_lost is
 * about all subscriptions at a server, and the other functions are about one. If a server ends a subscription by itself
 * because the slot went to another server, the subscription is requested again from that other server.
 *
 * A server replies in order. So a driver may keep the subscriptions that it requested in a list, by their link `sent`.
 * The engine removes the confirmed ones, and an error reply is about the oldest one that is left.
 *
 * `number` is the number in a message (wire format 1.6), 0 if its text is no number. engine_pubsub_received returns
 * false if no subscription to the channel is wanted at that server, for example because its name moved. */
enum pubsub_reply { PUBSUB_MESSAGE, PUBSUB_SUBSCRIBED, PUBSUB_UNSUBSCRIBED };
void engine_subscribed(struct engine *engine, struct subscription *subscription, int64_t now);
void engine_unsubscribed(struct engine *engine, struct subscription *subscription, int64_t now);
void engine_message(struct engine *engine, struct subscription *subscription, int64_t number, int64_t now);
bool engine_pubsub_received(struct engine *engine, const struct server *server, enum pubsub_reply what,
                            const char *channel, size_t size, int64_t number, int64_t now);
void engine_subscription_denied(struct engine *engine, struct subscription *subscription, int64_t now);
void engine_subscriptions_lost(struct engine *engine, struct server *server, int64_t now);

/* Appends the active subscriptions at a server to a list, by their link `sent`, so that another connection can
 * subscribe to the same channels. A subscription that is denied there counts as denied. */
void engine_list_active(struct engine *engine, const struct server *server, struct list *active);

/* Returns whether the channel of a subscription that is being left also serves another subscription that is wanted. */
bool engine_needs_channel(struct engine *engine, const struct subscription *leaving, const char *channel, size_t size);

/* The owner has ended. Its holds are no longer renewed, and each is reported as lost. */
void engine_owner_end(struct engine *engine, uint64_t owner, int64_t now);

/* Releases a hold with its whole hold count. Nobody waits for the reply. If the pool has no command for it, the hold is
 * only no longer renewed. */
void engine_give_back(struct engine *engine, struct hold *hold, int64_t now);

/* Called when a client closes. Reports that the unconfirmed releases in progress will get no reply. */
void engine_fail_unconfirmed(struct engine *engine);

/* Forgets a hold that is lost and that its owner will not release. */
void engine_forget_lost(struct engine *engine, struct hold *hold, int64_t now);

/* Forgets a hold without releasing it: its owner leaves it to its lease. Waiters recheck, because only the server knows
 * when that ends. */
void engine_leave(struct engine *engine, struct hold *hold, int64_t now);

/* The host collected the event of a started operation, whatever its status. The engine drops its pointers to it. */
void engine_claimed(struct engine *engine, struct operation *operation);

/* Nobody will collect the event of a started operation. Permits of a semaphore are given back; a hold is left to
 * engine_give_back. */
void engine_unclaimed(struct engine *engine, struct operation *operation);

/* engine_first_loss returns the first hold of a queue of losses, or NULL if it is empty. engine_loss_taken takes that
 * hold off the queue. */
struct hold *engine_first_loss(struct engine *engine, enum loss_queue queue);
void engine_loss_taken(struct engine *engine, enum loss_queue queue);

/* Returns the hold that an owner has of a name as one kind of lock, or NULL if there is none. If its deadline has
 * passed, it is lost first. */
struct hold *engine_hold_of(struct engine *engine, struct resource *resource, uint8_t lock_kind, uint64_t owner,
                            int64_t now);

/* Returns the hold count that is left once all releases of the hold that are in progress are done. */
uint32_t hold_count_left(const struct hold *hold);

/* Returns a random number below `bound`, for jitter. */
uint32_t engine_random(struct engine *engine, uint32_t bound);

/* Returns the lease that commands state for an acquire with `lease_ms`, which may be REDLATCH_RENEWED. */
int64_t engine_wire_lease(const struct engine *engine, int64_t lease_ms);

#endif
