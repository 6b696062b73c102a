/* Checks the results of calls and the reports of losses against what the nodes did. Checks also that waiters go on,
 * that redirections end, and that nothing is left behind.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cluster_world.h"

/* If all nodes agree, a waiter must request within this time after the release of a lock. */
static const int64_t TAKEN_WITHIN = 700 * MILLISECOND;

/* How long an undo that is redirected takes at most on a slow network. */
static const int64_t UNDONE_WITHIN = 700 * MILLISECOND;

/* How often a command may be redirected while slots move without faults. It gets MOVED, and again if the view of that
 * node was old. It gets ASK, and again if it had to go back because the importer had no connection, or because the
 * topologies of two nodes differ for a while: a node that serves no slot in one of them loses its connections. */
enum { CALM_REDIRECTIONS_MAX = 7 };

/* After its route has changed, a waiter must request within this time, whether or not it is subscribed. */
static const int64_t REQUESTED_WITHIN = 100 * MILLISECOND;

/* In this time three renewals of the lease are due. */
static const int64_t RENEWED_WITHIN = 2000 * MILLISECOND;

bool could_reach(const struct world *world, const struct client *client, uint32_t name, uint32_t pipeline,
                 int64_t since) {
    uint32_t owner = world->owner[name];
    const struct peer *peer = &client->peers[owner];
    return slot_is_agreed_on(world, name) && world->changed_at[name] <= since && world->owned_since[name] <= since &&
           node_is_up(world, owner) && route_of(client, name) == owner && client->routed_at[name] <= since &&
           peer->up[pipeline] && peer->ready_at[pipeline] <= since && peer->cut_until <= since;
}

static bool is_last_release(const struct command *command) {
    return (command->kind == COMMAND_RELEASE && command->count == 0) || command->kind == COMMAND_HAND_OVER;
}

void cluster_judge_sent(struct world_common *common, struct peer *peer, const struct command *command) {
    struct world *world = (struct world *)common;
    uint32_t client = client_of_peer(peer);
    uint32_t most = world->calm ? CALM_REDIRECTIONS_MAX : REDIRECTIONS_MAX;
    TRACE(world, "client %u pipeline %d: id %d is sent to node %u%s%s", client, command->pipeline, (int)command->id,
          node_of_peer(peer), command->importing ? " with ASKING" : "", command->repeated ? " again" : "");
    if (command->redirections > most) {
        world_violation(world, "a command is redirected too often", "client %u id %d: %u times", client,
                        (int)command->id, command->redirections);
    }
    if (is_last_release(command)) {
        struct id_note *note = cluster_note(world, client, command->id);
        note->releases_sent++;
        note->release_repeated = note->release_repeated || note->releases_sent > 1;
    }
}

void cluster_judge_not_run(struct world *world, uint32_t client, const struct pipeline *pipeline) {
    const struct list_link *link = list_first(&pipeline->sent);
    const struct command *command = link ? container_of(link, const struct command, link) : NULL;
    if (command && is_last_release(command)) {
        cluster_note(world, client, command->id)->releases_sent--;
    }
}

/* The release of the last level may return OK only if a script removed the hold, or if the release was sent twice. If a
 * script removed the hold in time, it must not return LOST. */
static void judge_released(struct world *world, const struct caller *caller) {
    const struct operation *operation = &caller->operation;
    struct id_note *note = cluster_note(world, caller->client, operation->id);
    bool last = !resource_hold_of(operation->resource, operation->lock_kind, operation->owner);
    if (operation->status == REDLATCH_OK && last && !note->released && !note->release_repeated) {
        world_violation(world, "a release says OK although the lock was lost", "client %u id %d", caller->client,
                        (int)operation->id);
    }
    if (operation->status == REDLATCH_LOST && note->released && !note->lost && !note->excused &&
        note->released_at < note->deadline) {
        world_violation(world, "a release that was carried out says LOST", "client %u id %d", caller->client,
                        (int)operation->id);
    }
    note->lost = note->lost || operation->status == REDLATCH_LOST;
}

