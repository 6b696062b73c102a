/* Checks the results of calls against what the server did, and which commands may be sent.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sim_client.h"
#include "lease.h"
#include "error_reply.h"
#include "entries.h"
#include "world.h"

static struct hold *own_hold(const struct sim_operation *operation) {
    return resource_hold_of(operation->operation.resource, operation->operation.lock_kind, operation->operation.owner);
}

void check_begun(struct client *client, struct sim_operation *operation) {
    struct world *world = client->world;
    const struct hold *hold = own_hold(operation);
    operation->begun_local = client_now(client);
    operation->deadline_before = hold ? hold->deadline : INT64_MIN;
    if (operation->operation.set) {
        check_set_begun(client, operation);
    }
    int64_t lease_ms = operation->operation.lease_ms;
    if (lease_ms > world->checker.longest_lease_ms) {
        world->checker.longest_lease_ms = lease_ms;
    }
}

void check_aborting(struct client *client, struct sim_operation *operation) {
    const struct hold *hold = own_hold(operation);
    operation->given_up = true;
    if (operation->operation.phase == PHASE_HANDED) {
        cover(client->world, COVER_HAND_OVER_GIVEN_UP);
    }
    operation->leaves_levels = operation->operation.kind == OPERATION_RELEASE && !operation->operation.set && hold &&
                               operation->operation.phase == PHASE_WAITING && hold_count_left(hold) > 0;
    operation->levels_left = operation->leaves_levels ? hold_count_left(hold) - 1 : 0;
}

/* A release that waited for an earlier command of its hold and was given up must go on in the background. */
void check_aborted(struct client *client, struct sim_operation *operation) {
    const struct hold *hold = own_hold(operation);
    if (operation->leaves_levels && hold && hold->stage == HOLD_ALIVE &&
        hold_count_left(hold) != operation->levels_left) {
        world_violation(client->world, "a release that was given up does not go on", "client %u lock %u: %u levels",
                        client->index, operation->name, hold_count_left(hold));
    }
}

/* max_hold, the bound on the whole hold, counts from the request. */
static void note_max_hold(struct client *client, const struct sim_operation *operation, const struct hold *hold) {
    if (hold->id == operation->operation.id && operation->operation.max_hold_ms != REDLATCH_FOREVER) {
        note_of(client->world, client->index, hold->id)->ends_by = operation->requested_local +
                                                                   operation->operation.max_hold_ms * MILLISECOND;
    }
}

static void check_acquired(struct client *client, const struct sim_operation *operation) {
    struct world *world = client->world;
    const struct hold *hold = own_hold(operation);
    if (operation->renounced) {
        return;
    }
    if (operation->operation.set) {
        check_set_acquired(client, operation);
        return;
    }
    bool shortened = hold && hold->busy && hold->busy->kind == COMMAND_EXTEND; /* by a call that waited for this one */
    if (!hold || hold->stage != HOLD_ALIVE || (client_now(client) >= hold->deadline && !shortened)) {
        world_violation(world, "a grant is reported whose time is over", "client %u lock %u", client->index,
                        operation->name);
        return;
    }
    struct id_note *note = note_of(world, client->index, hold->serial);
    bool nested = hold->count > 1 || note->granted; /* an unconfirmed release may have lowered the count since */
    note->granted = true;
    if (nested) {
        cover(world, COVER_REENTERED);
    } else {
        check_upgrade(client, operation);
        note_max_hold(client, operation, hold);
        check_granted_in_order(client, operation);
    }
}

static void check_release_ok(struct client *client, const struct sim_operation *operation) {
    struct world *world = client->world;
    uint64_t id = operation->operation.id;
    if (operation->operation.set && operation->begun_local >= operation->deadline_before) {
        world_violation(world, "a release of a set after a deadline says OK", "client %u", client->index);
    }
    if (operation->operation.set) {
        return;
    }
    if (!operation->last) {
        cover(world, COVER_PARTIAL_RELEASE);
        return;
    }
    const struct id_note *note = note_of(world, client->index, id);
    const struct wire_name *wire = &world->checker.wire[operation->name];
    if (wire_find(wire, client->index, id) && !note->restored) {
        world_violation(world, "a release that was confirmed did not happen", "client %u id %d", client->index,
                        (int)id);
    }
    bool ours = note->removed == REMOVED_RELEASE || note->removed == REMOVED_HANDED;
    if (!ours && note->releases_in_doubt <= 1 && !note->restored) {
        world_violation(world, "a release says OK although the hold was lost", "client %u id %d, removed %d",
                        client->index, (int)id, note->removed);
    } else if (!ours) {
        cover(world, COVER_RELEASE_RESOLVED);
    }
    if (operation->begun_local >= operation->deadline_before) {
        world_violation(world, "a release after the deadline says OK", "client %u id %d", client->index, (int)id);
    }
}

