/* The watchdog. Leases are renewed in batches, in the order in which they are due; each hold of a batch has its own
 * outcome. A hold is in one batch at a time. A hold that ends meanwhile is taken out of its batch. After a batch that
 * got an error reply or is in doubt another one follows, until each hold's deadline.
 *
 * A batch may be refused because of one of its names, which the user may not access, or because its names are on
 * several servers: while a slot migrates, or behind a proxy. Then it is halved, and so are its halves, until the server
 * accepts them or a name is by itself. For one lease the holds are renewed in these groups.
 * SPDX-License-Identifier: Apache-2.0 */
#include "renewal.h"

#include "acknowledgement.h"
#include "error_reply.h"
#include "hold_command.h"
#include "hold_end.h"
#include "lease.h"
#include "operations.h"
#include "planted.h"
#include "pools.h"
#include "routes.h"
#include "wire.h"

/* How many values of groups a batch may have: the script takes some microseconds for each, in which the server does
 * nothing else. */
enum { VALUES_MAX = 1000 };

enum { VERIFICATIONS_IN_LEASE = 10, TRIES_IN_MILLISECOND = 250 };

/* How often in a lease a hold is renewed that the server refuses by itself. */
enum { REFUSED_IN_LEASE = 10 };

/* How soon a renewal is repeated that was not acknowledged, or got an error reply. */
static const int64_t REPEAT_PAUSE = 100 * MILLISECOND;

/* Releases a hold that was reported lost while its renewal was under way: the server may have renewed it, and nobody
 * shall wait for that lease. Returns false if there was no memory. */
static bool release_renewed(struct engine *engine, const struct renewal *entry) {
    bool released = release_id(engine, entry->name, entry->lock_kind, entry->id, PIPELINE_CALLERS) != NULL;
    engine->stats.compensations += released;
    return released;
}

/* Ends a batch. Each expired entry is released on the server. An entry whose release finds no memory stays in the batch
 * and is queried again; until then engine_preallocation_needed allocates the memory. */
static void end_entries(struct engine *engine, struct command *command, int64_t now) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < command->batch_count; i++) {
        struct renewal *entry = &command->batch[i];
        if (entry->expired && !release_renewed(engine, entry)) {
            command->batch[kept++] = *entry; /* its lease is 0: see renewal_forget */
            continue;
        }
        engine->expired_entries -= entry->expired;
        resource_drop(engine, entry->name);
    }
    command->batch_count = kept;
    if (kept > 0) {
        command->was_sent = false;
        command->repeated = false;
        repeat_command(engine, command, now + 100 * MILLISECOND);
    }
}

/* Adds a hold to a batch. A hold that is no longer renewed is only queried (a lease of 0). */
static void add_entry(struct engine *engine, struct command *command, struct hold *hold, int64_t now) {
    int64_t lease_ms = 0;
    if (hold_is_renewed(hold)) {
        lease_ms = lease_within(engine->settings.watchdog_lease_ms, hold->max_hold_at, now);
    }
    struct renewal *entry = &command->batch[command->batch_count];
    entry->hold = hold;
    entry->lease_ms = (uint32_t)lease_ms;
    entry->name = resource_keep(hold->resource);
    entry->id = hold->id;
    entry->lock_kind = hold->lock_kind;
    entry->live = true;
    entry->expired = false;
    command->batch_values += hold->resource->value_count;
    hold->batch = command;
    hold->batch_entry = (uint8_t)command->batch_count++;
    hold->renew_at = NEVER;
    hold_arm(engine, hold);
}

/* Returns a new batch for holds that are renewed as this one is. Returns NULL if there is no memory. */
static struct command *open_batch(struct engine *engine, const struct hold *hold) {
    struct list_link *pooled = list_pop(&engine->batch_pool);
    if (!pooled) {
        return NULL;
    }
    engine->batch_pool_size--;
    struct command *command = container_of(pooled, struct command, link);
    command->lock_kind = hold->lock_kind;
    command->batch_count = 0;
    command->batch_values = 0;
    command->was_sent = false;
    command->repeated = false;
    command->as_text = false;
    command->redirections = 0;
    command->resource = NULL;
    command->server = server_of(engine, hold->resource);
    push_command(engine, command);
    return command;
}

/* Returns the group in which a hold is renewed now; 0: it is not separate. */
static uint32_t group_of_hold(const struct hold *hold, int64_t now) {
    return now < hold->separate_until ? hold->renewal_group : 0;
}

/* Returns whether a hold can be in a batch with another one: in a cluster all names of a script are in one slot, and on
 * one node. */
