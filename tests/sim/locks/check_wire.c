/* Checks what each command does to the keys against what it may do.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "sim_client.h"
#include "world.h"

enum { USUAL_IDS = 4096 };

enum script_id role_of(enum script_id script) {
    switch (script) {
    case SCRIPT_ACQUIRE_FENCED:
    case SCRIPT_ACQUIRE_FAIR:
    case SCRIPT_ACQUIRE_GROUP:
    case SCRIPT_ACQUIRE_PLAIN:
        return SCRIPT_ACQUIRE;
    case SCRIPT_HAND_OVER_FENCED:
    case SCRIPT_HAND_OVER_FAIR:
    case SCRIPT_HAND_OVER_GROUP:
    case SCRIPT_HAND_OVER_PLAIN:
        return SCRIPT_HAND_OVER;
    case SCRIPT_RELEASE_FAIR:
    case SCRIPT_RELEASE_GROUP:
    case SCRIPT_RELEASE_PLAIN:
    case SCRIPT_RELEASE_MANY:
        return SCRIPT_RELEASE;
    case SCRIPT_FORCE_RELEASE_FAIR:
    case SCRIPT_FORCE_RELEASE_GROUP:
    case SCRIPT_FORCE_RELEASE_PLAIN:
        return SCRIPT_FORCE_RELEASE;
    case SCRIPT_EXTEND_GROUP:
    case SCRIPT_EXTEND_PLAIN:
        return SCRIPT_EXTEND;
    case SCRIPT_RENEW_GROUP:
    case SCRIPT_RENEW_PLAIN:
        return SCRIPT_RENEW;
    case SCRIPT_REENTER_GROUP:
        return SCRIPT_REENTER;
    default:
        return script;
    }
}

/* Returns how many keys a renewal has for each name. After a reader's name comes a timeout key. */
static uint32_t keys_of_renewal(const struct request *request) {
    return request->script == SCRIPT_RENEW_READ ? 2 : 1;
}

/* Returns how many of the keys are names of locks. The others are counters of tokens and timeout keys. */
uint32_t names_of(const struct request *request) {
    return !request->many ? 1 : is_set(request) ? lines_of(request) : request->key_count / keys_of_renewal(request);
}

void checker_start(struct world *world) {
    for (uint32_t name = 0; name < world->plan.names; name++) {
        world->checker.wire[name].free_since = 0;
    }
    world->checker.longest_lease_ms = world->plan.settings.watchdog_lease_ms;
}

void checker_free(struct world *world) {
    for (int client = 0; client < MAX_CLIENTS; client++) {
        free(world->checker.notes[client]);
    }
}

/* Ids count up from 1. A planted fault uses huge ids, which share the notes after the usual ones. */
struct id_note *note_of(struct world *world, uint32_t client, uint64_t id) {
    struct checker *checker = &world->checker;
    size_t index = id < USUAL_IDS ? (size_t)id : USUAL_IDS + (size_t)(id % USUAL_IDS);
    if (index >= checker->note_counts[client]) {
        size_t count = index + 64;
        checker->notes[client] = reallocate(checker->notes[client], count, sizeof(struct id_note));
        memset(checker->notes[client] + checker->note_counts[client], 0,
               (count - checker->note_counts[client]) * sizeof(struct id_note));
        checker->note_counts[client] = count;
    }
    return &checker->notes[client][index];
}

uint64_t serial_of(struct world *world, uint32_t client, uint64_t id) {
    uint64_t moved = note_of(world, client, id)->serial;
    return moved ? moved : id;
}

/* Parses "c0000000-0000-8000-8000-00000000000<client>:<number>". Any other text is of a foreign client. */
struct wire_field wire_parse_owner(struct redis_text text) {
    struct wire_field field = {.client = FOREIGN};
    if (text.size > 37 && text.bytes[0] == 'c' && text.bytes[36] == ':') {
        field.client = (uint8_t)(text.bytes[35] - '0');
        for (size_t i = 37; i < text.size && text.bytes[i] != ':'; i++) {
            field.id = field.id * 10 + (uint64_t)(text.bytes[i] - '0');
        }
    }
    return field;
}