static void check_release_lost(struct client *client, const struct sim_operation *operation) {
    struct world *world = client->world;
    cover(world, COVER_RELEASE_LOST);
    if (!operation->last || operation->operation.set) {
        return;
    }
    const struct id_note *note = note_of(world, client->index, operation->operation.id);
    bool ours = note->removed == REMOVED_RELEASE || note->removed == REMOVED_HANDED;
    if (ours && note->removed_at < note->deadline && !note->tainted) {
        world_violation(world, "a release in time says LOST", "client %u id %d", client->index,
                        (int)operation->operation.id);
    }
}

static void check_not_owned(struct client *client, const struct sim_operation *operation) {
    cover(client->world, COVER_NOT_OWNED);
    if (operation->operation.set) {
        check_set_not_owned(client, operation);
        return;
    }
    if (operation->levels_before > 0 && operation->certain && !operation->operation.named_owner) {
        world_violation(client->world, "NOT_OWNED for an owner that holds", "client %u owner %u lock %u", client->index,
                        operation->owner->index, operation->name);
    }
}

/* Returns whether a grant of this acquire may have come after its lease. */
static bool may_be_late(struct client *client, const struct sim_operation *operation) {
    int64_t lease_ms = engine_wire_lease(&client->engine, operation->operation.lease_ms);
    int64_t max_hold_ms = operation->operation.max_hold_ms;
    lease_ms = max_hold_ms != REDLATCH_FOREVER && max_hold_ms < lease_ms ? max_hold_ms : lease_ms;
    return client_now(client) >= lease_deadline(operation->begun_local, lease_ms);
}

/* An owner that has released all its acquires is told of no earlier loss. Whoever reads and wants to write may be told
 * that the read lock is lost. */
static void check_acquire_lost(struct client *client, const struct sim_operation *operation) {
    const struct hold *hold = own_hold(operation);
    bool released = operation->certain && operation->levels_before == 0 && !operation->operation.named_owner &&
                    !operation->operation.set && operation->operation.lock_kind != REDLATCH_WRITE;
    if (!hold) {
        cover(client->world, COVER_LATE_GRANT);
    }
    if (released && (hold || !may_be_late(client, operation))) {
        world_violation(client->world, "LOST for an owner that has released all", "client %u owner %u lock %u",
                        client->index, operation->owner->index, operation->name);
    }
}

static void cover_failure(struct world *world, const struct sim_operation *operation) {
    int status = operation->operation.status;
    if (status == REDLATCH_TIMEOUT) {
        cover(world, COVER_TIMEOUT);
    } else if (status == REDLATCH_UNREACHABLE) {
        cover(world, COVER_UNREACHABLE);
    } else if (status == REDLATCH_NO_REPLY) {
        cover(world, COVER_NO_REPLY);
    } else if (status <= REDLATCH_SERVER && status > REDLATCH_NO_MEMORY) {
        cover(world, COVER_ERROR_REPLY_REPORTED);
    }
    bool outage = status <= REDLATCH_UNREACHABLE;
    bool slow = status == REDLATCH_NO_REPLY || status == REDLATCH_UNREACHABLE; /* deadline below a round trip */
    if (outage && world->plan.calm && !slow) {
        world_violation(world, "trouble without a fault", "client %u owner %u: status %d",
                        operation->owner->client->index, operation->owner->index, status);
    }
}

static void check_extended(struct client *client, const struct sim_operation *operation) {
    const struct hold *hold = own_hold(operation);
    if (hold) {
        bool sooner = hold->deadline < operation->deadline_before;
        cover(client->world, sooner ? COVER_EXTEND_SHORTER : COVER_EXTEND_LONGER);
    }
}

