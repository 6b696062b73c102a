/* Checks fair locks: grants follow the server queue. A waiter takes its position at the end of the queue, and only it
 * gives the position up. No live waiter loses its position, and nobody keeps one without waiting. The head of a free
 * lock is woken.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "sim_client.h"
#include "wait_queue.h"
#include "world.h"

static const int64_t LONGEST_SLEEP = 5 * SECOND;
/* Each position that is taken behind another adds five minutes to its score. All of a seed together come to less than
 * this. */
static const int64_t LONGEST_TIMEOUT_MS = 1000 * 1000 * 1000;

/* How long a position lasts at least after a request of its waiter: Redisson's timeout for a head that does not
 * come. */
static const int64_t FOREIGN_TIMEOUT_MS = 300 * 1000;

static bool is_fair(const struct world *world) {
    return world->plan.lock_kind == REDLATCH_FAIR;
}

static void call(struct world *world, const char *const words[], size_t count, struct redis_reply *reply) {
    struct redis_text arguments[4];
    for (size_t i = 0; i < count; i++) {
        arguments[i] = redis_text(words[i]);
    }
    memset(reply, 0, sizeof *reply);
    keyspace_call(world->server.keyspace, arguments, count, reply);
}

static void key_of(const struct world *world, const char *prefix, uint32_t name, char key[128]) {
    snprintf(key, 128, "%s{%.*s}", prefix, (int)world->names[name].size, world->names[name].bytes);
}

/* Returns when a waiter's time ends, in ms of the server's clock. */
static double score_of(struct world *world, uint32_t name, const char *owner, const char *timeouts) {
    struct redis_reply score;
    call(world, (const char *const[]){"ZSCORE", timeouts, owner}, 3, &score);
    double until = score.kind == REDIS_BULK ? strtod(score.text, NULL) : 0;
    redis_reply_free(&score);
    if (until > (double)(keyspace_time(world->server.keyspace) + LONGEST_TIMEOUT_MS)) {
        world_violation(world, "a place is kept for ever", "%s of lock %u: until %.0f", owner, name, until);
    }
    return until;
}

/* Returns whether a waiter is gone for the server: by its score, or because its client has no heartbeat. */
static bool is_gone(struct world *world, uint32_t name, const char *owner, double until) {
    char sign[256];
    key_of(world, "redlatch_waiting:", name, sign);
    snprintf(sign + strlen(sign), sizeof sign - strlen(sign), ":%.36s", owner);
    return until <= (double)keyspace_time(world->server.keyspace) ||
           !keyspace_exists(world->server.keyspace, redis_text(sign));
}

static void read_queue(struct world *world, uint32_t name, struct fair_queue *queue) {
    char list[128];
    char timeouts[128];
    struct redis_reply owners;
    struct redis_reply count;
    key_of(world, "redisson_lock_queue:", name, list);
    key_of(world, "redisson_lock_timeout:", name, timeouts);
    server_touch(world);
    call(world, (const char *const[]){"LRANGE", list, "0", "-1"}, 4, &owners);
    call(world, (const char *const[]){"ZCARD", timeouts}, 2, &count);
    queue->count = 0;
    for (size_t i = 0; owners.kind == REDIS_ARRAY && i < owners.size; i++) {
        if (!world_has_room(world, "FAIR_PLACES", queue->count, FAIR_PLACES)) {
            break;
        }
        struct fair_place *place = &queue->places[queue->count++];
        const char *owner = owners.elements[i].text;
        place->client = (uint8_t)(owner[35] - '0');
        place->id = strtoull(owner + 37, NULL, 10);
        place->score = score_of(world, name, owner, timeouts);
        place->gone = is_gone(world, name, owner, place->score);
    }
    if (count.integer != (int64_t)queue->count) {
        world_violation(world, "queue and time-outs differ", "lock %u: %d places, %d time-outs", name,
                        (int)queue->count, (int)count.integer);
    }
    if (keyspace_pttl(world->server.keyspace, redis_text(list)) >= 0 ||
        keyspace_pttl(world->server.keyspace, redis_text(timeouts)) >= 0) {
        world_violation(world, "a queue has a TTL", "lock %u", name);
    }
    redis_reply_free(&owners);
    redis_reply_free(&count);
}

/* Returns the waiter of a position, or NULL if nobody waits with that number. */
static struct sim_operation *waiter_of(const struct world *world, uint32_t name, const struct fair_place *place) {
    const struct wait_queue *wait_queue = world->clients[place->client]->names[name]->queue;
    for (struct list_link *link = wait_queue ? list_first(&wait_queue->waiters) : NULL; link;
         link = list_next(&wait_queue->waiters, link)) {
        struct operation *operation = container_of(link, struct operation, link);
        if (operation->id == place->id) {
            return container_of(operation, struct sim_operation, operation);
        }
    }
    return NULL;
}

