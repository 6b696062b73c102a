/* Checks what scripts reply about one owner and one name, against the records of the keys before and after.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sim_client.h"
#include "world.h"

/* Returns the record that a request is about. For a read-write lock that is the record of the mode. */
static struct wire_name *wire_of(struct world *world, const struct request *request, uint32_t name) {
    bool reads = false;
    if (world_has_read_write(world)) {
        switch (request->script) {
        case SCRIPT_ACQUIRE_READ:
        case SCRIPT_REENTER_READ:
        case SCRIPT_RELEASE_READ:
        case SCRIPT_EXTEND_READ:
            reads = true;
            break;
        case SCRIPT_QUERY_READ_WRITE:
            reads = text_equal(request->texts[request->key_count], redis_text("read"));
            break;
        default:
            reads = is_set(request) && (form_of_line(world, request, name) | 32) == 'r';
        }
    }
    return &world->checker.wire[name + reads];
}

/* Returns whether the server has the hold that a request is about. A reader whose timeout keys have ended counts,
 * too. */
static bool has_own(struct world *world, const struct request *request, uint32_t name) {
    uint32_t argument = owner_argument(world, request, name);
    if (argument >= request->argument_count) {
        return false;
    }
    struct wire_field named = owner_named(request, argument);
    return wire_find(wire_of(world, request, name), named.client, named.id) != NULL;
}

/* Returns when the lease of a request's owner ends, or 0 if the owner holds nothing. */
static int64_t own_lease(struct world *world, const struct request *request, uint32_t argument) {
    struct wire_field named = owner_named(request, argument);
    const struct wire_name *wire = wire_of(world, request, key_name(world, request, 0));
    const struct wire_field *field = wire_find(wire, named.client, named.id);
    return field && !field->dead ? field->expires : 0;
}

void answers_before(struct world *world, const struct request *request) {
    world->checker.had_own = 0;
    for (uint32_t i = 0; !request->renewal && i < names_of(request); i++) {
        world->checker.had_own |= (uint32_t)has_own(world, request, key_name(world, request, i)) << i;
    }
    bool of_one = !request->many && request->key_count > 0 && request->argument_count > 0;
    world->checker.lease_before = of_one ? own_lease(world, request, 0) : 0;
    world->checker.was_present = !request->renewal && request->key_count > 0 &&
                                 world->checker.wire[key_name(world, request, 0)].present;
}

static void wrong(struct world *world, const struct request *request, const struct redis_reply *reply,
                  const char *what) {
    world_violation(world, "a script's answer is wrong", "%s says %d: %s", scripts_embedded[request->script].name,
                    reply->kind == REDIS_INTEGER ? (int)reply->integer : (int)reply->kind, what);
}

/* A release of a set replies with one number if all its locks are mutexes or fenced locks that are released for the
 * last time, and the results are equal. */
static void judge_brevity(struct world *world, const struct request *request, const struct redis_reply *reply) {
    struct redis_text letters = request->texts[request->key_count];
    bool alike = is_set(request) && reply->kind == REDIS_ARRAY;
    for (size_t i = 0; i < letters.size && alike; i++) {
        alike = letters.bytes[i] == 'm' || letters.bytes[i] == 'f';
    }
    for (size_t i = 1; alike && i < reply->size; i++) {
        alike = reply->elements[i].integer == reply->elements[0].integer;
    }
    if (alike) {
        wrong(world, request, reply, "one number would say it");
    }
}

/* A release replies for each name whether its owner held it. One number stands for all names. */
static void judge_release(struct world *world, const struct request *request, const struct redis_reply *reply) {
    judge_brevity(world, request, reply);
    for (uint32_t i = 0; i < names_of(request); i++) {
        const struct redis_reply *answer = reply->kind == REDIS_ARRAY && i < reply->size ? &reply->elements[i] : reply;
        bool had = (world->checker.had_own >> i & 1) != 0;
        if (answer->kind != REDIS_INTEGER || (answer->integer > 0) != had) {
            wrong(world, request, answer, had ? "its owner held it" : "its owner held nothing");
        }
    }
}

