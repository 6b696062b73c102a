/* Owners run random programs: they acquire, re-enter, extend, hold, release and give up.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sim_owner.h"

#include "sim_client.h"
#include "world.h"

enum { PENDING_MAX = 6 };

static const int64_t LONGEST_PROGRAM = 40 * SECOND; /* after that an owner only releases what it holds */

static void act(struct world *world, void *actor, uint64_t number);

static void act_after(struct owner *owner, int64_t delay) {
    if (!owner->scheduled) {
        owner->scheduled = true;
        world_at(owner->client->world, owner->client->world->now + delay, act, owner, 0);
    }
}

void owner_start(struct client *client, uint32_t index) {
    struct world *world = client->world;
    struct owner *owner = &client->owners[index];
    owner->client = client;
    owner->index = index;
    owner->number = ++world->last_owner;
    owner->actions_left = world->plan.actions;
    owner->asynchronous = random_chance(&world->random, world->plan.asynchronous);
    owner->several = owner->asynchronous || random_chance(&world->random, world->plan.shared);
    act_after(owner, random_between(&world->random, 0, 20 * MILLISECOND));
}

void owner_continue(struct owner *owner) {
    struct world *world = owner->client->world;
    bool holds = owner->levels[0] + owner->levels[1] + owner->levels[2] + owner->levels[3] > 0;
    int64_t most = holds ? world->plan.hold_max : world->plan.think_max;
    act_after(owner, random_chance(&world->random, 300) ? 0 : random_between(&world->random, 0, most));
}

static uint8_t caller_pipeline(struct world *world) {
    uint32_t pipeline = random_below(&world->random, world->plan.caller_pipelines);
    return (uint8_t)(pipeline == 0 ? PIPELINE_CALLERS : PIPELINE_CALLERS_SECOND + pipeline - 1);
}

static struct sim_operation *prepare(struct owner *owner, uint8_t kind, uint32_t name) {
    struct client *client = owner->client;
    struct sim_operation *operation = client_operation(client, owner, kind, name);
    owner->last_name = name;
    operation->operation.pipeline = owner->asynchronous ? PIPELINE_HOST : caller_pipeline(client->world);
    operation->operation.asynchronous = owner->asynchronous;
    operation->operation.named_owner = owner->several;
    operation->operation.wait_until = client_now(client) + client->world->plan.command_timeout_ms * MILLISECOND;
    return operation;
}

static void get_impatient(struct world *world, void *actor, uint64_t serial) {
    struct sim_operation *operation = actor;
    if (client_may_abort(world, operation, serial, get_impatient)) {
        cover(world, COVER_CANCELLED);
        operation->renounced = true;
        client_abort(operation->owner->client, operation, REDLATCH_CANCELLED);
    }
}

static void acquire(struct owner *owner, uint32_t name) {
    struct client *client = owner->client;
    struct plan *plan = &client->world->plan;
    struct sim_random *random = &client->world->random;
    struct sim_operation *each = prepare(owner, OPERATION_ACQUIRE, name);
    each->operation.lease_ms = random_chance(random, plan->fixed) ? random_between(random, 20, plan->lease_max_ms)
                                                                  : REDLATCH_RENEWED;
    if (random_chance(random, plan->max_holds)) {
        each->operation.max_hold_ms = random_between(random, 5, 1000);
    }
    each->operation.non_blocking = random_chance(random, plan->tries);
    if (!each->operation.non_blocking) {
        bool forever = random_chance(random, plan->forever);
        int64_t wait = random_between(random, 1, plan->wait_max_ms) * MILLISECOND;
        each->operation.wait_until = forever ? NEVER : client_now(client) + wait;
        if (random_chance(random, plan->impatient)) {
            int64_t at = client->world->now +
                         random_between(random, 0, random_chance(random, 500) ? wait : 2 * plan->delay_max);
            world_at(client->world, at, get_impatient, each, each->serial);
        }
    }
    client_begin(client, each);
}

static void extend(struct owner *owner, uint32_t name) {
    struct plan *plan = &owner->client->world->plan;
    struct sim_random *random = &owner->client->world->random;
    struct sim_operation *each = prepare(owner, OPERATION_EXTEND, name);
    bool shorter = random_chance(random, 500);
    each->operation.lease_ms = shorter ? random_between(random, 10, 200)
                                       : random_between(random, 200, 2 * plan->lease_max_ms);
    client_begin(owner->client, each);
}