static void check_ended_well(struct client *client, const struct sim_operation *operation) {
    switch (operation->operation.kind) {
    case OPERATION_ACQUIRE:
        check_acquired(client, operation);
        break;
    case OPERATION_RELEASE:
        if (operation->operation.unconfirmed) {
            check_unconfirmed_begun(client, operation);
        } else {
            check_release_ok(client, operation);
        }
        break;
    case OPERATION_EXTEND:
        check_extended(client, operation);
        break;
    case OPERATION_FORCE:
        if (operation->operation.forced) {
            cover(client->world, COVER_FORCED);
        }
        break;
    default:
        cover(client->world, COVER_QUERIED);
        break;
    }
}

/* The result of a call must have the serial of the hold. */
static void check_serial(struct client *client, const struct operation *operation) {
    uint64_t expected = serial_of(client->world, client->index, operation->id);
    bool notified = operation->status == REDLATCH_OK && operation->id != 0 && !operation->set;
    if (notified && operation->kind != OPERATION_CHANGE && operation->serial != expected) {
        world_violation(client->world, "a call tells of another hold than that it was about",
                        "client %u id %d serial %d, expected %d", client->index, (int)operation->id,
                        (int)operation->serial, (int)expected);
    }
}

void check_ended(struct client *client, struct sim_operation *operation) {
    struct world *world = client->world;
    int status = operation->operation.status;
    uint8_t kind = operation->operation.kind;
    check_serial(client, &operation->operation);
    TRACE(world, "client %u: owner %u is told %d of lock %u (id %d)", client->index, operation->owner->index, status,
          operation->name, (int)operation->operation.id);
    if (status == REDLATCH_OK) {
        check_ended_well(client, operation);
    } else if (status == REDLATCH_LOST && kind == OPERATION_RELEASE) {
        check_release_lost(client, operation);
    } else if (status == REDLATCH_LOST && kind == OPERATION_ACQUIRE) {
        check_acquire_lost(client, operation);
    } else if (status == REDLATCH_NOT_OWNED) {
        check_not_owned(client, operation);
    } else {
        cover_failure(world, operation);
    }
    bool refused = status <= REDLATCH_SERVER && kind == OPERATION_RELEASE && !operation->operation.set;
    if (refused && operation->operation.id != 0) { /* the hold ends with its lease */
        note_of(world, client->index, operation->operation.id)->written_off = true;
    }
}

/* Returns whether an operation in progress is requesting with a command. */
static bool is_requesting(const struct client *client, const struct command *command) {
    for (const struct sim_operation *each = client->operations; each; each = each->next) {
        if (each->in_use && each->operation.phase == PHASE_REQUESTING && each->operation.command == command) {
            return true;
        }
    }
    return false;
}

static void check_renewal_sent(struct client *client, const struct command *command) {
    struct world *world = client->world;
    for (uint32_t i = 0; i < command->batch_count; i++) {
        const struct id_note *note = note_of(world, client->index, command->batch[i].id);
        if (command->batch[i].lease_ms > 0 && (note->release_sent_at || note->written_off)) {
            world_violation(world, "a hold is renewed after its end", "client %u id %d", client->index,
                            (int)command->batch[i].id);
        }
    }
}

/* Notes when the operation that a command may grant was requested. */
static void note_requested(struct client *client, const struct command *command) {
    const struct wait_queue *queue = command->kind == COMMAND_HAND_OVER ? command->resource->queue : NULL;
    struct operation *asker = command->kind == COMMAND_ACQUIRE ? command->operation : NULL;
    if (queue && queue->handing == command) {
        asker = queue->receiver;
    }
    if (asker) {
        container_of(asker, struct sim_operation, operation)->requested_local = client_now(client);
    }
}