void wire_call(struct world *world, const char *command, uint32_t name, struct redis_reply *reply) {
    struct redis_text arguments[] = {redis_text(command), world->names[name]};
    memset(reply, 0, sizeof *reply);
    keyspace_call(world->server.keyspace, arguments, 2, reply);
}

static void read_wire(struct world *world, uint32_t name, struct wire_name *wire) {
    struct redis_reply all;
    server_touch(world);
    int64_t ttl = keyspace_pttl(world->server.keyspace, world->names[name]);
    wire->count = 0;
    wire->other_type = false;
    wire->present = ttl != -2;
    if (!wire->present) {
        return;
    }
    bool plain = world_kind(world, name) == REDLATCH_PLAIN;
    wire_call(world, plain ? "GET" : "HGETALL", name, &all);
    wire->other_type = all.kind == REDIS_ERROR;
    if (plain && !wire->other_type) { /* its hold count is 1, and not stored */
        wire->fields[0] = wire_parse_owner(redis_reply_view(&all));
        wire->fields[0].count = 1;
        wire->count = 1;
    }
    for (size_t i = 0; all.kind == REDIS_ARRAY && i + 1 < all.size; i += 2) {
        if (!world_has_room(world, "WIRE_FIELDS", wire->count, WIRE_FIELDS)) {
            break;
        }
        struct wire_field field = wire_parse_owner(redis_reply_view(&all.elements[i]));
        integer_parse(redis_reply_view(&all.elements[i + 1]), &field.count);
        wire->fields[wire->count++] = field;
    }
    redis_reply_free(&all);
    if (ttl == -1) {
        world_violation(world, "a key has no TTL", "lock %u", name);
        return;
    }
    wire->expires = server_expiry(&world->server, keyspace_time(world->server.keyspace) + ttl);
    for (uint32_t i = 0; i < wire->count; i++) {
        wire->fields[i].expires = wire->expires;
    }
}

const struct wire_field *wire_find(const struct wire_name *wire, uint32_t client, uint64_t id) {
    for (uint32_t i = 0; i < wire->count; i++) {
        if (wire->fields[i].client == client && wire->fields[i].id == id) {
            return &wire->fields[i];
        }
    }
    return NULL;
}

void wire_removed(struct world *world, const struct wire_field *field, enum removal how, int64_t at) {
    if (field->client == FOREIGN) {
        world->foreign.until = how == REMOVED_DELETED ? world->now : world->foreign.until;
        return;
    }
    struct id_note *note = note_of(world, field->client, field->id);
    note->removed = (uint8_t)how;
    note->removed_at = at;
    note->tainted = note->tainted || how == REMOVED_DELETED;
}

void wire_created(struct world *world, const struct wire_field *field) {
    struct id_note *note = note_of(world, field->client, field->id);
    bool ghost = world->plan.kill_denied; /* an acquire may arrive after its undo; it then lasts for one lease */
    if ((note->removed == REMOVED_RELEASE || note->removed == REMOVED_HANDED) && !ghost) {
        world_violation(world, "a wire id is used for two holds", "client %u id %d", field->client, (int)field->id);
    }
    note->created_at = world->now;
    note->removed_at = 0;
    note->removed = REMOVED_NOT;
    note->tainted = false;
}

