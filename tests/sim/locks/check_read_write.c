/* The two modes of a read-write lock on the server. Each mode has a record, as if it were a lock of its own: the
 * writers' at the even index, the readers' at the odd index after it. A mode counts as present while nobody can enter
 * it: the writers' record while the lock exists, the readers' record while somebody writes.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "sim_client.h"
#include "world.h"

static struct wire_name *sides_of(struct world *world, uint32_t name) {
    return &world->checker.wire[name & ~1u];
}

/* Returns the true time at which a reader's last timeout key ends. If there is no such key, returns the time noted
 * before. */
static int64_t reader_ends(struct world *world, uint32_t name, struct redis_text owner, struct wire_field *field) {
    const struct wire_field *before = wire_find(&sides_of(world, name)[1], field->client, field->id);
    int64_t best = -2;
    char key[160];
    for (int64_t level = 1; level <= field->count + 1; level++) {
        snprintf(key, sizeof key, "{%.*s}:%.*s:rwlock_timeout:%d", (int)world->names[name].size,
                 world->names[name].bytes, (int)owner.size, owner.bytes, (int)level);
        int64_t ttl = keyspace_pttl(world->server.keyspace, redis_text(key));
        if (level > field->count && ttl != -2) {
            world_violation(world, "a timeout key is left of a released level", "lock %u, level %d", name, (int)level);
        } else if (level <= field->count && ttl > best) {
            best = ttl;
        }
    }
    field->dead = best == -2;
    if (field->dead) {
        return before ? before->expires : 0;
    }
    return server_expiry(&world->server, keyspace_time(world->server.keyspace) + best);
}

static void read_sides(struct world *world, uint32_t name, struct wire_name sides[2]) {
    struct redis_reply all = {0};
    server_touch(world);
    int64_t ttl = keyspace_pttl(world->server.keyspace, world->names[name]);
    sides[0] = sides[1] = (struct wire_name){.present = false};
    if (ttl == -2) {
        return;
    }
    wire_call(world, "HGETALL", name, &all);
    sides[0].present = true;
    sides[0].other_type = sides[1].other_type = all.kind == REDIS_ERROR;
    sides[0].expires = sides[1].expires = server_expiry(&world->server, keyspace_time(world->server.keyspace) + ttl);
    for (size_t i = 0; all.kind == REDIS_ARRAY && i + 1 < all.size; i += 2) {
        struct redis_text text = redis_reply_view(&all.elements[i]);
        struct redis_text value = redis_reply_view(&all.elements[i + 1]);
        if (text.size == 4 && memcmp(text.bytes, "mode", 4) == 0) {
            sides[1].present = value.size == 5; /* write */
            continue;
        }
        bool writes = text.size > 6 && memcmp(text.bytes + text.size - 6, ":write", 6) == 0;
        struct wire_name *side = &sides[!writes];
        struct wire_field field = wire_parse_owner(text);
        integer_parse(value, &field.count);
        field.expires = writes ? sides[0].expires : reader_ends(world, name, text, &field);
        if (world_has_room(world, "WIRE_FIELDS", side->count, WIRE_FIELDS)) {
            side->fields[side->count++] = field;
        }
    }
    redis_reply_free(&all);
    if (!sides[0].other_type && sides[1].present != (sides[0].count > 0)) {
        world_violation(world, "the mode does not say whether somebody writes", "lock %u", name);
    }
    if (ttl == -1) {
        world_violation(world, "a key has no TTL", "lock %u", name);
    }
}

/* A reader without timeout keys is dead, though its field may stay. */
static void note_dead(struct world *world, const struct wire_name *readers) {
    for (uint32_t i = 0; i < readers->count; i++) {
        const struct wire_field *field = &readers->fields[i];
        if (field->dead && field->client != FOREIGN &&
            note_of(world, field->client, field->id)->removed == REMOVED_NOT) {
            wire_removed(world, field, REMOVED_EXPIRED, field->expires);
        }
    }
}

/* In read mode the lock ends with its last reader (W-12, W-14), or up to 1 s later. Not checked if all readers are
 * dead. If setting the clock postponed the end of the lock, the lock may also outlive readers that enter afterwards. */