/* Returns whether an argument is the owner id of a position. */
static bool is_place(const struct request *request, uint32_t argument, const struct fair_place *place) {
    struct redis_text text = request->texts[request->key_count + argument];
    uint64_t id = 0;
    for (size_t i = 37; i < text.size; i++) {
        id = id * 10 + (uint64_t)(text.bytes[i] - '0');
    }
    return text.size > 37 && (uint8_t)(text.bytes[35] - '0') == place->client && id == place->id;
}

static bool is_digit(const struct request *request, uint32_t argument, char digit) {
    struct redis_text text = request->texts[request->key_count + argument];
    return text.size == 1 && text.bytes[0] == digit;
}

static void judge_gone(struct world *world, uint32_t name, const struct fair_place *place) {
    int64_t timeout = world->plan.settings.fair_timeout_ms * MILLISECOND;
    struct client *client = world->clients[place->client];
    const struct sim_operation *waiter = waiter_of(world, name, place);
    int64_t since = unhindered_since(client);
    cover(world, COVER_FAIR_DEAD_HEAD);
    if (waiter && waiter->operation.has_position && since != NEVER && world->now - since > timeout + promptly(world)) {
        world_violation(world, "a live waiter lost its place", "client %u id %d lock %u", place->client, (int)place->id,
                        name);
    }
}

/* Checks why a waiter left the queue. `ahead` is the number of positions still ahead of its position. */
static void judge_removed(struct world *world, const struct request *request, uint32_t name,
                          const struct fair_place *place, uint32_t ahead) {
    bool holds = wire_find(&world->checker.wire[name], place->client, place->id) != NULL;
    bool acquired = request->script == SCRIPT_ACQUIRE_FAIR && is_place(request, 0, place) && holds;
    bool handed = request->script == SCRIPT_HAND_OVER_FAIR && is_place(request, 1, place) && holds;
    bool left = request->script == SCRIPT_RELEASE_FAIR && is_place(request, 0, place) && is_digit(request, 2, '1');
    if (acquired || handed) {
        cover(world, acquired ? COVER_FAIR_HEAD_TOOK : COVER_FAIR_HEAD_HANDED);
        if (ahead > 0) {
            world_violation(world, "a grant out of turn", "client %u id %d lock %u: %u before it", place->client,
                            (int)place->id, name, ahead);
        }
    } else if (left) {
        cover(world, COVER_FAIR_LEFT);
    } else if (place->gone && ahead == 0) {
        judge_gone(world, name, place);
    } else {
        world_violation(world, "a place was taken away", "%s: client %u id %d lock %u",
                        scripts_embedded[request->script].name, place->client, (int)place->id, name);
    }
}

static void judge_added(struct world *world, const struct request *request, uint32_t name,
                        const struct fair_place *place) {
    cover(world, COVER_FAIR_POSITION);
    if (request->script != SCRIPT_ACQUIRE_FAIR || !is_place(request, 0, place) || !is_digit(request, 2, '1')) {
        world_violation(world, "a place out of nothing", "%s: client %u id %d lock %u",
                        scripts_embedded[request->script].name, place->client, (int)place->id, name);
    }
}

/* Only the time of the head may be shortened, since it has less time after it was woken. A refresh shortens none. */
static void judge_score(struct world *world, const struct request *request, uint32_t name,
                        const struct fair_place *before, const struct fair_place *after, bool head) {
    if (after->score < before->score && (!head || request->script == SCRIPT_REFRESH_FAIR)) {
        world_violation(world, "a waiter's time is shortened", "%s: client %u id %d lock %u",
                        scripts_embedded[request->script].name, after->client, (int)after->id, name);
    }
}

/* Returns whether a refresh names the waiter of a position. */
static bool is_refreshed(const struct request *request, const struct fair_place *place) {
    const struct redis_text *sign = &request->texts[3];
    bool found = false;
    for (uint32_t i = 1; i < request->argument_count; i++) {
        struct redis_text id = request->texts[request->key_count + i];
        found = found || strtoull(id.bytes, NULL, 10) == place->id;
    }
    return found && (uint8_t)(sign->bytes[sign->size - 1] - '0') == place->client;
}

/* Each position that a refresh names must last as long as that of a new waiter. The head of a free lock must last as
 * long as the heartbeat, which is renewed. The reply must have all named waiters without a position. */