void check_sent(struct client *client, const struct command *command) {
    struct world *world = client->world;
    if (command->abandoned) {
        world_violation(world, "a command that was given up is sent", "client %u id %d kind %d", client->index,
                        (int)command->id, command->kind);
    }
    check_set_sent(client, command);
    if (command->kind == COMMAND_MOVE) {
        note_of(world, client->index, command->successor)->serial = serial_of(world, client->index, command->id);
    }
    note_requested(client, command);
    bool acquire = command->kind == COMMAND_ACQUIRE || command->kind == COMMAND_ACQUIRE_MANY;
    if (command->kind == COMMAND_RENEW) {
        check_renewal_sent(client, command);
    } else if (acquire && !is_requesting(client, command)) {
        world_violation(world, "an acquire that was given up is sent", "client %u id %d", client->index,
                        (int)command->id);
    } else if ((command->kind == COMMAND_RELEASE && command->count == 0) || command->kind == COMMAND_HAND_OVER) {
        struct id_note *note = note_of(world, client->index, command->id);
        note->releases_in_doubt += !client->links[command->pipeline].connection->ended;
        note->release_sent_at = note->release_sent_at ? note->release_sent_at : world->now;
        if (command->operation) {
            container_of(command->operation, struct sim_operation, operation)->last = true;
        }
        if (command->hold && note->deadline == 0) {
            note->deadline = clock_true(&client->clock, command->hold->deadline);
        }
    }
}

static void cover_refused(struct world *world, const struct command *command) {
    switch (command->kind) {
    case COMMAND_ACQUIRE:
        cover(world, COVER_REFUSED_ACQUIRE);
        break;
    case COMMAND_REENTER:
        cover(world, COVER_REFUSED_REENTER);
        break;
    case COMMAND_RELEASE:
        cover(world, COVER_REFUSED_RELEASE);
        break;
    case COMMAND_EXTEND:
        cover(world, COVER_REFUSED_EXTEND);
        break;
    case COMMAND_HAND_OVER:
        cover(world, COVER_REFUSED_HAND_OVER);
        break;
    case COMMAND_RENEW:
        cover(world, COVER_REFUSED_RENEWAL);
        break;
    default:
        break;
    }
}

void check_reply(struct client *client, const struct command *command, const struct reply *reply) {
    struct world *world = client->world;
    if (reply->kind == REPLY_ERROR) {
        struct error_reply error_reply = error_reply_of(reply->text, reply->size);
        check_set_refused(client, command, &error_reply);
        bool release = (command->kind == COMMAND_RELEASE && command->count == 0) || command->kind == COMMAND_HAND_OVER;
        if (release) {
            struct id_note *note = note_of(world, client->index, command->id);
            note->releases_in_doubt -= !error_reply.may_have_executed && error_reply.status != REDLATCH_WRONG_TYPE;
            note->written_off = note->written_off || (!error_reply.transient && !error_reply.may_have_executed);
        }
        if (command->kind == COMMAND_MOVE && !error_reply.transient) { /* the server may have either id */
            note_of(world, client->index, command->id)->tainted = true;
            note_of(world, client->index, command->successor)->tainted = true;
        }
        bool level = (command->kind == COMMAND_RELEASE && command->count > 0) || command->kind == COMMAND_REENTER;
        if (level && (!command->operation || command->repeated)) {
            note_of(world, client->index, command->id)->count_in_doubt = true;
        }
        if (error_reply.no_script) {
            cover(world, COVER_NOSCRIPT);
        } else {
            cover_refused(world, command);
        }
    } else if (command->kind == COMMAND_HAND_OVER) {
        bool granted = reply->kind == REPLY_STRING || reply->integer > 0; /* the reply of a fenced lock is a token */
        cover(world, granted ? COVER_HAND_OVER_GRANTED : COVER_HAND_OVER_NOTHING);
    } else if (command->kind == COMMAND_RENEW) {
        cover(world, COVER_RENEWED);
        for (uint32_t i = 0; i < command->batch_count && i < reply->count; i++) {
            bool missing = command->batch[i].live && reply->elements[i].integer == -2;
            struct id_note *note = note_of(world, client->index, command->batch[i].id);
            note->reported_missing = note->reported_missing || missing;
        }
    }
}