static bool shares(const struct renewal *other, const struct hold *hold, int64_t now) {
    bool together = group_of_hold(hold, now) == group_of_hold(other->hold, now);
    return (other->name->slot == hold->resource->slot && together) || PLANTED(FAULT_SLOTS_IN_ONE_RENEWAL);
}

/* Returns whether a hold can go into a batch that is being gathered. */
static bool goes_with(const struct command *batch, const struct hold *hold, int64_t now) {
    return renewed_alike(batch->lock_kind, hold->lock_kind) &&
           (batch->batch_count == 0 || shares(&batch->batch[0], hold, now));
}

/* Returns whether a hold finds no room in a batch. A hold that has more values than a batch may have goes into a batch
 * of its own. */
static bool is_full(const struct command *batch, const struct hold *hold) {
    return batch->batch_count == RENEWAL_BATCH_SIZE ||
           (batch->batch_count > 0 && batch->batch_values + hold->resource->value_count > VALUES_MAX);
}

/* Returns the hold whose timer is the next, if it is due for a renewal by `near`. Returns NULL if another timer is the
 * next one, or if the next one is later. */
static struct hold *next_due(const struct engine *engine, int64_t near, int64_t now) {
    struct timer *timer = engine->timers.root;
    if (!timer || timer->kind != TIMER_HOLD || timer->at > near) {
        return NULL;
    }
    struct hold *hold = container_of(timer, struct hold, timer);
    bool due = hold->stage == HOLD_ALIVE && !hold->batch && hold->renew_at <= near && now < hold->deadline;
    return due ? hold : NULL;
}

/* Batches that are gathered at one time. */
struct gathered {
    struct command *batches[BATCHES_TOGETHER];
    size_t count;
};

/* Returns the batch that a hold goes into, which is mostly that of the hold before. Opens one if there is none. Returns
 * NULL if there can be no further batch. */
static struct command *batch_for(struct engine *engine, struct gathered *gathered, const struct hold *hold,
                                 int64_t now) {
    for (size_t i = gathered->count; i > 0; i--) {
        if (goes_with(gathered->batches[i - 1], hold, now)) {
            return gathered->batches[i - 1];
        }
    }
    struct command *batch = gathered->count < BATCHES_TOGETHER ? open_batch(engine, hold) : NULL;
    if (batch) {
        gathered->batches[gathered->count++] = batch;
    }
    return batch;
}

/* Returns when a hold that found no batch tries again: each some time after the one before. Otherwise very many holds
 * that are due would all try every millisecond, and hardly any would be renewed. */
static int64_t next_try(struct engine *engine, int64_t now) {
    int64_t soonest = now + MILLISECOND;
    int64_t after = engine->renewals_try_at + MILLISECOND / TRIES_IN_MILLISECOND;
    engine->renewals_try_at = after > soonest ? after : soonest;
    return engine->renewals_try_at;
}

/* Gathers the hold that is due, and those that are due soon, into batches: one for each way of renewing, and in a
 * cluster for each slot, or each name of a slot that migrates. */
void renewal_gather(struct engine *engine, struct hold *first, int64_t now) {
    struct gathered gathered = {.count = 0};
    int64_t near = now + renewal_ahead(engine->settings.watchdog_lease_ms);
    for (struct hold *hold = first; hold; hold = next_due(engine, near, now)) {
        struct command *batch = batch_for(engine, &gathered, hold, now);
        if (!batch || is_full(batch, hold)) {
            if (hold == first) {
                hold->renew_at = next_try(engine, now);
                hold_arm(engine, hold);
            }
            return;
        }
        add_entry(engine, batch, hold, now);
    }
}

/* Returns whether a hold's last lease was cut to end at max_hold_at. The renewals of such a hold come ever closer, and
 * each takes a good part of so short a lease, so a late one is not reported. */
static bool is_cut_by_max_hold(const struct hold *hold) {
    return hold->max_hold_at != NEVER &&
           hold->confirmed_at + hold->lease_ms * MILLISECOND >= hold->max_hold_at - 2 * MILLISECOND;
}

static void entry_confirmed(struct engine *engine, struct hold *hold, const struct renewal *entry, int64_t sent_at,
                            int64_t now) {
    if (entry->lease_ms == 0) {
        return;
    }
    engine->stats.renewals++;
    if (now - hold->confirmed_at > hold->lease_ms * MILLISECOND / 2) {
        engine->stats.late_renewals++;
        if (!is_cut_by_max_hold(hold)) {
            hold_report_late(engine, hold, (now - hold->confirmed_at) / MILLISECOND);
        }
    }
    int64_t deadline = hold_deadline(hold, sent_at, entry->lease_ms);
    if (deadline > hold->deadline) {
        hold->deadline = deadline;
    }
    hold->confirmed_at = sent_at;
    hold->lease_ms = entry->lease_ms;
    schedule_renewal(hold, sent_at, entry->lease_ms);
}