static void judge_refresh(struct world *world, const struct request *request, uint32_t name,
                          const struct fair_queue *queue, const struct redis_reply *reply) {
    if (request->script != SCRIPT_REFRESH_FAIR || reply->kind == REDIS_ERROR) {
        return;
    }
    int64_t now = keyspace_time(world->server.keyspace);
    int64_t sign_ms = strtoll(request->texts[request->key_count].bytes, NULL, 10);
    uint32_t found = 0;
    for (uint32_t i = 0; i < queue->count; i++) {
        const struct fair_place *place = &queue->places[i];
        if (!is_refreshed(request, place)) {
            continue;
        }
        found++;
        bool called = i == 0 && !world->checker.wire[name].present;
        if (place->score < (double)(now + (called ? sign_ms : FOREIGN_TIMEOUT_MS))) {
            world_violation(world, "a place is not refreshed", "client %u id %d lock %u", place->client, (int)place->id,
                            name);
        }
    }
    if (found > 0 && keyspace_pttl(world->server.keyspace, request->texts[3]) != sign_ms) {
        world_violation(world, "a heartbeat is not renewed", "lock %u", name);
    }
    if (reply->kind != REDIS_ARRAY || reply->size + found != request->argument_count - 1) {
        world_violation(world, "a refresh tells of other waiters than are missing", "lock %u: %d found, %d missing",
                        name, (int)found, (int)reply->size);
    }
}

static void note_head(struct world *world, struct fair_queue *old, const struct fair_queue *now) {
    bool same = old->count > 0 && now->count > 0 && old->places[0].client == now->places[0].client &&
                old->places[0].id == now->places[0].id;
    int64_t head_since = same ? old->head_since : world->now;
    *old = *now;
    old->head_since = head_since;
}

void fair_before(struct world *world, const struct request *request) {
    if (is_fair(world) && request->script != SCRIPT_RENEW) {
        uint32_t name = world_name(world, request->texts[0]);
        struct fair_queue now = {0};
        read_queue(world, name, &now);
        note_head(world, &world->checker.queues[name], &now);
        world->checker.queues[name].was_held = world->checker.wire[name].present;
    }
}

void fair_after(struct world *world, const struct request *request, const struct redis_reply *reply) {
    if (!is_fair(world) || request->script == SCRIPT_RENEW) {
        return;
    }
    uint32_t name = world_name(world, request->texts[0]);
    struct fair_queue *old = &world->checker.queues[name];
    const struct wire_name *wire = &world->checker.wire[name];
    struct fair_queue new = {0};
    read_queue(world, name, &new);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < old->count; i++) {
        const struct fair_place *place = &old->places[i];
        if (kept < new.count &&new.places[kept].client == place->client &&new.places[kept].id == place->id) {
            judge_score(world, request, name, place, &new.places[kept], kept == 0);
            kept++;
        } else {
            judge_removed(world, request, name, place, kept);
        }
    }
    judge_refresh(world, request, name, &new, reply);
    bool taken = request->script == SCRIPT_ACQUIRE_FAIR && !old->was_held && wire->present;
    if (taken && kept == old->count && kept > 0) {
        world_violation(world, "a grant past the queue", "lock %u: %u wait", name, kept);
    }
    for (; kept < new.count; kept++) {
        judge_added(world, request, name, &new.places[kept]);
    }
    note_head(world, old, &new);
    old->was_held = wire->present;
}

/* Called when the server came back with positions of an old snapshot. */
void fair_restored(struct world *world, uint32_t name) {
    if (is_fair(world)) {
        struct fair_queue now = {0};
        read_queue(world, name, &now);
        for (uint32_t i = 0; i < now.count; i++) {
            note_of(world, now.places[i].client, now.places[i].id)->place_restored = true;
        }
        note_head(world, &world->checker.queues[name], &now);
    }
}

/* Checks a position for which nobody waits. The command that gives it up must arrive within a bounded time. */
static void check_ghost(struct world *world, uint32_t name, const struct fair_place *place) {
    struct id_note *note = note_of(world, place->client, place->id);
    if (waiter_of(world, name, place)) {
        note->ghost_since = 0;
        return;
    }
    note->ghost_since = note->ghost_since ? note->ghost_since : world->now;
    if (note->place_restored) {
        return; /* its client gives it up when it sees it at the head, or its heartbeat ends */
    }
    int64_t since = unhindered_since(world->clients[place->client]);
    int64_t allowed = 2 * SECOND + world->plan.dead_peer_ms * MILLISECOND + promptly(world) +
                      (world->plan.kill_denied ? 2 * SECOND + world->checker.longest_lease_ms * MILLISECOND : 0);
    if (since != NEVER && world->now - latest(since, note->ghost_since) > allowed) {
        world_violation(world, "a place is left behind", "client %u id %d lock %u", place->client, (int)place->id,
                        name);
    }
}