static void judge_token(struct world *world, const struct caller *caller) {
    const struct operation *operation = &caller->operation;
    const struct hold *hold = resource_hold_of(operation->resource, operation->lock_kind, operation->owner);
    if (world->kind != REDLATCH_FENCED || !hold || hold->count > 1 ||
        cluster_note(world, caller->client, hold->id)->excused) {
        return;
    }
    if (hold->token <= world->last_token[caller->name]) {
        world_violation(world, "a token does not rise", "client %u id %d: %d after %d", caller->client, (int)hold->id,
                        (int)hold->token, (int)world->last_token[caller->name]);
    }
    world->last_token[caller->name] = hold->token;
}

void cluster_judge_ended(struct world *world, struct client *client, const struct caller *caller) {
    const struct operation *operation = &caller->operation;
    int status = operation->status;
    bool waits = !operation->non_blocking && !caller->timed_out;
    bool acquires = operation->kind == OPERATION_ACQUIRE;
    if (operation->kind == OPERATION_RELEASE && operation->unconfirmed && status == REDLATCH_OK) {
        if (operation->id != 0) { /* else it released a nested acquire, and sent nothing */
            unconfirmed_begun(&world->common, &cluster_note(world, caller->client, operation->id)->unconfirmed);
        }
    } else if (operation->kind == OPERATION_RELEASE) {
        judge_released(world, caller);
    }
    if (acquires && status == REDLATCH_OK) {
        judge_token(world, caller);
    }
    int64_t unreachable = client->engine.settings.unreachable_timeout_ms * MILLISECOND;
    bool early = acquires && waits && world->now - caller->began_at < unreachable;
    if (early &&
        (status == REDLATCH_NOT_WRITABLE || status == REDLATCH_UNREACHABLE || status == REDLATCH_UNSUPPORTED)) {
        world_violation(world, "a call that may wait gives up", "client %u caller %d: %s", caller->client,
                        (int)caller->number, redlatch_status_name(status));
    }
    if (world->calm && waits && status <= REDLATCH_UNREACHABLE) {
        world_violation(world, "trouble without a fault", "client %u caller %d: %s", caller->client,
                        (int)caller->number, redlatch_status_name(status));
    }
}

static uint32_t name_of(const struct client *client, const struct resource *resource) {
    uint32_t name = 0;
    while (client->names[name] != resource) {
        name++;
    }
    return name;
}

static void judge_loss(struct world *world, const struct client *client, const struct hold *hold) {
    uint32_t number = client_of_peer(&client->peers[0]);
    uint32_t name = name_of(client, hold->resource);
    struct id_note *note = cluster_note(world, number, hold->id);
    bool missing = hold->reason == REDLATCH_REASON_MISSING;
    bool expired = hold->reason == REDLATCH_REASON_EXPIRED && hold->renewed_from > 0 &&
                   hold->lease_ms >= client->engine.settings.watchdog_lease_ms && !note->may_end_sooner;
    TRACE(world, "client %u: lost id %d, reason %d", number, (int)hold->id, hold->reason);
    note->lost = true;
    if (world->calm && missing) {
        world_violation(world, "a hold was lost without a fault", "client %u id %d", number, (int)hold->id);
    }
    bool reached = could_reach(world, client, name, PIPELINE_BACKGROUND, world->now - RENEWED_WITHIN);
    if (expired && !note->excused && (world->calm || reached)) {
        world_violation(world, "a renewed hold ran out", "client %u id %d", number, (int)hold->id);
    }
}

static void judge_release_failed(struct world *world, const struct client *client, const struct hold *hold) {
    uint32_t number = client_of_peer(&client->peers[0]);
    struct id_note *note = cluster_note(world, number, hold->id);
    bool in_time = note->released && !note->lost && !note->excused && note->released_at < note->deadline;
    unconfirmed_failed(&world->common, number, hold, &note->unconfirmed, in_time);
    note->lost = true;
}