/* The batch renewed nothing: its holds are due again at `at`. */
void renewal_again(struct engine *engine, struct command *command, int64_t at, int64_t now) {
    for (uint32_t i = 0; i < command->batch_count; i++) {
        struct renewal *entry = &command->batch[i];
        if (entry->live) {
            if (PLANTED(FAULT_RENEWAL_IN_DOUBT_COUNTS)) {
                entry_confirmed(engine, entry->hold, entry, command->sent_at, now);
            }
            entry->hold->batch = NULL;
            entry->hold->renew_at = at;
            hold_arm(engine, entry->hold);
            hold_command_done(engine, entry->hold, now);
        }
    }
    end_entries(engine, command, now);
}

/* Returns whether the server has the hold. The number in the reply is what was left of its lease, -1 if it has none. */
static bool is_found(const struct reply *reply) {
    return reply->kind == REPLY_INTEGER && reply->integer >= -1;
}

/* Returns whether a renewal wrote the lease, which it does not if as much was left. With acknowledgements, a lease
 * counts as renewed only if it was written: an earlier one that lasts longer may not be acknowledged. */
static bool is_written(const struct renewal *entry, int64_t left_ms) {
    return left_ms < entry->lease_ms;
}

/* Called for a hold that was last confirmed by the server before a move. This server has the hold, but a longer lease
 * may not have been replicated. So the hold is believed no longer than this server says: for what was left, or for the
 * lease of the renewal if that is longer. */
static void believe_this_server(const struct server *server, struct hold *hold, const struct renewal *entry,
                                int64_t left_ms, int64_t sent_at) {
    int64_t moved_at = entry->name->moved_at;
    int64_t since = server->since > moved_at ? server->since : moved_at;
    bool known = hold->confirmed_at >= since || left_ms < 0;
    if (known || sent_at < since || PLANTED(FAULT_LEASE_OF_LEFT_SERVER)) {
        return;
    }
    int64_t deadline = hold_deadline(hold, sent_at, left_ms > entry->lease_ms ? left_ms : entry->lease_ms);
    if (deadline < hold->deadline) {
        hold->deadline = deadline;
        hold_doubt(hold);
    }
}

/* The server has the hold, but its lease does not count as renewed. */
static void not_renewed(struct engine *engine, struct hold *hold, int64_t again_at, int64_t now) {
    hold->batch = NULL;
    hold->renew_at = hold_is_renewed(hold) ? again_at : NEVER;
    hold_arm(engine, hold);
    hold_command_done(engine, hold, now);
}

static void entry_replied(struct engine *engine, const struct command *command, struct renewal *entry,
                          const struct reply *reply, const struct reply *whole, int64_t now) {
    bool found = is_found(reply);
    struct hold *hold = entry->hold;
    bool kept = PLANTED(FAULT_LOSS_UNREPORTED) || (PLANTED(FAULT_MISSING_IS_KEPT) && entry->lease_ms == 0);
    bool good = found || kept;
    if (good) {
        hold_check_deadline(engine, hold, now); /* a reply after the deadline brings nothing back */
        if (!entry->live) {
            return;
        }
    }
    if (found) {
        believe_this_server(command->server, hold, entry, reply->integer, command->sent_at);
    }
    if (good && entry->lease_ms > 0 && engine_wants_acknowledgements(engine) &&
        !PLANTED(FAULT_UNACKNOWLEDGED_RENEWAL)) {
        bool acknowledged = reply_is_acknowledged(engine, whole);
        if (!acknowledged || !is_written(entry, reply->integer)) {
            int64_t usual = command->sent_at + entry->lease_ms * MILLISECOND / 3;
            not_renewed(engine, hold, acknowledged ? usual : now + REPEAT_PAUSE, now);
            return;
        }
    }
    hold->batch = NULL;
    if (!good) {
        hold_lose(engine, hold, REDLATCH_REASON_MISSING, now);
        return;
    }
    entry_confirmed(engine, hold, entry, command->sent_at, now);
    hold_arm(engine, hold);
    hold_command_done(engine, hold, now);
}

/* Makes a group of each half of a batch for one lease: nobody says which name is refused, nor when a migration ends. A
 * hold that is by itself is its own group, so that it does not spoil a batch of others. Returns whether there are two
 * halves: then they are renewed at once. */
static bool halve(struct engine *engine, struct command *command, int64_t now) {
    uint32_t first = engine->renewal_groups + 1;
    engine->renewal_groups += 2;
    for (uint32_t i = 0; i < command->batch_count; i++) {
        if (command->batch[i].live) {
            struct hold *hold = command->batch[i].hold;
            hold->renewal_group = first + (i >= command->batch_count / 2);
            hold->separate_until = now + engine->settings.watchdog_lease_ms * MILLISECOND;
        }
    }
    return command->batch_count > 1;
}