/* Updates the record of a name with the changes that time alone has made. */
void watch_name(struct world *world, uint32_t name) {
    struct wire_name *old = &world->checker.wire[name];
    if (world_has_read_write(world)) {
        watch_sides(world, name);
        return;
    }
    if (world_has_values(world)) {
        watch_values(world, name);
        return;
    }
    if (!old->present) {
        return;
    }
    server_touch(world);
    if (keyspace_exists(world->server.keyspace, world->names[name])) {
        return;
    }
    for (uint32_t i = 0; i < old->count; i++) {
        wire_removed(world, &old->fields[i], REMOVED_EXPIRED, old->expires);
    }
    old->present = false;
    old->other_type = false;
    old->count = 0;
    old->free_since = old->expires < world->now ? old->expires : world->now;
    world->checker.ran_out_at[name] = old->free_since;
    old->notified = false;
    old->chain = 0;
}

void wire_update(struct world *world, uint32_t name, const struct wire_name *new, bool notified) {
    struct wire_name *old = &world->checker.wire[name];
    bool was_present = old->present;
    uint32_t chain = old->chain;
    int64_t free_since = old->free_since;
    bool was_notified = old->notified;
    bool was_foreign = old->left_by_foreign;
    bool foreign = old->count > 0 && old->fields[0].client == FOREIGN;
    bool same = new->count == 0 || (old->count > 0 && old->fields[0].client == new->fields[0].client &&
                                    old->fields[0].id == new->fields[0].id);
    int64_t taken_at = same ? old->taken_at : world->now;
    int64_t last_token = old->last_token;
    *old = *new;
    old->taken_at = taken_at;
    old->last_token = last_token;
    old->chain = new->present ? chain : 0;
    old->free_since = was_present ? world->now : free_since;
    old->notified = was_present ? notified : was_notified;
    old->left_by_foreign = was_present ? foreign : was_foreign;
    if (was_present && !new->present && notified) {
        check_freed(world, name);
    }
}

uint32_t key_name(struct world *world, const struct request *request, uint32_t index) {
    if (world_has_values(world)) {
        return group_name(world, request, index);
    }
    return world_name(world,
                      request->texts[is_set(request) ? line_key(request, index) : index * keys_of_renewal(request)]);
}

void watch_before(struct world *world, const struct request *request) {
    world->checker.created = 0;
    uint32_t count = world_has_values(world) ? world->plan.names : names_of(request);
    for (uint32_t i = 0; i < count; i++) {
        watch_name(world, world_has_values(world) ? i : key_name(world, request, i));
    }
    for (uint32_t name = 0; name < world->plan.names; name++) {
        wakes_before(world, name);
    }
    fair_before(world, request);
    answers_before(world, request);
}

struct wire_field owner_named(const struct request *request, uint32_t argument) {
    return wire_parse_owner(request->texts[request->key_count + argument]);
}

bool wire_is_argument(const struct request *request, uint32_t argument, const struct wire_field *field) {
    struct wire_field named = owner_named(request, argument);
    return named.client == field->client && named.id == field->id;
}

/* The same for the owner of a name in a request about several names. */
static bool is_owner_of(struct world *world, const struct request *request, uint32_t name,
                        const struct wire_field *field) {
    return wire_is_argument(request, owner_argument(world, request, name), field);
}

static void judge_removed(struct world *world, const struct request *request, uint32_t name,
                          const struct wire_field *field) {
    enum script_id script = role_of(request->script);
    if (script == SCRIPT_FORCE_RELEASE) {
        wire_removed(world, field, REMOVED_DELETED, world->now);
    } else if ((script == SCRIPT_RELEASE || script == SCRIPT_HAND_OVER) && is_owner_of(world, request, name, field)) {
        wire_removed(world, field, script == SCRIPT_RELEASE ? REMOVED_RELEASE : REMOVED_HANDED, world->now);
    } else {
        wrongly_removed(world, script, field);
    }
}