/* An acquire that is not granted replies how long the lock lasts. For group, plain and fair locks it may reply less. */
static void judge_remaining(struct world *world, const struct request *request, const struct redis_reply *reply) {
    uint32_t name = key_name(world, request, 0);
    int64_t ttl = keyspace_pttl(world->server.keyspace, world->names[name]);
    uint8_t kind = world_kind(world, name);
    bool exact = !world_has_values(world) && kind != REDLATCH_PLAIN && kind != REDLATCH_FAIR;
    if (reply->kind == REDIS_INTEGER && exact && reply->integer != ttl) {
        wrong(world, request, reply, "the lock lasts for another time");
    } else if (reply->kind == REDIS_INTEGER && reply->integer > ttl && ttl >= 0) {
        wrong(world, request, reply, "the lock lasts for less");
    }
}

static void judge_acquire(struct world *world, const struct request *request, const struct redis_reply *reply) {
    bool granted = reply->kind == REDIS_NIL || reply->kind == REDIS_BULK;
    if (granted != has_own(world, request, key_name(world, request, 0))) {
        wrong(world, request, reply, granted ? "its owner does not hold it" : "its owner holds it");
    }
    judge_remaining(world, request, reply);
}

/* The reply says whether the owner held the lock before, or holds it now under the id to which the hold moved. */
static void judge_own(struct world *world, const struct request *request, const struct redis_reply *reply) {
    uint32_t name = key_name(world, request, 0);
    const struct wire_name *wire = wire_of(world, request, name);
    bool have = has_own(world, request, name);
    for (uint32_t i = 0; i < request->argument_count && !have; i++) {
        struct wire_field named = owner_named(request, i);
        have = named.client != FOREIGN && wire_find(wire, named.client, named.id);
    }
    bool yes = reply->kind == REDIS_BULK || reply->integer == 1;
    if (yes != have) {
        wrong(world, request, reply, have ? "its owner holds it" : "its owner does not hold it");
    }
}

/* A query replies whether somebody holds the lock, and who, with which hold count and for how long. */
static void judge_query(struct world *world, const struct request *request, const struct redis_reply *reply) {
    uint32_t name = key_name(world, request, 0);
    const struct wire_name *wire = wire_of(world, request, name);
    bool fair = request->script == SCRIPT_QUERY_FAIR;
    bool held = fair ? reply->size == 5 && reply->elements[3].integer > 0 : reply->size > 0;
    if (fair && reply->size == 5 && reply->elements[4].integer != world->checker.queues[name].count) {
        wrong(world, request, reply, "another number of waiters stands in the queue");
    }
    if (held != (world_has_values(world) ? wire->present : wire->count > 0)) {
        wrong(world, request, reply, held ? "nobody holds it" : "somebody holds it");
    }
    if (!held || wire->count == 0) {
        return; /* the values of a group lock may have different holders */
    }
    struct wire_field named = wire_parse_owner(redis_reply_view(&reply->elements[1]));
    const struct wire_field *field = wire_find(wire, named.client, named.id);
    int64_t count = 0;
    integer_parse(redis_reply_view(&reply->elements[2]), &count);
    if (!field || field->count != count) {
        wrong(world, request, reply, field ? "its holder has other levels" : "another holds it");
    }
    if (reply->size > 3 && reply->elements[3].integer != wire->count) {
        wrong(world, request, reply, "another number of owners hold it");
    }
    int64_t ends = server_expiry(&world->server, keyspace_time(world->server.keyspace) + reply->elements[0].integer);
    int64_t off = ends - wire->expires;
    if (off > 2 * MILLISECOND || off < -2 * MILLISECOND) {
        wrong(world, request, reply, "it lasts for another time");
    }
}

/* Which arguments of a request have the lease and its owner. `lease` is 0 if the request has none. */
struct lease_place {
    uint32_t lease, owner;
};