static void check_lease(struct world *world, uint32_t name, const struct wire_name sides[2]) {
    int64_t longest = 0;
    for (uint32_t i = 0; i < sides[1].count; i++) {
        const struct wire_field *field = &sides[1].fields[i];
        longest = !field->dead && field->expires > longest ? field->expires : longest;
    }
    bool reading = sides[0].present && !sides[1].present && !sides[0].other_type && longest > 0;
    if (reading && sides[0].expires < longest) {
        world_violation(world, "the lock ends before a reader's lease", "lock %u, by %d us", name,
                        (int)(longest - sides[0].expires));
    } else if (reading && sides[0].expires > longest + 1100 * MILLISECOND &&
               sides[0].expires > sides_of(world, name)[0].stepped_until) {
        world_violation(world, "the lock outlives its readers", "lock %u, by %d us", name,
                        (int)(sides[0].expires - longest));
    }
}

/* What a request does to one lock. `script` is the script that does the same to one lock only. */
struct deed {
    const struct request *request;
    uint32_t name;
    uint32_t owner; /* index of the owner's argument */
    enum script_id script;
};

static struct deed deed_of(struct world *world, const struct request *request, uint32_t name) {
    struct deed deed = {request, name, owner_argument(world, request, name), request->script};
    char form = form_of_line(world, request, name);
    bool reads = form == 'r' || form == 'R';
    if (request->script == SCRIPT_RELEASE_MANY) {
        deed.script = reads ? SCRIPT_RELEASE_READ : SCRIPT_RELEASE_WRITE;
    } else if (request->script == SCRIPT_ACQUIRE_MANY && form < 'a') {
        deed.script = reads ? SCRIPT_REENTER_READ : SCRIPT_REENTER;
    } else if (request->script == SCRIPT_ACQUIRE_MANY) {
        deed.script = reads ? SCRIPT_ACQUIRE_READ : SCRIPT_ACQUIRE_WRITE;
    }
    return deed;
}

/* is_by returns whether the request is by an owner, is_to whether it passes the hold on to an owner. */
static bool is_by(const struct deed *deed, const struct wire_field *field) {
    return wire_is_argument(deed->request, deed->owner, field);
}

static bool is_to(const struct deed *deed, const struct wire_field *field) {
    return deed->script == deed->request->script && wire_is_argument(deed->request, 1, field);
}

/* Returns whether a reader may enter although there is a writer, because the reader is that writer. */
static bool passes(const struct deed *deed, const struct wire_field *writer) {
    return wire_is_argument(deed->request, deed->owner + 2, writer);
}

static bool is_moved(const struct deed *deed, const struct wire_field *field) {
    return (deed->script == SCRIPT_EXTEND_READ || deed->script == SCRIPT_EXTEND_WRITE) && is_by(deed, field) &&
           !is_to(deed, field);
}

static void judge_removed(struct world *world, const struct deed *deed, const struct wire_field *field, bool reads) {
    enum script_id release = reads ? SCRIPT_RELEASE_READ : SCRIPT_RELEASE_WRITE;
    const struct wire_name *sides = sides_of(world, deed->name);
    if (deed->script == SCRIPT_FORCE_RELEASE_READ_WRITE) {
        if (sides[1].present != (deed->request->texts[1].size == 5)) {
            world_violation(world, "a force release of the other side", "client %u id %d", field->client,
                            (int)field->id);
        }
        wire_removed(world, field, REMOVED_DELETED, world->now);
    } else if (deed->script == release && is_by(deed, field)) {
        wire_removed(world, field, REMOVED_RELEASE, world->now);
    } else if ((deed->script == SCRIPT_HAND_OVER_WRITE && !reads && is_by(deed, field)) || is_moved(deed, field)) {
        wire_removed(world, field, REMOVED_HANDED, world->now);
    } else if (!reads || !field->dead) {
        wrongly_removed(world, deed->script, field);
    }
}