void cluster_judge_losses(struct world *world, struct client *client) {
    struct hold *hold;
    while ((hold = engine_first_loss(&client->engine, LOSS_EVENTS)) != NULL) {
        if (hold->release_status != REDLATCH_OK) {
            judge_release_failed(world, client, hold);
        } else {
            judge_loss(world, client, hold);
            client->losses_reported++;
        }
        engine_loss_taken(&client->engine, LOSS_EVENTS);
    }
    if (client->engine.stats.lost != client->losses_reported) {
        world_violation(world, "a loss is not told", "%d of %d", (int)client->losses_reported,
                        (int)client->engine.stats.lost);
    }
}

/* A released lock must not stay free while a waiter is parked that is subscribed and can reach the node. Not for fair
 * locks: their queue on the server decides which waiter is woken. */
static void judge_free(struct world *world, uint32_t name) {
    int64_t since = world->now - TAKEN_WITHIN;
    const struct node_holds *all = &world->held[world->owner[name]][name];
    bool free = world->released_at[name] && world->released_at[name] <= since;
    for (uint32_t i = 0; i < all->count; i++) {
        free = free && all->holds[i].expires <= world->now;
    }
    for (uint32_t i = 0; i < CLIENTS * CALLERS && free; i++) {
        const struct client *client = &world->clients[i / CALLERS];
        const struct caller *caller = &client->callers[i % CALLERS];
        bool parked = caller->busy && caller->name == name && caller->phase == PHASE_PARKED &&
                      caller->phase_since <= since && !resource_live_hold(caller->operation.resource);
        bool hears = client->peers[world->owner[name]].deaf_until <= since;
        if (parked && hears && could_reach(world, client, name, caller->operation.pipeline, since)) {
            world_violation(world, "a waiter sleeps by a free lock", "client %u caller %d", caller->client,
                            (int)caller->number);
        }
    }
}

/* A waiter that was parked when the route of its name changed must request at the new node. */
static void judge_route(struct world *world, const struct caller *caller) {
    const struct client *client = &world->clients[caller->client];
    uint32_t node = route_of(client, caller->name);
    if (caller->phase != PHASE_PARKED || node == NOBODY || resource_live_hold(caller->operation.resource)) {
        return;
    }
    const struct peer *peer = &client->peers[node];
    int64_t since = client->routed_at[caller->name];
    bool parked_before = caller->phase_since < since;
    int64_t ready_at = peer->ready_at[caller->operation.pipeline];
    since = ready_at > since ? ready_at : since;
    if (parked_before && peer->up[caller->operation.pipeline] && world->now - since > REQUESTED_WITHIN) {
        world_violation(world, "a waiter does not ask the new node", "client %u caller %d", caller->client,
                        (int)caller->number);
    }
}

void cluster_judge_waiters(struct world *world) {
    for (uint32_t i = 0; i < CLIENTS * CALLERS; i++) {
        struct caller *caller = &world->clients[i / CALLERS].callers[i % CALLERS];
        uint8_t phase = caller->busy ? caller->operation.phase : PHASE_DONE;
        if (phase != caller->phase) {
            caller->phase = phase;
            caller->phase_since = world->now;
        }
        judge_route(world, caller);
    }
    for (uint32_t name = 0; name < world->name_count && world->kind != REDLATCH_FAIR; name++) {
        judge_free(world, name);
    }
}

static bool has_command_timer(const struct timer *timer) {
    for (; timer; timer = timer->sibling) {
        if (timer->kind == TIMER_COMMAND || has_command_timer(timer->child)) {
            return true;
        }
    }
    return false;
}