void check_loss(struct client *client, const struct hold *hold) {
    struct world *world = client->world;
    static const enum cover_point points[] = {
        [REDLATCH_REASON_EXPIRED] = COVER_LOST_EXPIRED,
        [REDLATCH_REASON_MISSING] = COVER_LOST_MISSING,
        [REDLATCH_REASON_MAX_HOLD] = COVER_LOST_MAX_HOLD,
        [REDLATCH_REASON_ABANDONED] = COVER_LOST_ABANDONED,
    };
    if (hold->release_status != REDLATCH_OK) {
        check_release_failed(client, hold);
        return;
    }
    struct id_note *note = note_of(world, client->index, hold->id);
    TRACE(world, "client %u: lost id %d, reason %d", client->index, (int)hold->id, hold->reason);
    cover(world, points[hold->reason]);
    note->written_off = true;
    wakes_lost(client, hold);
    bool watched = hold->renewed_from != 0 && hold->renewed_from <= hold->count && hold->max_hold_at == NEVER &&
                   !(hold->busy && hold->busy->kind == COMMAND_EXTEND) &&
                   hold->lease_ms >= world->plan.settings.watchdog_lease_ms;
    if (world->plan.calm && hold->reason == REDLATCH_REASON_EXPIRED && watched) {
        world_violation(world, "a renewed hold was lost without a fault", "client %u id %d", client->index,
                        (int)hold->id);
    }
    if (hold->reason == REDLATCH_REASON_MISSING && note->removed == REMOVED_NOT && !world->checker.wire[0].other_type &&
        !note->tainted) {
        world_violation(world, "a hold is called missing that the server has", "client %u id %d", client->index,
                        (int)hold->id);
    }
    if (hold->reason == REDLATCH_REASON_EXPIRED && client_now(client) < hold->deadline) {
        world_violation(world, "a hold is called expired before its deadline", "client %u id %d", client->index,
                        (int)hold->id);
    }
}

/* When an owner ends, its holds end with their leases. */
void check_owner_end(struct client *client, const struct owner *owner) {
    for (uint32_t name = 0; name < client->world->plan.names; name++) {
        const struct hold *hold = resource_hold_of(client->names[name], world_side(client->world, name), owner->number);
        if (hold) {
            note_of(client->world, client->index, hold->id)->written_off = true;
        }
    }
}

static enum cover_point resolution_point(const struct client *client, const struct command *command, bool denied) {
    const struct wait_queue *queue = command->resource ? command->resource->queue : NULL;
    (void)client;
    if (command->kind == COMMAND_RENEW) {
        return COVER_RESOLVE_RENEWAL;
    }
    if (command->abandoned) {
        return denied ? COVER_RESOLVE_ABANDONED_DENIED : COVER_RESOLVE_ABANDONED;
    }
    switch (command->kind) {
    case COMMAND_ACQUIRE_MANY:
    case COMMAND_ACQUIRE:
        return denied ? COVER_RESOLVE_ACQUIRE_DENIED : COVER_RESOLVE_ACQUIRE;
    case COMMAND_REENTER:
        return denied ? COVER_RESOLVE_REENTER_DENIED : COVER_RESOLVE_REENTER;
    case COMMAND_RELEASE_MANY:
        return command_has_hold(command) ? COVER_RESOLVE_RELEASE : COVER_RESOLVE_UNDO;
    case COMMAND_RELEASE:
        if (command->count > 0) {
            return COVER_RESOLVE_PARTIAL;
        }
        if (!command->hold && !command->operation) {
            return denied ? COVER_RESOLVE_UNDO_DENIED : COVER_RESOLVE_UNDO;
        }
        return denied ? COVER_RESOLVE_RELEASE_DENIED : COVER_RESOLVE_RELEASE;
    case COMMAND_EXTEND:
        return denied ? COVER_RESOLVE_EXTEND_DENIED : COVER_RESOLVE_EXTEND;
    case COMMAND_HAND_OVER:
        if (!queue || queue->handing != command || !queue->receiver) {
            return COVER_RESOLVE_HAND_OVER_LEFT;
        }
        return denied ? COVER_RESOLVE_HAND_OVER_DENIED : COVER_RESOLVE_HAND_OVER;
    case COMMAND_MOVE:
        return COVER_RESOLVE_MOVE;
    case COMMAND_FORCE:
        return COVER_RESOLVE_FORCE;
    default:
        return COVER_RESOLVE_QUERY;
    }
}

void check_resolution(struct client *client, enum link_kind kind, enum resolution how) {
    struct list *list = &client->engine.server->pipelines[kind].in_doubt;
    for (struct list_link *link = list_first(list); link; link = list_next(list, link)) {
        struct command *command = container_of(link, struct command, link);
        cover(client->world, resolution_point(client, command, how == RESOLUTION_DENIED));
    }
}
