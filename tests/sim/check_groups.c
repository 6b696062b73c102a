/* The values of a group on the wire. Every name of a world is two values of one group, of which it shares each with a
 * neighbour. It counts as present while any of its values is held; a hold is a field of it while it has both. What an
 * owner whose time is over left behind is nothing. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "sim_client.h"
#include "world.h"

/* One value, as the server has it. */
struct value {
    struct wire_field field; /* its living owner; `expires` is when that ends */
    bool held;
};

static struct redis_text value_text(const struct world *world, uint32_t value) {
    return (struct redis_text){world->values + (size_t)value * GROUP_VALUE_SIZE, GROUP_VALUE_SIZE};
}

/* What stands in a field of the group about a value and an owner. */
static bool own_number(struct world *world, uint32_t value, struct redis_text owner, const char *what,
                       int64_t *number_out) {
    char field[160];
    struct redis_text text = value_text(world, value);
    int size = snprintf(field, sizeof field, "%.*s:%.*s:%s", (int)text.size, text.bytes, (int)owner.size, owner.bytes,
                        what);
    struct redis_text name = {field, (size_t)size};
    return keyspace_hget(world->server.keyspace, world->names[0], name, &text) && integer_parse(text, number_out);
}

static struct value read_value(struct world *world, uint32_t value) {
    struct value found = {.held = false};
    struct redis_text owner;
    int64_t ends = 0;
    if (keyspace_hget(world->server.keyspace, world->names[0], value_text(world, value), &owner) &&
        own_number(world, value, owner, "expire_time", &ends) && ends > keyspace_time(world->server.keyspace)) {
        found.held = true;
        found.field = wire_parse_owner(owner);
        own_number(world, value, owner, "lock_count", &found.field.count);
        found.field.expires = clock_true(&world->server.clock, ends * MILLISECOND);
    }
    return found;
}

static bool same_owner(const struct wire_field *one, const struct wire_field *other) {
    return one->client == other->client && one->id == other->id;
}

static struct wire_name name_of_values(const struct value two[2]) {
    struct wire_name wire = {.present = two[0].held || two[1].held};
    for (int i = 0; i < 2; i++) {
        bool later = two[i].held && two[i].field.expires > wire.expires;
        wire.expires = later ? two[i].field.expires : wire.expires;
    }
    if (two[0].held && two[1].held && same_owner(&two[0].field, &two[1].field)) {
        const struct wire_field *last = two[0].field.expires < two[1].field.expires ? &two[0].field : &two[1].field;
        wire.fields[0] = *last;
        wire.fields[0].count = two[0].field.count < two[1].field.count ? two[0].field.count : two[1].field.count;
        wire.count = 1;
    }
    return wire;
}

/* No hold has one of its values alone, unless it was taken away. */
static void check_whole(struct world *world, const struct value *values, const struct wire_name *names) {
    for (uint32_t i = 0; i <= world->plan.names; i++) {
        const struct wire_field *owner = &values[i].field;
        bool before = i > 0 && wire_find(&names[i - 1], owner->client, owner->id);
        bool whole = before || (i < world->plan.names && wire_find(&names[i], owner->client, owner->id));
        bool ours = values[i].held && owner->client != FOREIGN;
        if (ours && !whole && !note_of(world, owner->client, owner->id)->tainted) {
            world_violation(world, "a group is held in part", "value %u, client %u id %d", i, owner->client,
                            (int)owner->id);
        }
    }
}

/* Reads all names; the group's key must outlive what is in it. */
static void read_group(struct world *world, struct wire_name names[MAX_NAMES], struct value values[MAX_NAMES + 1]) {
    struct redis_reply kind = {0};
    memset(names, 0, sizeof *names * MAX_NAMES);
    server_touch(world);
    int64_t ttl = keyspace_pttl(world->server.keyspace, world->names[0]);
    wire_call(world, "HLEN", 0, &kind);
    bool other_type = kind.kind == REDIS_ERROR;
    redis_reply_free(&kind);
    for (uint32_t i = 0; i <= world->plan.names; i++) {
        values[i] = other_type ? (struct value){.held = false} : read_value(world, i);
    }
    int64_t key_ends = server_expiry(&world->server, keyspace_time(world->server.keyspace) + ttl);
    for (uint32_t name = 0; name < world->plan.names; name++) {
        names[name] = name_of_values(&values[name]);
        if (other_type) {
            names[name].present = names[name].other_type = true;
            names[name].expires = key_ends;
        } else if (names[name].present && ttl != -1 && names[name].expires > key_ends) {
            world_violation(world, "the group ends before a hold of it", "lock %u, by %d us", name,
                            (int)(names[name].expires - key_ends));
        }
    }
    if (ttl == -1) {
        world_violation(world, "a key has no TTL", "the group");
    }
}