static void judge_created(struct world *world, const struct deed *deed, const struct wire_name before[2],
                          const struct wire_field *field, bool reads) {
    enum script_id script = deed->script;
    struct wire_name *writers = sides_of(world, deed->name);
    bool own = is_by(deed, field);
    const struct wire_field *writer = before[0].count ? &before[0].fields[0] : NULL;
    bool reader = reads && script == SCRIPT_ACQUIRE_READ && own && (!writer || passes(deed, writer));
    bool wrote = !reads && script == SCRIPT_ACQUIRE_WRITE && own && !before[0].present;
    bool next = is_to(deed, field);
    bool handed = !reads && script == SCRIPT_HAND_OVER_WRITE && writer && before[1].count == 0 && is_by(deed, writer) &&
                  next;
    bool moved = next && !own && script == (reads ? SCRIPT_EXTEND_READ : SCRIPT_EXTEND_WRITE);
    if (!reader && !wrote && !handed && !moved) {
        wrongly_created(world, script, field);
        return;
    }
    wire_created(world, field);
    world->checker.created++;
    writers->chain = handed ? writers->chain + 1 : moved ? writers->chain : 0;
    check_chain(world, writers->chain);
}

static void judge_changed(struct world *world, const struct deed *deed, const struct wire_field *before,
                          const struct wire_field *after, bool reads) {
    enum script_id script = deed->script;
    struct count_changes allowed = {.lower = script == (reads ? SCRIPT_RELEASE_READ : SCRIPT_RELEASE_WRITE),
                                    .raise = script == (reads ? SCRIPT_REENTER_READ : SCRIPT_REENTER)};
    check_count(world, script, before->count, after->count, allowed);
    if (script != (reads ? SCRIPT_EXTEND_READ : SCRIPT_EXTEND_WRITE)) {
        check_not_shortened(world, script, before->expires, after->expires);
    }
    bool renews = script == SCRIPT_RENEW || script == SCRIPT_RENEW_READ;
    if (reads && after->expires > before->expires && !renews && !is_by(deed, before)) {
        world_violation(world, "a script lengthened another reader's lease", "%s", scripts_embedded[script].name);
    }
}

/* Replaces the records of both modes. */
static void replace(struct world *world, uint32_t name, const struct wire_name new[2], bool notified) {
    struct wire_name *old = sides_of(world, name);
    note_dead(world, &new[1]);
    for (uint32_t side = 0; side < 2; side++) {
        bool freed = old[side].present && !new[side].present;
        int64_t free_since = freed ? world->now : old[side].free_since;
        bool was_notified = freed ? notified : old[side].notified;
        uint32_t chain = old[side].chain;
        int64_t stepped_until = new[side].present ? old[side].stepped_until : 0;
        old[side] = new[side];
        old[side].stepped_until = stepped_until;
        old[side].free_since = free_since;
        old[side].notified = was_notified;
        old[side].chain = new[side].present ? chain : 0;
    }
}

void judge_sides(struct world *world, const struct request *request, uint32_t name, bool whole) {
    struct wire_name new[2];
    struct wire_name before[2] = {sides_of(world, name)[0], sides_of(world, name)[1]};
    struct deed deed = deed_of(world, request, name);
    read_sides(world, name, new);
    for (uint32_t side = 0; side < 2; side++) {
        for (uint32_t i = 0; i < before[side].count; i++) {
            const struct wire_field *old = &before[side].fields[i];
            const struct wire_field *after = wire_find(&new[side], old->client, old->id);
            if (after) {
                judge_changed(world, &deed, old, after, side == 1);
            } else {
                judge_removed(world, &deed, old, side == 1);
            }
        }
        for (uint32_t i = 0; i < new[side].count; i++) {
            const struct wire_field *field = &new[side].fields[i];
            if (!wire_find(&before[side], field->client, field->id)) {
                judge_created(world, &deed, before, field, side == 1);
            }
        }
    }
    check_lease(world, name, new);
    bool notified = deed.script == SCRIPT_RELEASE_READ || deed.script == SCRIPT_RELEASE_WRITE ||
                    deed.script == SCRIPT_FORCE_RELEASE_READ_WRITE;
    bool was_held = before[0].present;
    replace(world, name, new, notified && whole);
    if (was_held && !new[0].present && notified &&whole) {
        check_freed(world, name & ~1u);
    }
}