/* Checks that the head takes a free lock: at once if it was woken, else by its own recheck. */
static void check_head(struct world *world, uint32_t name, const struct fair_queue *queue) {
    const struct fair_place *head = &queue->places[0];
    const struct wire_name *wire = &world->checker.wire[name];
    const struct sim_operation *waiter = waiter_of(world, name, head);
    struct client *client = world->clients[head->client];
    int64_t since = unhindered_since(client);
    if (!waiter || since == NEVER || waiter->operation.phase != PHASE_PARKED) {
        return;
    }
    since = latest(latest(since, waiter->parked_at), latest(wire->free_since, queue->head_since));
    if (world->now - since > LONGEST_SLEEP + promptly(world)) {
        world_violation(world, "the head sleeps too long", "client %u lock %u: for %d ms", head->client, name,
                        (int)((world->now - since) / MILLISECOND));
    }
    /* After a loss of data the head may be behind another waiter of its client. That one requests first, after its
     * pause, and is told who the head is. */
    const struct wait_queue *waiters = waiter->operation.resource->queue;
    if (queue_foremost(waiters)->phase == PHASE_PAUSED) {
        return;
    }
    const struct subscription *own = waiter->operation.wake_channel;
    bool own_hold = resource_live_hold(client->names[name]) != NULL;
    if (own && own->state == SUBSCRIPTION_ACTIVE && wire->notified && !own_hold &&
        world->now - latest(since, client->let_go_at[name]) > promptly(world)) {
        world_violation(world, "a call was lost", "client %u lock %u: for %d us", head->client, name,
                        (int)(world->now - since));
    }
}

static bool has_place(const struct fair_queue *queue, const struct client *client, uint64_t id) {
    for (uint32_t i = 0; i < queue->count; i++) {
        if (queue->places[i].client == client->index && queue->places[i].id == id) {
            return true;
        }
    }
    return false;
}

/* A waiter that has lost its position must request another one at its next recheck or refresh. */
static void check_placeless(struct client *client, uint32_t name, const struct fair_queue *queue) {
    const struct world *world = client->world;
    const struct wait_queue *wait_queue = client->names[name]->queue;
    int64_t third = world->plan.settings.fair_timeout_ms * MILLISECOND / 3;
    int64_t unhindered = unhindered_since(client);
    for (struct list_link *link = wait_queue ? list_first(&wait_queue->waiters) : NULL; link;
         link = list_next(&wait_queue->waiters, link)) {
        struct operation *operation = container_of(link, struct operation, link);
        struct sim_operation *waiter = container_of(operation, struct sim_operation, operation);
        bool believes = operation->has_position && operation->phase != PHASE_REQUESTING;
        if (!believes || has_place(queue, client, operation->id) || unhindered == NEVER) {
            waiter->placeless_since = 0;
            continue;
        }
        waiter->placeless_since = waiter->placeless_since ? waiter->placeless_since : world->now;
        if (world->now - waiter->placeless_since > latest(third, LONGEST_SLEEP) + promptly(world)) {
            world_violation(client->world, "a waiter does not notice that its place is gone", "client %u id %d lock %u",
                            client->index, (int)operation->id, name);
        }
    }
}

void check_fair_tick(struct world *world, uint32_t name) {
    if (!is_fair(world)) {
        return;
    }
    struct fair_queue now = {0};
    read_queue(world, name, &now);
    note_head(world, &world->checker.queues[name], &now);
    for (uint32_t i = 0; i < now.count; i++) {
        check_ghost(world, name, &now.places[i]);
    }
    for (uint32_t i = 0; i < world->plan.clients; i++) {
        check_placeless(world->clients[i], name, &now);
    }
    if (now.count > 0 && !world->checker.wire[name].present) {
        check_head(world, name, &world->checker.queues[name]);
    }
}

void check_fair_end(struct world *world, uint32_t name) {
    if (is_fair(world)) {
        struct fair_queue now = {0};
        read_queue(world, name, &now);
        if (now.count > 0 && !note_of(world, now.places[0].client, now.places[0].id)->place_restored) {
            world_violation(world, "a place is left at the end", "client %u id %d lock %u", now.places[0].client,
                            (int)now.places[0].id, name);
        }
    }
}
