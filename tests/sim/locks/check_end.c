/* The end of a run: all owners are done and the last lease has ended, so nothing may be left on the server or in an
 * engine.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sim_client.h"
#include "world.h"

static void complain(struct client *client, const char *what, int64_t is, int64_t expected) {
    if (is != expected) {
        world_violation(client->world, "something is left at the end", "client %u: %s %d, expected %d", client->index,
                        what, (int)is, (int)expected);
    }
}

static void check_engine(struct client *client) {
    struct engine *engine = &client->engine;
    complain(client, "spare commands", engine->command_pool_size, client->commands);
    complain(client, "wait queues in the pool", engine->wait_queue_pool_size, client->wait_queues);
    complain(client, "spare holds", engine->hold_pool_size, client->holds);
    complain(client, "spare batches", engine->batch_pool_size, client->batches);
    complain(client, "spare lines", engine->entries_pool_size, client->lines);
    complain(client, "reserved lines", engine->reserved_entries, 0);
    complain(client, "reserved commands", engine->reserved_commands, 0);
    complain(client, "reserved wait queues", engine->reserved_wait_queues, 0);
    complain(client, "reserved holds", engine->reserved_holds, 0);
    complain(client, "holds by the gauge", (int64_t)engine->stats.held, 0);
    complain(client, "unconfirmed releases by the gauge", (int64_t)engine->stats.unconfirmed, 0);
    complain(client, "waiters by the gauge", (int64_t)engine->stats.waiters, 0);
    complain(client, "subscriptions", engine->subscriptions, 0);
    complain(client, "operations", list_is_empty(&engine->operations), 1);
    complain(client, "wait queues", list_is_empty(&engine->wait_queues), 1);
    complain(client, "finished operations", list_is_empty(&engine->finished), 1);
    complain(client, "subscription changes", list_is_empty(&engine->server->subscription_changes), 1);
    complain(client, "timers", engine->timers.root == NULL, 1);
    for (int pipeline = 0; pipeline < PIPELINE_COUNT; pipeline++) {
        complain(client, "unsent commands", list_is_empty(&engine->server->pipelines[pipeline].unsent), 1);
        complain(client, "sent commands", list_is_empty(&engine->server->pipelines[pipeline].sent), 1);
        complain(client, "unsettled commands", list_is_empty(&engine->server->pipelines[pipeline].in_doubt), 1);
        complain(client, "commands in flight", engine->server->pipelines[pipeline].in_flight, 0);
        complain(client, "unconfirmed releases in flight", engine->server->pipelines[pipeline].unconfirmed, 0);
    }
    for (uint32_t name = 0; name < client->world->plan.names; name++) {
        bool first_of_two = world_has_read_write(client->world) && name % 2 == 0;
        complain(client, "references of a name", client->names[name]->references, first_of_two ? 2 : 1);
        complain(client, "holds of a name", client->names[name]->holds == NULL, 1);
        resource_drop(engine, client->names[name]);
    }
    complain(client, "names", engine->resources.used, 0);
}

void check_end(struct world *world) {
    server_touch(world);
    for (uint32_t name = 0; name < world->plan.names; name++) {
        if (world_has_values(world) && keyspace_exists(world->server.keyspace, world->names[name])) {
            world_violation(world, "a key is left at the end", "the group of lock %u", name); /* with no holder */
        }
        watch_name(world, name);
        if (world->checker.wire[name].present) {
            world_violation(world, "a key is left at the end", "lock %u", name);
        }
        check_fair_end(world, name);
    }
    check_unconfirmed_end(world);
    for (uint32_t i = 0; i < world->plan.clients && !world->failed; i++) {
        check_engine(world->clients[i]);
    }
}