/* Nothing is left of owners but what the values say; a peer like Redisson leaves what is over (W-20). */
static void check_leftovers(struct world *world) {
    struct redis_reply all = {0};
    wire_call(world, "HGETALL", 0, &all);
    for (size_t i = 0; all.kind == REDIS_ARRAY && i + 1 < all.size && !world->plan.foreign; i += 2) {
        struct redis_text field = redis_reply_view(&all.elements[i]);
        if (field.size <= GROUP_VALUE_SIZE) {
            continue;
        }
        struct redis_text value = {field.bytes, GROUP_VALUE_SIZE};
        struct redis_text owner;
        bool has = keyspace_hget(world->server.keyspace, world->names[0], value, &owner) &&
                   field.size > GROUP_VALUE_SIZE + owner.size + 1 &&
                   memcmp(field.bytes + GROUP_VALUE_SIZE + 1, owner.bytes, owner.size) == 0;
        if (!has) {
            world_violation(world, "something is left of who does not hold", "%.*s", (int)field.size, field.bytes);
        }
    }
    redis_reply_free(&all);
}

/* Which name a line of a request is about, by the first of its values, which end the line. */
uint32_t group_name(const struct world *world, const struct request *request, uint32_t line) {
    uint32_t per_line = request->renewal ? request->argument_count / request->key_count : request->argument_count;
    const struct redis_text *texts = request->many ? request->many : request->texts;
    struct redis_text first = texts[request->key_count + per_line * (line + 1) - 2];
    uint32_t name = 0;
    while (name + 1 < world->plan.names && !text_equal(first, value_text(world, name))) {
        name++;
    }
    return name;
}

static bool overlap(uint32_t one, uint32_t other) {
    return one == other || one + 1 == other || other + 1 == one;
}

static bool is_renewed(const struct request *request, const struct wire_field *field) {
    uint32_t per_line = request->argument_count / request->key_count;
    for (uint32_t i = 0; request->renewal && i < request->key_count; i++) {
        if (wire_is_argument(request, per_line * i, field)) {
            return true;
        }
    }
    return false;
}

static void judge_removed(struct world *world, const struct request *request, uint32_t name,
                          const struct wire_field *field) {
    enum script_id script = role_of(request->script);
    bool own = (script == SCRIPT_RELEASE || script == SCRIPT_HAND_OVER) && wire_is_argument(request, 0, field);
    if (script == SCRIPT_FORCE_RELEASE && overlap(name, group_name(world, request, 0))) {
        wire_removed(world, field, REMOVED_DELETED, world->now);
    } else if (own) {
        wire_removed(world, field, script == SCRIPT_RELEASE ? REMOVED_RELEASE : REMOVED_HANDED, world->now);
    } else {
        wrongly_removed(world, request->script, field);
    }
}

static void judge_created(struct world *world, const struct request *request, uint32_t name,
                          const struct wire_field *field) {
    struct wire_name *old = &world->checker.wire[name];
    enum script_id script = role_of(request->script);
    bool about = group_name(world, request, 0) == name;
    bool acquired = script == SCRIPT_ACQUIRE && about && !old->present && wire_is_argument(request, 0, field);
    bool handed = script == SCRIPT_HAND_OVER && about && old->count == 1 &&
                  wire_is_argument(request, 0, &old->fields[0]) && wire_is_argument(request, 1, field);
    if (!acquired && !handed) {
        wrongly_created(world, request->script, field);
        return;
    }
    if (acquired && field->count != 1) {
        world_violation(world, "a hold begins with a count of another", "client %u id %d: %d", field->client,
                        (int)field->id, (int)field->count);
    }
    wire_created(world, field);
    if (handed && note_of(world, old->fields[0].client, old->fields[0].id)->release_sent_at == 0) {
        return; /* a move to a new id, not a hand-over */
    }
    old->chain = handed ? old->chain + 1 : 0;
    check_chain(world, old->chain);
}

static void judge_changed(struct world *world, const struct request *request, const struct wire_field *before,
                          const struct wire_field *after) {
    enum script_id script = role_of(request->script);
    bool own = !request->renewal && wire_is_argument(request, 0, before);
    struct count_changes allowed = {.lower = script == SCRIPT_RELEASE && own, .raise = script == SCRIPT_REENTER && own};
    check_count(world, request->script, before->count, after->count, allowed);
    if (!(script == SCRIPT_EXTEND && own)) {
        check_not_shortened(world, request->script, before->expires, after->expires);
    }
    if (after->expires > before->expires && !own && !is_renewed(request, before)) {
        world_violation(world, "a script lengthened another owner's lease", "%s",
                        scripts_embedded[request->script].name);
    }
}

