/* The values of group locks on the server. Every name of a world is two values of a group lock. It shares each value
 * with a neighbouring name. A name counts as present while any of its values is held. A hold is a field of a name while
 * it has both values. Fields of an owner whose lease has ended count as absent.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "sim_client.h"
#include "world.h"

/* One value as the server has it. */
struct value {
    struct wire_field field; /* its owner; `expires` is when the owner's lease ends */
    bool held;
};

/* The names of a world and their values, as far as they have been read. */
struct groups {
    struct wire_name names[MAX_NAMES];
    struct value values[MAX_VALUES];
};

/* Returns the index after the last name of a name's group. */
static uint32_t group_end(const struct world *world, uint32_t name) {
    uint32_t end = world_group(world, name) + world->plan.names_of_group;
    return end < world->plan.names ? end : world->plan.names;
}

static struct redis_text value_text(const struct world *world, uint32_t value) {
    return (struct redis_text){world->values + (size_t)value * GROUP_VALUE_SIZE, GROUP_VALUE_SIZE};
}

/* Reads a number that the group lock has about a value and its owner. */
static bool own_number(struct world *world, uint32_t group, struct redis_text text, struct redis_text owner,
                       const char *what, int64_t *number_out) {
    char field[160];
    struct redis_text value;
    int size = snprintf(field, sizeof field, "%.*s:%.*s:%s", (int)text.size, text.bytes, (int)owner.size, owner.bytes,
                        what);
    struct redis_text name = {field, (size_t)size};
    return keyspace_hget(world->server.keyspace, world->names[group], name, &value) && integer_parse(value, number_out);
}