static void simple(struct owner *owner, uint8_t kind, uint32_t name) {
    struct sim_operation *operation = prepare(owner, kind, name);
    if (kind == OPERATION_RELEASE && owner->levels[name] > 0) {
        owner->levels[name]--;
        operation->took = true;
    }
    struct world *world = owner->client->world;
    operation->operation.unconfirmed = kind == OPERATION_RELEASE &&
                                       random_chance(&world->random, world->plan.unconfirmed);
    client_begin(owner->client, operation);
}

/* Only an owner that holds nothing or the whole set acquires the set, so that no owner waits while it holds a part. */
static void acquire_all(struct owner *owner) {
    struct client *client = owner->client;
    struct plan *plan = &client->world->plan;
    struct sim_random *random = &client->world->random;
    struct sim_operation *each = prepare(owner, OPERATION_ACQUIRE, client->set_names[0]);
    each->operation.set = client->set;
    each->operation.lease_ms = random_chance(random, plan->fixed) ? random_between(random, 20, plan->lease_max_ms)
                                                                  : REDLATCH_RENEWED;
    each->operation.non_blocking = random_chance(random, plan->tries);
    if (!each->operation.non_blocking) {
        int64_t wait = random_between(random, 1, plan->wait_max_ms) * MILLISECOND;
        each->operation.wait_until = random_chance(random, plan->forever) ? NEVER : client_now(client) + wait;
        if (random_chance(random, plan->impatient)) {
            world_at(client->world, client->world->now + random_between(random, 0, 2 * plan->delay_max), get_impatient,
                     each, each->serial);
        }
    }
    client_begin(client, each);
}

/* An owner that holds only a part may release the set, too: the part is released, and it is told of the rest. */
static void release_all(struct owner *owner) {
    struct sim_operation *operation = prepare(owner, OPERATION_RELEASE, owner->client->set_names[0]);
    operation->operation.set = owner->client->set;
    for (uint32_t i = 0; i < owner->client->set->count; i++) {
        owner->levels[owner->client->set_names[i]] -= owner->levels[owner->client->set_names[i]] > 0;
    }
    operation->took = true;
    client_begin(owner->client, operation);
}

/* Returns the lowest hold count that the owner has of a name of the set. *most_out is the highest that it has of any
 * name. */
static int32_t fewest(const struct owner *owner, int32_t *most_out) {
    const struct client *client = owner->client;
    int32_t least = owner->levels[client->set_names[0]];
    *most_out = 0;
    for (uint32_t i = 1; i < client->set->count; i++) {
        int32_t levels = owner->levels[client->set_names[i]];
        least = levels < least ? levels : least;
    }
    for (uint32_t name = 0; name < client->world->plan.names; name++) {
        *most_out = owner->levels[name] > *most_out ? owner->levels[name] : *most_out;
    }
    return least;
}

static bool works_on_set(const struct owner *owner) {
    for (const struct sim_operation *each = owner->client->operations; each; each = each->next) {
        if (each->in_use && each->owner == owner && each->operation.set) {
            return true;
        }
    }
    return false;
}

/* Does something with all names at once, if that is possible now and drawn. */
static bool act_on_set(struct owner *owner) {
    struct world *world = owner->client->world;
    int32_t most;
    int32_t least = fewest(owner, &most);
    if (owner->pending > 0 || !random_chance(&world->random, 500)) {
        return false;
    }
    bool raises = world->plan.reenters > 0; /* some kinds are not reentrant */
    if (most == 0 || (raises && least > 0 && most < 3 && random_chance(&world->random, 200))) {
        acquire_all(owner);
    } else if (least > 0 || random_chance(&world->random, world->plan.strays)) {
        release_all(owner);
    } else {
        return false;
    }
    return true;
}

/* Learns the hold count from the engine after a failure. Returns false while a command of the hold is in progress. */
static bool learn_levels(struct owner *owner, uint32_t name) {
    struct resource *resource = owner->client->names[name];
    struct hold *hold = resource_hold_of(resource, world_side(owner->client->world, name), owner->number);
    if (hold && (hold->busy || hold->deferred_releases)) {
        return false;
    }
    owner->levels[name] = hold ? (int32_t)hold->count : 0;
    owner->uncertain[name] = false;
    return true;
}