void watch_sides(struct world *world, uint32_t name) {
    struct wire_name *old = sides_of(world, name);
    struct wire_name new[2];
    if (!old[0].present) {
        return;
    }
    server_touch(world);
    if (keyspace_exists(world->server.keyspace, world->names[name])) {
        read_sides(world, name, new);
        note_dead(world, &new[1]);
        for (uint32_t i = 0; i < old[1].count; i++) {
            const struct wire_field *now = wire_find(&new[1], old[1].fields[i].client, old[1].fields[i].id);
            old[1].fields[i].dead = now && now->dead;
        }
        return;
    }
    for (uint32_t side = 0; side < 2; side++) {
        for (uint32_t i = 0; i < old[side].count; i++) {
            const struct wire_field *field = &old[side].fields[i];
            if (field->client == FOREIGN || note_of(world, field->client, field->id)->removed == REMOVED_NOT) {
                wire_removed(world, field, REMOVED_EXPIRED, old[0].expires);
            }
        }
        bool was_present = old[side].present;
        int64_t since = old[0].expires < world->now ? old[0].expires : world->now;
        old[side] = (struct wire_name){.free_since = was_present ? since : old[side].free_since};
        world->checker.ran_out_at[name + side] = was_present ? since : world->checker.ran_out_at[name + side];
    }
}

void watch_external_sides(struct world *world, uint32_t name, bool notified) {
    struct wire_name *old = sides_of(world, name);
    struct wire_name new[2];
    read_sides(world, name, new);
    for (uint32_t side = 0; side < 2; side++) {
        for (uint32_t i = 0; i < old[side].count; i++) {
            const struct wire_field *field = &old[side].fields[i];
            if (!wire_find(&new[side], field->client, field->id)) {
                wire_removed(world, field, REMOVED_DELETED, world->now);
            }
        }
    }
    replace(world, name, new, notified);
}

/* The server's clock was set: leases end at another time. */
void watch_clock_of_sides(struct world *world, uint32_t name) {
    struct wire_name *old = sides_of(world, name);
    struct wire_name new[2];
    if (!old[0].present) {
        return;
    }
    read_sides(world, name, new);
    if (new[0].present) {
        replace(world, name, new, false);
        old[0].stepped_until = old[0].expires;
    } else {
        old[0].expires = world->now;
        watch_sides(world, name);
    }
}

static bool believed(struct client *client, const struct hold *hold, uint32_t slot) {
    return hold->lock_kind == world_side(client->world, slot) && is_believed(client, hold, slot);
}

/* While an owner writes, nobody else holds the lock. That owner may read. */
void check_exclusion_of_modes(struct world *world, uint32_t name) {
    uint32_t lock = name & ~1u;
    uint64_t writer = 0;
    uint32_t writers = world->foreign.held && world->foreign.name == lock && world->now < world->foreign.until;
    for (uint32_t i = 0; i < world->plan.clients; i++) {
        for (struct hold *hold = world->clients[i]->names[lock]->holds; hold; hold = hold->next) {
            if (believed(world->clients[i], hold, lock)) {
                writers++;
                writer = hold->owner;
            }
        }
    }
    for (uint32_t i = 0; i < world->plan.clients && writers > 0; i++) {
        for (struct hold *hold = world->clients[i]->names[lock]->holds; hold; hold = hold->next) {
            if (believed(world->clients[i], hold, lock + 1) && hold->owner != writer) {
                world_violation(world, "one reads while another writes", "lock %u, client %u id %d", lock, i,
                                (int)hold->id);
            }
        }
    }
    if (writers > 1) {
        world_violation(world, "two believe that they hold the lock", "lock %u for writing", lock);
    }
}

static bool reads(const struct sim_operation *operation) {
    const struct hold *hold = resource_hold_of(operation->operation.resource, REDLATCH_READ,
                                               operation->operation.owner);
    return hold && hold->stage == HOLD_ALIVE;
}

/* An owner that reads must not get the write lock for the first time. */
void check_upgrade(struct client *client, const struct sim_operation *operation) {
    const struct hold *hold = resource_hold_of(operation->operation.resource, REDLATCH_WRITE,
                                               operation->operation.owner);
    if (operation->operation.lock_kind == REDLATCH_WRITE && hold && hold->count == 1 && reads(operation)) {
        world_violation(client->world, "a reader became a writer", "client %u lock %u", client->index, operation->name);
    }
}

/* An owner that reads must not wait for the write lock either. */
void check_upgrade_waits(struct client *client, const struct sim_operation *operation) {
    bool waits = operation->operation.phase == PHASE_PARKED || operation->operation.phase == PHASE_QUEUED;
    if (waits && operation->operation.lock_kind == REDLATCH_WRITE && !operation->operation.hold && reads(operation)) {
        world_violation(client->world, "a reader waits for itself", "client %u lock %u", client->index,
                        operation->name);
    }
}