/* Returns whether a client waits for no reply, and has no command for the owner of the slot. */
static bool is_idle(const struct client *client, uint32_t owner) {
    for (uint32_t node = 0; node < NODES; node++) {
        for (uint32_t i = 0; i < PIPELINE_COUNT; i++) {
            const struct pipeline *pipeline = &client->nodes[node].pipelines[i];
            bool silent = list_is_empty(&pipeline->unsent) && list_is_empty(&pipeline->in_doubt);
            if (!list_is_empty(&pipeline->sent) || (node == owner && !silent)) {
                return false;
            }
        }
    }
    return !has_command_timer(client->engine.timers.root);
}

static bool is_held(const struct client *client, uint32_t name, uint64_t id) {
    const struct hold *hold = client->names[name]->holds;
    while (hold && hold->id != id) {
        hold = hold->next;
    }
    return hold != NULL;
}

static void judge_left(struct world *world, const struct server_hold *hold, uint32_t name) {
    struct id_note *note = cluster_note(world, hold->client, hold->id);
    const struct client *client = &world->clients[hold->client];
    int64_t since = world->now - UNDONE_WITHIN;
    bool excused = note->released || note->lost || note->excused || note->late || hold->expires <= world->now;
    if (excused || is_held(client, name, hold->id) || !is_idle(client, world->owner[name])) {
        note->left_since = 0;
        return;
    }
    note->left_since = note->left_since ? note->left_since : world->now;
    if (note->left_since <= since && could_reach(world, client, name, PIPELINE_CALLERS, since)) {
        world_violation(world, "what was not granted is left behind", "client %u id %d of name %u", hold->client,
                        (int)hold->id, name);
    }
}

void cluster_judge_left_behind(struct world *world) {
    for (uint32_t name = 0; name < world->name_count; name++) {
        const struct node_holds *all = &world->held[world->owner[name]][name];
        for (uint32_t i = 0; i < all->count; i++) {
            judge_left(world, &all->holds[i], name);
        }
    }
}

static void judge_client_end(struct world *world, const struct client *client) {
    const redlatch_stats *stats = &client->engine.stats;
    if (stats->held || stats->waiters || client->engine.subscriptions || !list_is_empty(&client->engine.operations)) {
        world_violation(world, "counters are not zero in the end", "client %u: %d held, %d waiters, %d subscriptions",
                        client_of_peer(&client->peers[0]), (int)stats->held, (int)stats->waiters,
                        (int)client->engine.subscriptions);
    }
    for (uint32_t node = 0; node <= NODES; node++) {
        const struct server *server = node < NODES ? &client->nodes[node] : &client->nobody;
        for (uint32_t i = 0; i < PIPELINE_COUNT; i++) {
            const struct pipeline *pipeline = &server->pipelines[i];
            if (!list_is_empty(&pipeline->unsent) || !list_is_empty(&pipeline->sent) ||
                !list_is_empty(&pipeline->in_doubt)) {
                world_violation(world, "a command is left in the end", "client %u, for node %u",
                                client_of_peer(&client->peers[0]), node);
            }
        }
    }
}

/* In the end locks and queues must be gone. The counter of tokens stays. */
void cluster_judge_end(struct world *world) {
    if (!callers_are_done(world)) {
        world_violation(world, "somebody still waits in the end", "%s", "after all is well again");
    }
    for (uint32_t i = 0; i < CLIENTS; i++) {
        judge_client_end(world, &world->clients[i]);
        for (int id = 0; id < IDS_MAX; id++) {
            const struct id_note *note = &world->clients[i].notes[id];
            unconfirmed_end(&world->common, i, id, &note->unconfirmed, note->released || note->release_repeated);
        }
    }
    for (uint32_t name = 0; name < world->name_count; name++) {
        struct sim_server *server = &world->servers[world->owner[name]];
        keyspace_set_time(server->keyspace, world->now / MILLISECOND);
        if (keyspace_exists(server->keyspace, redis_text(name_text(name)))) {
            world_violation(world, "a lock is held in the end", "name %u on node %u", name, world->owner[name]);
        }
    }
}