static struct value read_value(struct world *world, uint32_t group, uint32_t value) {
    struct value found = {.held = false};
    struct redis_text text = value_text(world, value);
    struct redis_text owner;
    int64_t ends = 0;
    if (keyspace_hget(world->server.keyspace, world->names[group], text, &owner) &&
        own_number(world, group, text, owner, "expire_time", &ends) && ends > keyspace_time(world->server.keyspace)) {
        found.held = true;
        found.field = wire_parse_owner(owner);
        own_number(world, group, text, owner, "lock_count", &found.field.count);
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

/* No hold has only one of its values, unless somebody removed the other. */
static void check_whole(struct world *world, uint32_t group, const struct groups *groups) {
    uint32_t end = group_end(world, group);
    for (uint32_t i = group; i <= end; i++) { /* the values between two names, and those at both ends */
        const struct value *value = &groups->values[world_first_value(world, group) + i - group];
        const struct wire_field *owner = &value->field;
        bool before = i > group && wire_find(&groups->names[i - 1], owner->client, owner->id);
        bool whole = before || (i < end && wire_find(&groups->names[i], owner->client, owner->id));
        bool ours = value->held && owner->client != FOREIGN;
        if (ours && !whole && !note_of(world, owner->client, owner->id)->tainted) {
            world_violation(world, "a group is held in part", "value %u of the group of lock %u, client %u id %d",
                            i - group, group, owner->client, (int)owner->id);
        }
    }
}

/* Reads all names of a group. Its key must not expire before the holds in it. */
static void read_group(struct world *world, uint32_t group, struct groups *groups) {
    struct redis_reply kind = {0};
    uint32_t first = world_first_value(world, group);
    memset(groups, 0, sizeof *groups);
    server_touch(world);
    int64_t ttl = keyspace_pttl(world->server.keyspace, world->names[group]);
    wire_call(world, "HLEN", group, &kind);
    bool other_type = kind.kind == REDIS_ERROR;
    redis_reply_free(&kind);
    for (uint32_t value = first; value <= first + group_end(world, group) - group; value++) {
        groups->values[value] = other_type ? (struct value){.held = false} : read_value(world, group, value);
    }
    int64_t key_ends = server_expiry(&world->server, keyspace_time(world->server.keyspace) + ttl);
    for (uint32_t name = group; name < group_end(world, group); name++) {
        struct wire_name *wire = &groups->names[name];
        *wire = name_of_values(&groups->values[world_first_value(world, name)]);
        if (other_type) {
            wire->present = wire->other_type = true;
            wire->expires = key_ends;
        } else if (wire->present && ttl != -1 && wire->expires > key_ends) {
            world_violation(world, "the group ends before a hold of it", "lock %u, by %d us", name,
                            (int)(wire->expires - key_ends));
        }
    }
    if (ttl == -1) {
        world_violation(world, "a key has no TTL", "the group of lock %u", group);
    }
}

static bool is_value_of(const struct world *world, uint32_t group, struct redis_text text) {
    uint32_t first = world_first_value(world, group);
    uint32_t last = first + group_end(world, group) - group;
    while (first <= last && !text_equal(text, value_text(world, first))) {
        first++;
    }
    return first <= last;
}

/* A group lock has only the fields of its values and of their owners. A foreign client, like Redisson, leaves the
 * fields of ended leases (W-20). */
static void check_leftovers(struct world *world, uint32_t group) {
    struct redis_reply all = {0};
    wire_call(world, "HGETALL", group, &all);
    for (size_t i = 0; all.kind == REDIS_ARRAY && i + 1 < all.size && !world->plan.foreign; i += 2) {
        struct redis_text field = redis_reply_view(&all.elements[i]);
        bool alone = field.size <= GROUP_VALUE_SIZE;
        struct redis_text value = {field.bytes, alone ? field.size : GROUP_VALUE_SIZE};
        struct redis_text owner;
        int64_t number;
        bool has = is_value_of(world, group, value) &&
                   keyspace_hget(world->server.keyspace, world->names[group], value, &owner);
        has = has && (!alone || (own_number(world, group, value, owner, "expire_time", &number) &&
                                 own_number(world, group, value, owner, "lock_count", &number)));
        has = has && (alone || (field.size > GROUP_VALUE_SIZE + owner.size + 1 &&
                                memcmp(field.bytes + GROUP_VALUE_SIZE + 1, owner.bytes, owner.size) == 0));
        if (!has) {
            world_violation(world, "something is left of who does not hold", "%.*s", (int)field.size, field.bytes);
        }
    }
    redis_reply_free(&all);
}

/* Returns which name an entry of a request is about, by the first of its values. The values are at the entry's end. */
uint32_t group_name(const struct world *world, const struct request *request, uint32_t line) {
    uint32_t per_line = request->renewal ? request->argument_count / request->key_count : request->argument_count;
    uint32_t end = is_set(request) ? line_argument(request, line + 1) : per_line * (line + 1);
    struct redis_text first = request->texts[request->key_count + end - 2];
    uint32_t name = 0;
    while (name + 1 < world->plan.names && !text_equal(first, value_text(world, world_first_value(world, name)))) {
        name++;
    }
    return name;
}

/* Returns whether a request, which is not a renewal, is about a name and the hold of an owner. */
static bool is_about(struct world *world, const struct request *request, uint32_t name,
                     const struct wire_field *field) {
    uint32_t line = 0;
    while (line < names_of(request) && group_name(world, request, line) != name) {
        line++;
    }
    return !request->renewal && line < names_of(request) &&
           wire_is_argument(request, owner_argument(world, request, name), field);
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
    bool own = (script == SCRIPT_RELEASE || script == SCRIPT_HAND_OVER) && is_about(world, request, name, field);
    if (script == SCRIPT_FORCE_RELEASE && world_overlap(world, name, group_name(world, request, 0))) {
        wire_removed(world, field, REMOVED_DELETED, world->now);
    } else if (own) {
        wire_removed(world, field, script == SCRIPT_RELEASE ? REMOVED_RELEASE : REMOVED_HANDED, world->now);
    } else {
        wrongly_removed(world, request->script, field);
    }
}

/* Returns whether nobody else held a value of a name. The owner itself may have held some, if a force release of
 * another name left it a part and its acquire was sent again. */
static bool was_free(struct world *world, uint32_t name, const struct wire_field *field) {
    const struct wire_name *names = world->checker.wire;
    bool left = note_of(world, field->client, field->id)->removed == REMOVED_DELETED;
    for (uint32_t other = world_group(world, name); other < group_end(world, name); other++) {
        left = left && !(world_overlap(world, other, name) && names[other].count > 0);
    }
    return left || !names[name].present;
}

static void judge_created(struct world *world, const struct request *request, uint32_t name,
                          const struct wire_field *field) {
    struct wire_name *old = &world->checker.wire[name];
    enum script_id script = role_of(request->script);
    bool acquired = (script == SCRIPT_ACQUIRE || script == SCRIPT_ACQUIRE_MANY) && was_free(world, name, field) &&
                    is_about(world, request, name, field);
    bool handed = script == SCRIPT_HAND_OVER && old->count == 1 && is_about(world, request, name, &old->fields[0]) &&
                  wire_is_argument(request, 1, field);
    if (!acquired && !handed) {
        wrongly_created(world, request->script, field);
        return;
    }
    if (acquired && field->count != 1) {
        world_violation(world, "a hold begins with a count of another", "client %u id %d: %d", field->client,
                        (int)field->id, (int)field->count);
    }
    wire_created(world, field);
    world->checker.created++;
    if (handed && note_of(world, old->fields[0].client, old->fields[0].id)->release_sent_at == 0) {
        return; /* a move to a new id, no hand-over */
    }
    old->chain = handed ? old->chain + 1 : 0;
    check_chain(world, old->chain);
}

static void judge_changed(struct world *world, const struct request *request, uint32_t name,
                          const struct wire_field *before, const struct wire_field *after) {
    enum script_id script = role_of(request->script);
    bool own = is_about(world, request, name, before);
    bool raises = own && (script == SCRIPT_REENTER ||
                          (script == SCRIPT_ACQUIRE_MANY && form_of_line(world, request, name) == 'G'));
    struct count_changes allowed = {.lower = script == SCRIPT_RELEASE && own, .raise = raises};
    check_count(world, request->script, before->count, after->count, allowed);
    if (!(script == SCRIPT_EXTEND && own)) {
        check_not_shortened(world, request->script, before->expires, after->expires);
    }
    if (after->expires > before->expires && !own && !is_renewed(request, before)) {
        world_violation(world, "a script lengthened another owner's lease", "%s",
                        scripts_embedded[request->script].name);
    }
}

static void judge_one_group(struct world *world, const struct request *request, uint32_t group, bool notified) {
    struct groups now;
    read_group(world, group, &now);
    for (uint32_t name = group; name < group_end(world, group); name++) {
        const struct wire_name *old = &world->checker.wire[name];
        const struct wire_name *new = &now.names[name];
        const struct wire_field *before = old->count ? &old->fields[0] : NULL;
        const struct wire_field *after = before ? wire_find(new, before->client, before->id) : NULL;
        if (before && after) {
            judge_changed(world, request, name, before, after);
        } else if (before) {
            judge_removed(world, request, name, before);
        }
        if (new->count && !after) {
            judge_created(world, request, name, &new->fields[0]);
        }
    }
    check_whole(world, group, &now);
    check_leftovers(world, group);
    for (uint32_t name = group; name < group_end(world, group); name++) {
        wire_update(world, name, &now.names[name], notified);
    }
}

/* A script may change any value, whatever name it was sent for. So all groups are checked. */
void judge_groups(struct world *world, const struct request *request, bool whole) {
    enum script_id script = role_of(request->script);
    bool notified = whole && (script == SCRIPT_RELEASE || script == SCRIPT_FORCE_RELEASE);
    for (uint32_t group = 0; group < world->plan.names; group = group_end(world, group)) {
        judge_one_group(world, request, group, notified);
    }
}

/* Updates the record of a name with the changes that time alone has made. */
void watch_values(struct world *world, uint32_t name) {
    struct wire_name *old = &world->checker.wire[name];
    struct groups groups;
    const struct wire_name *new = &groups.names[name];
    bool due = old->present && (world->now >= old->expires || (old->count && world->now >= old->fields[0].expires));
    if (!due) {
        return;
    }
    read_group(world, world_group(world, name), &groups);
    if (old->count && new->count == 0) {
        wire_removed(world, &old->fields[0], REMOVED_EXPIRED, old->fields[0].expires);
    }
    int64_t ended = old->expires < world->now ? old->expires : world->now;
    wire_update(world, name, new, false);
    old->free_since = old->present ? old->free_since : ended;
    world->checker.ran_out_at[name] = old->present ? world->checker.ran_out_at[name] : ended;
}

/* Called when another party than a script has changed a name's group. */
void watch_external_values(struct world *world, uint32_t name, bool notified) {
    struct groups groups;
    uint32_t group = world_group(world, name);
    read_group(world, group, &groups);
    for (name = group; name < group_end(world, group); name++) {
        const struct wire_name *old = &world->checker.wire[name];
        if (old->count && !wire_find(&groups.names[name], old->fields[0].client, old->fields[0].id)) {
            wire_removed(world, &old->fields[0], REMOVED_DELETED, world->now);
        }
        wire_update(world, name, &groups.names[name], notified);
    }
}

/* The server's clock was set: leases end at another time, and ended ones may be back. */
static void watch_clock_of_group(struct world *world, uint32_t group) {
    struct groups groups;
    uint32_t first = world_first_value(world, group);
    read_group(world, group, &groups);
    for (uint32_t i = first; i <= first + group_end(world, group) - group; i++) {
        const struct value *value = &groups.values[i];
        if (value->held && value->field.client != FOREIGN) {
            struct id_note *note = note_of(world, value->field.client, value->field.id);
            note->tainted = note->restored = true;
            note->removed = REMOVED_NOT;
            note->removed_at = 0;
        }
    }
    for (uint32_t name = group; name < group_end(world, group); name++) {
        const struct wire_name *old = &world->checker.wire[name];
        const struct wire_name *new = &groups.names[name];
        const struct wire_field *is = new->count ? &new->fields[0] : NULL;
        if (old->count && !(is && same_owner(is, &old->fields[0]))) {
            wire_removed(world, &old->fields[0], REMOVED_EXPIRED, world->now);
        }
        wire_update(world, name, new, false);
    }
}

void watch_clock_of_values(struct world *world) {
    for (uint32_t group = 0; group < world->plan.names; group = group_end(world, group)) {
        watch_clock_of_group(world, group);
    }
}

/* Of two names that share a value, only one may have a believer. */
void check_exclusion_of_values(struct world *world, uint32_t name) {
    const struct foreign *peer = &world->foreign;
    bool foreign = peer->held && world->now < peer->until && world_overlap(world, peer->name, name);
    uint32_t here = 0, beside = foreign;
    for (uint32_t i = 0; i < world->plan.clients; i++) {
        struct client *client = world->clients[i];
        for (uint32_t other = 0; other < world->plan.names; other++) {
            bool overlaps = world_overlap(world, other, name);
            for (struct hold *hold = client->names[other]->holds; hold && overlaps; hold = hold->next) {
                bool believed = is_believed(client, hold, other);
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
