/* After a connection has ended, its client must soon ask the server about its holds, so that it notices losses.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sim_client.h"
#include "world.h"

static const int64_t TICK = 40 * MILLISECOND;

static bool is_extending(const struct hold *hold) {
    return hold->busy && (hold->busy->kind == COMMAND_EXTEND || hold->busy->kind == COMMAND_MOVE);
}

void check_connection_ended(struct client *client) {
    for (uint32_t name = 0; name < client->world->plan.names; name++) {
        for (struct hold *hold = client->names[name]->holds; hold; hold = hold->next) {
            if (!hold->batch && !is_extending(hold)) {
                note_of(client->world, client->index, hold->id)->requested_at = client->world->now;
            }
        }
    }
}

/* Returns by when a loss must be noticed after a connection ended: at the next verification, once the client can reach
 * the server, and after the time that this takes. */
static int64_t limit(const struct client *client, int64_t requested_at) {
    const struct world *world = client->world;
    int64_t since = requested_at + world->plan.settings.watchdog_lease_ms * MILLISECOND / 10;
    since = latest(since, latest(world->troubled_until, client->resumed_at));
    since = latest(since, client->links[PIPELINE_BACKGROUND].ready_at);
    return since + 4 * world->plan.delay_max * (world->plan.spikes ? 10 : 1) + 150 * MILLISECOND;
}

static void check_notified(struct client *client, const struct hold *hold) {
    struct world *world = client->world;
    const struct id_note *note = note_of(world, client->index, hold->id);
    bool gone = note->removed != REMOVED_NOT && note->removed_at < note->requested_at;
    if (gone && hold->stage == HOLD_ALIVE && !hold->busy && world->now > limit(client, note->requested_at)) {
        world_violation(world, "a loss is not noticed when a connection ends", "client %u id %d", client->index,
                        (int)hold->id);
    }
}

static void tick(struct world *world, void *actor, uint64_t number) {
    for (uint32_t i = 0; i < world->plan.clients; i++) {
        struct client *client = world->clients[i];
        bool well = client->links[PIPELINE_BACKGROUND].state == LINK_READY && world->troubled_until <= world->now &&
                    client->paused_until <= world->now;
        for (uint32_t name = 0; well && name < world->plan.names; name++) {
            for (struct hold *hold = client->names[name]->holds; hold; hold = hold->next) {
                check_notified(client, hold);
            }
        }
    }
    world_at(world, world->now + TICK, tick, actor, number);
}

void check_losses_start(struct world *world) {
    world_at(world, TICK, tick, world, 0);
}