void judge_group(struct world *world, const struct request *request, bool whole) {
    struct wire_name new[MAX_NAMES];
    struct value values[MAX_NAMES + 1];
    enum script_id script = role_of(request->script);
    read_group(world, new, values);
    for (uint32_t name = 0; name < world->plan.names; name++) {
        const struct wire_name *old = &world->checker.wire[name];
        const struct wire_field *before = old->count ? &old->fields[0] : NULL;
        const struct wire_field *after = before ? wire_find(&new[name], before->client, before->id) : NULL;
        if (before && after) {
            judge_changed(world, request, before, after);
        } else if (before) {
            judge_removed(world, request, name, before);
        }
        if (new[name].count && !after) {
            judge_created(world, request, name, &new[name].fields[0]);
        }
    }
    bool told = whole && (script == SCRIPT_RELEASE || script == SCRIPT_FORCE_RELEASE);
    check_whole(world, values, new);
    check_leftovers(world);
    for (uint32_t name = 0; name < world->plan.names; name++) {
        wire_update(world, name, &new[name], told);
    }
}

/* Brings the record of a name up to date with what time alone has done. */
void watch_values(struct world *world, uint32_t name) {
    struct wire_name *old = &world->checker.wire[name];
    struct wire_name new[MAX_NAMES];
    struct value values[MAX_NAMES + 1];
    bool due = old->present && (world->now >= old->expires || (old->count && world->now >= old->fields[0].expires));
    if (!due) {
        return;
    }
    read_group(world, new, values);
    if (old->count && new[name].count == 0) {
        wire_removed(world, &old->fields[0], REMOVED_EXPIRED, old->fields[0].expires);
    }
    int64_t ended = old->expires < world->now ? old->expires : world->now;
    wire_update(world, name, &new[name], false);
    old->free_since = old->present ? old->free_since : ended;
}

void watch_external_values(struct world *world, bool told) {
    struct wire_name new[MAX_NAMES];
    struct value values[MAX_NAMES + 1];
    read_group(world, new, values);
    for (uint32_t name = 0; name < world->plan.names; name++) {
        const struct wire_name *old = &world->checker.wire[name];
        if (old->count && !wire_find(&new[name], old->fields[0].client, old->fields[0].id)) {
            wire_removed(world, &old->fields[0], REMOVED_DELETED, world->now);
        }
        wire_update(world, name, &new[name], told);
    }
}

/* The clock was set: what is there ends at another time, and what was over may be there again. */
void watch_clock_of_values(struct world *world) {
    struct wire_name new[MAX_NAMES];
    struct value values[MAX_NAMES + 1];
    read_group(world, new, values);
    for (uint32_t i = 0; i <= world->plan.names; i++) {
        if (values[i].held && values[i].field.client != FOREIGN) {
            struct id_note *note = note_of(world, values[i].field.client, values[i].field.id);
            note->tainted = note->restored = true;
            note->removed = REMOVED_NOT;
            note->removed_at = 0;
        }
    }
    for (uint32_t name = 0; name < world->plan.names; name++) {
        const struct wire_name *old = &world->checker.wire[name];
        const struct wire_field *is = new[name].count ? &new[name].fields[0] : NULL;
        if (old->count && !(is && same_owner(is, &old->fields[0]))) {
            wire_removed(world, &old->fields[0], REMOVED_EXPIRED, world->now);
        }
        wire_update(world, name, &new[name], false);
    }
}

/* Of two names that share a value only one has a believer. */
void check_exclusion_of_values(struct world *world, uint32_t name) {
    bool foreign = world->foreign.held && world->now < world->foreign.until && overlap(world->foreign.name, name);
    uint32_t here = 0, beside = foreign;
    for (uint32_t i = 0; i < world->plan.clients; i++) {
        struct client *client = world->clients[i];
        for (uint32_t other = 0; other < world->plan.names; other++) {
            for (struct hold *hold = client->names[other]->holds; hold && overlap(other, name); hold = hold->next) {
                bool believed = is_believed(client, hold, other) && !note_of(world, i, hold->id)->tainted;
                here += believed && other == name;
                beside += believed && other != name;
            }
        }
    }
    if (here > 1 || (here == 1 && beside > 0)) {
        world_violation(world, "two believe that they hold the same value", "lock %u: %u, and %u beside it", name, here,
                        beside);
    }
}