/* Returns how long a hold pauses that was refused by itself. It stays separate meanwhile. */
static int64_t refused_pause(const struct engine *engine, const struct command *command) {
    const struct renewal *only = &command->batch[0];
    int64_t watchdog = engine->settings.watchdog_lease_ms * MILLISECOND;
    int64_t lease = only->live && only->lease_ms == 0 ? only->hold->lease_ms * MILLISECOND : watchdog;
    int64_t pause = lease / REFUSED_IN_LEASE < watchdog / 2 ? lease / REFUSED_IN_LEASE : watchdog / 2;
    return pause > REPEAT_PAUSE ? pause : REPEAT_PAUSE;
}

/* Returns when the holds of a batch are due again that got this reply. */
static int64_t due_again(struct engine *engine, struct command *command, const struct reply *reply, int64_t now) {
    struct error_reply error = error_of_reply(reply);
    bool names_refused = refuses_names(reply, error);
    if ((error.keys_separated || names_refused) && halve(engine, command, now)) {
        return now;
    }
    return now + (names_refused ? refused_pause(engine, command) : REPEAT_PAUSE);
}

void renewal_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now) {
    if (reply->kind != REPLY_ARRAY || reply->count != command->batch_count) {
        renewal_again(engine, command, due_again(engine, command, reply, now), now);
        return;
    }
    for (uint32_t i = 0; i < command->batch_count; i++) {
        struct renewal *entry = &command->batch[i];
        if (entry->live) {
            entry_replied(engine, command, entry, &reply->elements[i], reply, now);
        }
        if (!is_found(&reply->elements[i]) && entry->expired) {
            entry->expired = false;
            engine->expired_entries--;
        }
    }
    end_entries(engine, command, now);
}

void renewal_verify(struct engine *engine, struct resource *resource, int64_t at) {
    if (PLANTED(FAULT_NOT_VERIFIED_AFTER_MOVE)) {
        return;
    }
    for (struct hold *hold = resource->holds; hold; hold = hold->next) {
        bool extending = hold->busy && (hold->busy->kind == COMMAND_EXTEND || hold->busy->kind == COMMAND_MOVE);
        if (hold->stage == HOLD_ALIVE && !hold->batch && !extending && at < hold->renew_at) {
            hold->renew_at = at;
            hold_arm(engine, hold);
        }
    }
}

/* Verifies all holds on a server at `at`, also those with a fixed lease: the server may have forgotten everything. */
void renewal_verify_all(struct engine *engine, const struct server *server, int64_t at) {
    for (uint32_t i = 0; i < engine->resources.bucket_count; i++) {
        struct resource *resource = engine->resources.buckets[i];
        for (; resource; resource = resource->next) {
            if (server_of(engine, resource) == server) {
                renewal_verify(engine, resource, at);
            }
        }
    }
}

/* Called when a connection ended, whatever the reason. The holds are verified at once, not at the next renewal. That
 * happens ten times in a lease at most, since some servers close each idle connection. */
void renewal_verify_soon(struct engine *engine, struct server *server, int64_t now) {
    if (PLANTED(FAULT_HOLDS_NOT_VERIFIED)) {
        return;
    }
    if (now >= server->verify_after) {
        server->verify_after = now + engine->settings.watchdog_lease_ms * MILLISECOND / VERIFICATIONS_IN_LEASE;
        renewal_verify_all(engine, server, now);
    } else {
        renewal_verify_all(engine, server, server->verify_after);
    }
}

void hold_timer(struct engine *engine, struct hold *hold, int64_t now) {
    if (hold->stage == HOLD_GONE) { /* a permit; see hold_lose */
        hold_end(engine, hold, now);
        return;
    }
    hold_check_deadline(engine, hold, now);
    if (hold->stage == HOLD_ALIVE && hold->claim && now >= hold->claim_by) {
        hold->claim->status = REDLATCH_UNCLAIMED;
        hold->claim->granted--;
        hold->claim = NULL;
        hold->deferred_releases += hold->deferred_releases != RELEASE_ALL; /* nested acquires have their own callers */
    }
    bool releases = hold->deferred_releases > 0 && !hold->busy && now >= hold->release_again_at;
    if (hold->stage == HOLD_ALIVE && releases) {
        hold_release_deferred(engine, hold, now);
    }
    if (hold->stage == HOLD_ALIVE && hold->renew_at <= now && !hold->batch) {
        renewal_gather(engine, hold, now);
    } else {
        hold_arm(engine, hold);
    }
}