static void end_thread(struct owner *owner) {
    struct client *client = owner->client;
    struct world *world = client->world;
    bool held = owner->levels[0] + owner->levels[1] + owner->levels[2] + owner->levels[3] > 0;
    if (held) {
        cover(world, COVER_OWNER_ENDED);
    }
    TRACE(world, "client %u: owner %u ends", client->index, owner->index);
    check_owner_end(client, owner);
    engine_owner_end(&client->engine, owner->number, client_now(client));
    owner->number = ++world->last_owner;
    memset(owner->levels, 0, sizeof owner->levels);
    memset(owner->uncertain, 0, sizeof owner->uncertain);
    sim_client_finish_step(client);
    owner_continue(owner);
}

/* Locks are acquired in order, so that no two owners wait for each other. */
static uint32_t highest_held(const struct owner *owner) {
    uint32_t highest = 0;
    for (uint32_t name = 0; name < owner->client->world->plan.names; name++) {
        highest = owner->levels[name] > 0 ? name : highest;
    }
    return highest;
}

/* Returns whether an owner must not start another acquire of the name that it is busy with, because it might wait for
 * itself. In a group lock two neighbouring names share a value. */
static bool is_out_of_order(const struct owner *owner) {
    uint32_t highest = highest_held(owner);
    bool beside = world_has_values(owner->client->world) && owner->levels[highest] > 0 && owner->last_name != highest &&
                  world_overlap(owner->client->world, highest, owner->last_name);
    return owner->last_name < highest || beside;
}

/* Draws a lock from index `from` on. If only writers play, its index is even. */
static uint32_t pick(struct world *world, uint32_t from) {
    uint32_t name = from + random_below(&world->random, world->plan.names - from);
    return world->plan.writers_only ? name & ~1u : name;
}

/* Returns with which name an owner goes on that is busy with a name: that name, or the other mode of its lock. */
static uint32_t name_beside(struct owner *owner) {
    struct world *world = owner->client->world;
    bool other_side = world_has_read_write(world) && !world->plan.writers_only && random_chance(&world->random, 300);
    return other_side ? owner->last_name ^ 1u : owner->last_name;
}

/* Returns whether an owner that reads may ask to write. */
static bool may_upgrade(const struct owner *owner, uint32_t name) {
    return world_has_read_write(owner->client->world) && name % 2 == 1 && owner->pending == 0 &&
           owner->levels[name - 1] == 0;
}

/* Draws what an owner does with a lock that it holds. */
static void use(struct owner *owner, uint32_t name) {
    struct world *world = owner->client->world;
    struct plan *plan = &world->plan;
    struct sim_random *random = &world->random;
    if (owner->levels[name] < 3 && random_chance(random, plan->reenters)) {
        acquire(owner, name);
    } else if (random_chance(random, plan->extends)) {
        extend(owner, name);
    } else if (owner->pending == 0 && name == highest_held(owner) && name + 1 < plan->names &&
               random_chance(random, 150)) {
        bool beside = world_has_values(world) && world_overlap(world, name, name + 1);
        uint32_t apart = name + 1 + beside;
        uint32_t next = apart < plan->names ? pick(world, apart) : name;
        acquire(owner, next > name ? next : name);
    } else if (may_upgrade(owner, name) && random_chance(random, 50)) {
        acquire(owner, name - 1);
    } else if (random_chance(random, 100)) {
        act_after(owner, random_between(random, 0, 4 * plan->hold_max));
    } else {
        simple(owner, OPERATION_RELEASE, name);
    }
}

static void drain(struct owner *owner) {
    for (uint32_t name = 0; name < owner->client->world->plan.names; name++) {
        if (owner->levels[name] > 0) {
            simple(owner, OPERATION_RELEASE, name);
            return;
        }
    }
    owner->finished = true;
}