static struct lease_place lease_place(enum script_id script) {
    switch (script) {
    case SCRIPT_HAND_OVER_PLAIN:
        return (struct lease_place){2, 1};
    case SCRIPT_EXTEND_READ:
    case SCRIPT_EXTEND_WRITE:
    case SCRIPT_HAND_OVER_WRITE:
        return (struct lease_place){3, 1};
    case SCRIPT_REENTER_READ:
        return (struct lease_place){2, 0};
    case SCRIPT_ACQUIRE_READ:
    case SCRIPT_ACQUIRE_WRITE:
        return (struct lease_place){1, 0};
    default:
        break;
    }
    switch (role_of(script)) {
    case SCRIPT_ACQUIRE:
    case SCRIPT_EXTEND:
        return (struct lease_place){1, 0};
    case SCRIPT_REENTER:
        return (struct lease_place){2, 0};
    case SCRIPT_HAND_OVER:
        return (struct lease_place){3, 1};
    default:
        return (struct lease_place){0, 0};
    }
}

/* A hold lasts as long as requested. It lasts longer only if it did before, and the script is no extend. A writer
 * shares the lease of the lock with readers. */
static void judge_lease(struct world *world, const struct request *request) {
    struct lease_place place = lease_place(request->script);
    int64_t lease_ms = 0;
    if (place.lease == 0 || !integer_parse(request->texts[request->key_count + place.lease], &lease_ms)) {
        return;
    }
    int64_t ends = own_lease(world, request, place.owner);
    int64_t requested = server_expiry(&world->server, keyspace_time(world->server.keyspace) + lease_ms);
    bool extends = role_of(request->script) == SCRIPT_EXTEND || request->script == SCRIPT_EXTEND_READ;
    int64_t before = extends ? 0 : world->checker.lease_before;
    uint32_t name = key_name(world, request, 0);
    bool shared = world_has_read_write(world) && wire_of(world, request, name) == &world->checker.wire[name];
    int64_t longest = before > requested ? before : requested;
    bool repeat = place.owner != 0 && world->checker.lease_before == 0; /* of the change to another id */
    if (ends != 0 && !repeat && (ends < requested - 2 * MILLISECOND || (!shared && ends > longest + 2 * MILLISECOND))) {
        world_violation(world, "a script gives a lease of another length", "%s: %d us from the %d ms asked for",
                        scripts_embedded[request->script].name, (int)(ends - requested), (int)lease_ms);
    }
}

void answers_after(struct world *world, const struct request *request, const struct redis_reply *reply) {
    if (reply->kind == REDIS_ERROR || request->renewal || request->key_count == 0) {
        return;
    }
    if (!request->many) {
        judge_lease(world, request);
    }
    switch (role_of(request->script)) {
    case SCRIPT_ACQUIRE:
    case SCRIPT_ACQUIRE_READ:
    case SCRIPT_ACQUIRE_WRITE:
        judge_acquire(world, request, reply);
        break;
    case SCRIPT_RELEASE:
    case SCRIPT_RELEASE_READ:
    case SCRIPT_RELEASE_WRITE:
        judge_release(world, request, reply);
        break;
    case SCRIPT_REENTER:
    case SCRIPT_EXTEND:
    case SCRIPT_EXTEND_WRITE:
        judge_own(world, request, reply);
        break;
    case SCRIPT_QUERY:
    case SCRIPT_QUERY_FAIR:
    case SCRIPT_QUERY_GROUP:
    case SCRIPT_QUERY_PLAIN:
    case SCRIPT_QUERY_READ_WRITE:
        judge_query(world, request, reply);
        break;
    case SCRIPT_FORCE_RELEASE_READ_WRITE:
        if (reply->integer == 1 && keyspace_exists(world->server.keyspace, world->names[key_name(world, request, 0)])) {
            wrong(world, request, reply, "the lock is still there");
        }
        break;
    case SCRIPT_FORCE_RELEASE:
        if ((reply->integer == 1) != world->checker.was_present && !world_has_values(world)) {
            wrong(world, request, reply, world->checker.was_present ? "there was a lock" : "there was none");
        }
        break;
    default:
        break;
    }
}