static void judge_created(struct world *world, const struct request *request, uint32_t name,
                          const struct wire_name *before, const struct wire_field *field) {
    enum script_id script = role_of(request->script);
    bool acquired = (script == SCRIPT_ACQUIRE || script == SCRIPT_ACQUIRE_MANY) && !before->present &&
                    is_owner_of(world, request, name, field);
    bool handed = script == SCRIPT_HAND_OVER && before->count == 1 &&
                  wire_is_argument(request, 0, &before->fields[0]) && wire_is_argument(request, 1, field);
    if (!acquired && !handed) {
        wrongly_created(world, script, field);
        return;
    }
    wire_created(world, field);
    world->checker.created++;
    struct wire_name *wire = &world->checker.wire[name];
    struct id_note *from = handed ? note_of(world, before->fields[0].client, before->fields[0].id) : NULL;
    struct id_note *note = note_of(world, field->client, field->id);
    if (from && from->release_sent_at == 0) { /* a move to a new id, no hand-over */
        note->token = from->token;
        return;
    }
    check_token_drawn(world, name, note);
    bool in_turn = world->plan.lock_kind == REDLATCH_FAIR; /* the queue decides whose turn it is */
    wire->chain = handed && !in_turn ? wire->chain + 1 : 0;
    check_chain(world, wire->chain);
}

static void judge_changed(struct world *world, const struct request *request, uint32_t name,
                          const struct wire_field *before, const struct wire_field *after,
                          const struct wire_name *now) {
    const struct wire_name *old = &world->checker.wire[name];
    enum script_id script = role_of(request->script);
    bool own = script == SCRIPT_ACQUIRE_MANY && is_owner_of(world, request, name, before);
    struct count_changes allowed = {.lower = script == SCRIPT_RELEASE, .raise = script == SCRIPT_REENTER || own};
    check_count(world, script, before->count, after->count, allowed);
    if (script != SCRIPT_EXTEND) {
        check_not_shortened(world, script, old->expires, now->expires);
    }
    if (now->expires > old->expires && script != SCRIPT_RENEW && before->client != FOREIGN &&
        !is_owner_of(world, request, name, before)) {
        world_violation(world, "a script lengthened another owner's lease", "%s", scripts_embedded[script].name);
    }
}

static void judge_name(struct world *world, const struct request *request, uint32_t name, bool whole) {
    struct wire_name *old = &world->checker.wire[name];
    struct wire_name new = {0};
    read_wire(world, name, &new);
    for (uint32_t i = 0; i < old->count; i++) {
        const struct wire_field *after = wire_find(&new, old->fields[i].client, old->fields[i].id);
        if (after) {
            judge_changed(world, request, name, &old->fields[i], after, &new);
        } else {
            judge_removed(world, request, name, &old->fields[i]);
        }
    }
    for (uint32_t i = 0; i < new.count; i++) {
        if (!wire_find(old, new.fields[i].client, new.fields[i].id)) {
            judge_created(world, request, name, old, &new.fields[i]);
        }
    }
    enum script_id script = role_of(request->script);
    bool fair = world->plan.lock_kind == REDLATCH_FAIR; /* every script that leaves the lock free wakes the head */
    bool notified = fair || script == SCRIPT_RELEASE || script == SCRIPT_FORCE_RELEASE;
    wire_update(world, name, &new, notified && whole);
}

/* The reply to a renewal must be true. */
static void judge_renewal(struct world *world, const struct request *request, const struct redis_reply *reply) {
    uint32_t lines = names_of(request);
    uint32_t per_line = request->argument_count / lines;
    for (uint32_t i = 0; reply->kind == REDIS_ARRAY && i < lines && i < reply->size; i++) {
        struct wire_field named = wire_parse_owner(request->texts[request->key_count + per_line * i]);
        uint32_t side = request->script == SCRIPT_RENEW_READ;
        const struct wire_name *wire = &world->checker.wire[key_name(world, request, i) + side];
        const struct wire_field *field = wire_find(wire, named.client, named.id);
        bool found = reply->elements[i].integer >= -1;
        if (found != (field && !field->dead)) {
            world_violation(world, "a renewal's answer is wrong", "client %u id %d: %s", named.client, (int)named.id,
                            found ? "found" : "not found");
        }
    }
}