static void act(struct world *world, void *actor, uint64_t number) {
    struct owner *owner = actor;
    struct client *client = owner->client;
    struct plan *plan = &world->plan;
    struct sim_random *random = &world->random;
    if (client->paused_until > world->now) {
        world_at(world, client->paused_until, act, owner, number);
        return;
    }
    owner->scheduled = false;
    if (owner->pending >= (owner->several ? PENDING_MAX : 1) || owner->finished ||
        (owner->pending > 0 && works_on_set(owner))) {
        return;
    }
    for (uint32_t name = 0; name < plan->names; name++) {
        if (owner->uncertain[name] && owner->pending > 0) {
            return;
        }
        if (owner->uncertain[name] && !learn_levels(owner, name)) {
            act_after(owner, 5 * MILLISECOND);
            return;
        }
    }
    if (owner->actions_left == 0 || world->now > plan->faults_end + LONGEST_PROGRAM) {
        if (owner->pending == 0) {
            drain(owner);
        }
        return;
    }
    if (owner->pending > 0 && is_out_of_order(owner)) {
        return;
    }
    owner->actions_left--;
    if (owner->several && random_chance(random, 200)) { /* it acts again before this operation ends */
        act_after(owner, random_between(random, 0, plan->think_max));
    }
    if (plan->sets && act_on_set(owner)) {
        return;
    }
    uint32_t name = owner->pending > 0 ? name_beside(owner) : pick(world, 0);
    if (random_chance(random, plan->owner_ends) && owner->pending == 0) {
        end_thread(owner);
    } else if (random_chance(random, plan->forces)) {
        simple(owner, OPERATION_FORCE, name);
    } else if (random_chance(random, plan->queries)) {
        simple(owner, OPERATION_QUERY, name);
    } else if (owner->pending == 0 && random_chance(random, plan->strays)) {
        random_chance(random, 500) ? simple(owner, OPERATION_RELEASE, name) : extend(owner, name);
    } else if (owner->levels[name] > 0) {
        use(owner, name);
    } else {
        uint32_t highest = highest_held(owner);
        name = owner->pending == 0 && owner->levels[highest] > 0 ? highest : name;
        owner->levels[name] > 0 ? use(owner, name) : acquire(owner, name);
    }
}

/* Notes the result of a set's operation. A grant adds a level to each name. After a failure only the engine knows the
 * counts. */
static void set_ended(struct owner *owner, const struct sim_operation *operation) {
    int status = operation->operation.status;
    bool granted = operation->operation.kind == OPERATION_ACQUIRE && status == REDLATCH_OK;
    for (uint32_t i = 0; i < owner->client->set->count; i++) {
        uint32_t name = owner->client->set_names[i];
        owner->levels[name] += granted;
        owner->uncertain[name] = owner->uncertain[name] ||
                                 (status != REDLATCH_OK && operation->operation.kind == OPERATION_RELEASE) ||
                                 (status != REDLATCH_OK && operation->levels_before > 0);
    }
}

void owner_ended(struct owner *owner, struct sim_operation *operation) {
    int status = operation->operation.status;
    if (operation->operation.set) {
        set_ended(owner, operation);
        return;
    }
    uint32_t name = operation->name;
    bool granted = operation->operation.kind == OPERATION_ACQUIRE && status == REDLATCH_OK;
    /* The release took a level of a grant of which the owner has not been told yet. */
    bool took_unclaimed = operation->took && status == REDLATCH_NOT_OWNED;
    if (granted || took_unclaimed) {
        owner->levels[name]++;
    } else if (operation->operation.kind == OPERATION_RELEASE && (status == REDLATCH_OK || status == REDLATCH_LOST)) {
        owner->levels[name] -= !operation->took && owner->levels[name] > 0;
    } else if (operation->operation.kind <= OPERATION_RELEASE && status != REDLATCH_OK && status != REDLATCH_LOST &&
               status != REDLATCH_NOT_OWNED) {
        bool goes_on = operation->took && operation->given_up; /* the release counts, whatever becomes of it */
        owner->uncertain[name] = owner->uncertain[name] || !goes_on;
    }
}

void owner_unclaimed(struct owner *owner, struct sim_operation *operation) {
    if (operation->operation.set) {
        for (uint32_t i = 0; i < owner->client->set->count; i++) {
            owner->uncertain[owner->client->set_names[i]] = true;
        }
        return;
    }
    if (owner->levels[operation->name] > 0) {
        owner->levels[operation->name]--;
    }
}