void watch_after(struct world *world, const struct request *request, const struct redis_reply *reply) {
    if (world_has_values(world)) {
        judge_groups(world, request, reply->kind != REDIS_ERROR);
    }
    for (uint32_t i = 0; i < names_of(request); i++) {
        uint32_t name = key_name(world, request, i);
        if (world_has_read_write(world)) {
            judge_sides(world, request, name, reply->kind != REDIS_ERROR);
            check_beliefs_about(world, name + 1);
        } else if (!world_has_values(world)) {
            judge_name(world, request, name, reply->kind != REDIS_ERROR);
        }
        check_beliefs_about(world, name);
    }
    for (uint32_t name = 0; name < world->plan.names; name++) {
        wakes_after(world, name);
    }
    fair_after(world, request, reply);
    answers_after(world, request, reply);
    if (request->script == SCRIPT_ACQUIRE_MANY) {
        check_all_or_nothing(world, request, reply);
    }
    if (request->renewal && request->key_count > 0) {
        judge_renewal(world, request, reply);
    }
}

void watch_external(struct world *world, uint32_t name, bool notified) {
    struct wire_name *old = &world->checker.wire[name];
    struct wire_name new = {0};
    wakes_external(world, name);
    if (world_has_read_write(world)) {
        watch_external_sides(world, name, notified);
        return;
    }
    if (world_has_values(world)) {
        watch_external_values(world, name, notified);
        return;
    }
    read_wire(world, name, &new);
    for (uint32_t i = 0; i < old->count; i++) {
        if (!wire_find(&new, old->fields[i].client, old->fields[i].id)) {
            wire_removed(world, &old->fields[i], REMOVED_DELETED, world->now);
        }
    }
    wire_update(world, name, &new, notified);
    check_token_lost(world, name);
}

void watch_prolonged(struct world *world, const struct request *request) {
    uint32_t lines = names_of(request);
    uint32_t per_line = request->argument_count / lines;
    for (uint32_t i = 0; i < lines; i++) {
        struct wire_field named = wire_parse_owner(request->texts[request->key_count + per_line * i]);
        note_of(world, named.client, named.id)->prolonged = true;
    }
}

/* Called after a restart. Missing holds count as removed by another party, those that came back as restored. */
void watch_data_replaced(struct world *world) {
    world->foreign.until = world->now;
    for (uint32_t name = 0; name < world->plan.names; name++) {
        watch_external(world, name, false);
        fair_restored(world, name);
        struct wire_name *wire = &world->checker.wire[name];
        for (uint32_t i = 0; i < wire->count; i++) {
            if (wire->fields[i].client != FOREIGN) {
                struct id_note *note = note_of(world, wire->fields[i].client, wire->fields[i].id);
                note->restored = true;
                note->tainted = true;
                note->removed = REMOVED_NOT;
                note->removed_at = 0;
            }
        }
    }
}

/* Called when the server's clock was set. The leases that exist then end too early or too late. */
void watch_clock_step(struct world *world) {
    for (uint32_t name = 0; name < world->plan.names; name++) {
        struct wire_name *wire = &world->checker.wire[name];
        for (uint32_t i = 0; i < wire->count; i++) {
            if (wire->fields[i].client == FOREIGN) {
                world->foreign.until = world->now;
            } else {
                note_of(world, wire->fields[i].client, wire->fields[i].id)->tainted = true;
            }
        }
        if (world_has_read_write(world) && name % 2 == 1) { /* both modes have been visited */
            watch_clock_of_sides(world, name);
        } else if (world_has_read_write(world) || world_has_values(world)) {
            continue;
        } else if (wire->present) {
            read_wire(world, name, wire);
            if (!wire->present) {
                wire->present = true; /* until watch_name notices that it expired */
                wire->expires = world->now;
                watch_name(world, name);
            }
        }
    }
    if (world_has_values(world)) {
        watch_clock_of_values(world);
    }
}
