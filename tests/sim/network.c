/* The simulated network: requests, replies and connections. Packets are delivered one after the other.
 * SPDX-License-Identifier: Apache-2.0 */
#include "network_parts.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine_reply.h"
#include "error_reply.h"
#include "reroute.h"
#include "texts.h"
#include "wire.h"

struct packet *packet_new(struct peer *peer, enum packet_kind kind, uint32_t pipeline) {
    struct packet *packet = allocate(1, sizeof *packet);
    memset(packet, 0, sizeof *packet);
    packet->kind = kind;
    packet->peer = peer;
    packet->pipeline = pipeline;
    packet->epoch = peer->epoch[pipeline];
    return packet;
}

static void packet_free(struct packet *packet) {
    free(packet->texts);
    redis_reply_free(&packet->reply);
    free(packet);
}

/* --------------------------------------------------------------------------------------------------- the packets -- */

/* Returns a random time that a packet takes. */
int64_t packet_delay(struct network *network) {
    struct sim_random *random = &network->world->random;
    return random_between(random, 100, random_chance(random, network->slow) ? 60000 : 3000);
}

void packet_post(struct network *network, struct packet *packet, int64_t at) {
    packet->at = at;
    packet->order = ++network->order;
    packet->next = network->first;
    network->first = packet;
}

/* Returns the packet that arrives next, which stays on its way, or NULL if there is none. */
static struct packet *first_to_come(const struct network *network) {
    struct packet *first = NULL;
    for (struct packet *packet = network->first; packet; packet = packet->next) {
        bool earlier = !first || packet->at < first->at || (packet->at == first->at && packet->order < first->order);
        first = earlier ? packet : first;
    }
    return first;
}

static void take_off(struct network *network, const struct packet *packet) {
    struct packet **place = &network->first;
    while (*place != packet) {
        place = &(*place)->next;
    }
    *place = packet->next;
}

/* Drops a client's packets of a kind, of one pipeline or of all (PIPELINE_COUNT). Of requests, drops only those to the
 * client's server. */
static void drop(struct network *network, const struct peer *peer, enum packet_kind kind, uint32_t pipeline) {
    for (struct packet **place = &network->first; *place;) {
        struct packet *packet = *place;
        bool meant = (pipeline == PIPELINE_COUNT || packet->pipeline == pipeline) &&
                     (kind != PACKET_REQUEST || packet->server == peer->server);
        if (packet->peer == peer && packet->kind == kind && meant) {
            *place = packet->next;
            packet_free(packet);
        } else {
            place = &packet->next;
        }
    }
}

/* Returns when a packet that is sent now arrives: after `last`, the arrival of the packet sent before it. */
static int64_t next_behind(struct network *network, int64_t *last) {
    int64_t at = network->world->now + packet_delay(network);
    *last = at > *last ? at : *last + 1;
    return *last;
}

/* --------------------------------------------------------------------------------------------- requests, replies -- */

static void send_requests(struct network *network, struct peer *peer, uint32_t pipeline) {
    struct command *command;
    while (peer->up[pipeline] &&
           (command = engine_next_to_send(peer->engine, peer_pipeline(peer, pipeline), network->world->now)) != NULL) {
        struct packet *packet = packet_new(peer, PACKET_REQUEST, pipeline);
        packet->server = peer->server;
        packet->script = command_script(command);
        packet->importing = command->importing;
        packet->wait_ms = command->needs_acknowledgement ? acknowledgement_timeout_ms(peer->engine, command) : 0;
        if (network->sent) {
            network->sent(network->world, peer, command);
        }
        packet->texts = texts_of_command(peer->engine, command, &packet->key_count, &packet->argument_count);
        packet_post(network, packet, next_behind(network, &peer->arrival[pipeline]));
    }
    engine_hold_back(peer->engine, peer_pipeline(peer, pipeline), network->world->now);
}

static void trace_run(struct world_common *world, const struct packet *packet) {
    char line[TRACE_LINE_SIZE] = "";
    size_t used = 0;
    if (world->trace.mode == TRACE_OFF) {
        return;
    }
    for (uint32_t i = 0; i < packet->key_count + packet->argument_count && used < 100; i++) {
        const struct redis_text *text = &packet->texts[i];
        size_t skip = text->size > 37 && text->bytes[36] == ':' ? 37 : 0;
        used += (size_t)snprintf(line + used, sizeof line - used, " %.*s", (int)(text->size - skip),
                                 text->bytes + skip);
    }
    TRACE(world, "client %u pipeline %u: %s is run:%s", packet->peer->number, packet->pipeline,
          scripts_embedded[packet->script].name, line);
}

/* Runs a request on its server, even if nobody waits for the reply any more. */
static void carry_out(struct network *network, struct packet *packet) {
    struct world_common *world = network->world;
    struct sim_server *server = packet->server;
    keyspace_set_time(server->keyspace, world->now / MILLISECOND);
    if (network->refuses && network->refuses(world, packet)) {
        return;
    }
    if (server->replication.master) {
        redis_reply_error(&packet->reply, "READONLY You can't write against a read only replica.");
        return;
    }
    if (world->now < server->busy_until) {
        redis_reply_error(&packet->reply, "BUSY Redis is busy running a script. You can only call SCRIPT KILL.");
        return;
    }
    if (network->before_script) {
        network->before_script(world, packet);
    }
    script_set_run(world->scripts, packet->script, world->now < server->refuse_until ? REFUSE_MEMORY : REFUSE_NOTHING,
                   server->keyspace, packet->texts, packet->key_count, packet->argument_count, &packet->reply);
    uint64_t before = server->replication.offset;
    replication_note_script(network, server);
    packet->wrote = server->replication.offset != before;
    if (network->after_script) {
        network->after_script(world, packet);
    }
    trace_run(world, packet);
}

static bool is_read_only(const struct reply *reply) {
    return reply->kind == REPLY_ERROR && error_reply_of(reply->text, reply->size).status == REDLATCH_READ_ONLY;
}

/* Sends a request back as its reply, unless its connection has broken. */
static void reply(struct network *network, struct packet *packet) {
    if (packet->epoch != packet->peer->epoch[packet->pipeline]) {
        packet_free(packet);
        return;
    }
    packet->kind = PACKET_REPLY;
    packet_post(network, packet, next_behind(network, &packet->peer->returned[packet->pipeline]));
}

/* Gives a reply to the engine. Ignores it if its connection has broken. Returns true if the reply needs
 * acknowledgements: it is then kept until their number is known. */
static bool deliver_reply(struct network *network, struct packet *packet) {
    struct peer *peer = packet->peer;
    struct engine *engine = peer->engine;
    uint32_t number = packet->pipeline;
    struct reply elements[REPLY_ELEMENTS_MAX];
    if (packet->epoch != peer->epoch[number]) {
        return false;
    }
    struct reply converted = engine_reply(&packet->reply, elements);
    if (packet->importing) {
        (void)engine_import_replied(peer_pipeline(peer, number)); /* the reply to ASKING came before this one */
    }
    if (network->redirected && network->redirected(network->world, peer, number, &converted)) {
        return false;
    }
    if (is_read_only(&converted) && packet->server->replication.master) { /* as in the client layer */
        engine_refused_by_replica(engine, peer_pipeline(peer, number));
        network_cut(network, peer, number);
        return false;
    }
    peer_pipeline(peer, number)->awaited = engine_acknowledgements_follow(engine, peer_pipeline(peer, number));
    if (peer_pipeline(peer, number)->awaited > 0 && engine_keeps_reply(peer_pipeline(peer, number), &converted)) {
        peer->kept[number] = packet;
        acknowledgement_begin(&peer->acknowledged[number]);
        return true;
    }
    engine_replied(engine, peer_pipeline(peer, number), &converted, network->world->now);
    return false;
}

/* ------------------------------------------------------------------------------------------------------- replicas --
 */

/* The connection has sent WAIT after a script. The server reads nothing more from it until WAIT has ended. */
static void wait_for_replicas(struct network *network, const struct packet *request) {
    struct peer *peer = request->peer;
    if (request->epoch != peer->epoch[request->pipeline]) {
        return;
    }
    struct packet *packet = packet_new(peer, PACKET_WAIT, request->pipeline);
    packet->server = request->server;
    packet->wait_until = network->world->now + request->wait_ms * MILLISECOND;
    peer->waits[request->pipeline] = true;
    packet_post(network, packet, network->world->now);
}

/* Checks whether enough replicas have what the connection wrote. Returns true, since the packet stays in use: the
 * server goes on waiting, or the packet becomes the reply to WAIT. Returns false if the connection has broken. */
static bool recheck_replicas(struct network *network, struct packet *packet) {
    struct peer *peer = packet->peer;
    int64_t now = network->world->now;
    if (packet->epoch != peer->epoch[packet->pipeline]) {
        return false;
    }
    uint32_t count = replication_count(network, packet->server, peer->written[packet->pipeline]);
    bool demoted = packet->server->replication.master != NULL;
    if (!demoted && count < peer->engine->settings.min_replicas && now < packet->wait_until) {
        int64_t soonest = now + MILLISECOND;
        int64_t at = replication_next(network);
        at = at > soonest ? at : soonest;
        at = at < now + 20 * MILLISECOND ? at : now + 20 * MILLISECOND;
        packet_post(network, packet, at < packet->wait_until ? at : packet->wait_until);
        return true;
    }
    if (demoted) {
        redis_reply_error(&packet->reply, "UNBLOCKED force unblock from blocking operation, instance state changed");
    } else {
        redis_reply_integer(&packet->reply, count);
    }
    peer->waits[packet->pipeline] = false;
    packet->kind = PACKET_ACKNOWLEDGED;
    packet_post(network, packet, next_behind(network, &peer->returned[packet->pipeline]));
    return true;
}

static void forget_kept(struct peer *peer, uint32_t pipeline) {
    if (peer->kept[pipeline]) {
        packet_free(peer->kept[pipeline]);
        peer->kept[pipeline] = NULL;
    }
}

/* Gives the kept reply to the engine, now with its acknowledgement. */
static void deliver_acknowledgement(struct network *network, const struct packet *packet) {
    struct peer *peer = packet->peer;
    uint32_t number = packet->pipeline;
    struct reply elements[REPLY_ELEMENTS_MAX];
    if (packet->epoch != peer->epoch[number]) {
        return;
    }
    peer_pipeline(peer, number)->awaited--;
    struct packet *kept = peer->kept[number];
    if (kept) {
        struct reply count = engine_reply(&packet->reply, elements);
        TRACE(network->world, "client %u pipeline %u: %d replicas acknowledge", peer->number, number,
              (int)count.integer);
        acknowledgement_take(&peer->acknowledged[number], peer->engine, &count);
        struct reply converted = engine_reply(&kept->reply, elements);
        converted.acknowledgement = &peer->acknowledged[number];
        engine_replied(peer->engine, peer_pipeline(peer, number), &converted, network->world->now);
        forget_kept(peer, number);
    }
}

/* --------------------------------------------------------------------------------------------------- connections -- */

static void note_delivered(struct network *network, struct peer *peer) {
    if (network->delivered) {
        network->delivered(network->world, peer);
    }
}

static void note_lost(struct network *network, struct peer *peer, uint32_t pipeline) {
    if (network->lost) {
        network->lost(network->world, peer, pipeline);
    }
}

void network_cut(struct network *network, struct peer *peer, uint32_t pipeline) {
    struct world_common *world = network->world;
    if (peer->up[pipeline]) {
        TRACE(world, "FAULT: client %u pipeline %u is cut", peer->number, pipeline);
        peer->up[pipeline] = false;
        peer->epoch[pipeline]++;
        peer->waits[pipeline] = false;
        forget_kept(peer, pipeline);
        engine_pipeline_lost(peer->engine, peer_pipeline(peer, pipeline), world->now);
        note_lost(network, peer, pipeline);
        int64_t within = network->connects_within ? network->connects_within : 400 * MILLISECOND;
        int64_t at = world->now + random_between(&world->random, 500, within);
        packet_post(network, packet_new(peer, PACKET_READY, pipeline), at);
    }
    note_delivered(network, peer);
}

void network_cut_messages(struct network *network, struct peer *peer) {
    TRACE(network->world, "FAULT: client %u is cut off from messages", peer->number);
    peer->subscribed = 0;
    drop(network, peer, PACKET_MESSAGE, PIPELINE_COUNT);
    engine_subscriptions_lost(peer->engine, peer->engine_server, network->world->now);
    note_delivered(network, peer);
}

void network_fail(struct network *network, struct sim_server *server, int64_t until) {
    server->down_until = until;
    for (uint32_t i = 0; i < network->peer_count; i++) {
        struct peer *peer = network->peers[i];
        if (peer->server == server) {
            for (uint32_t pipeline = 0; pipeline < PIPELINE_COUNT; pipeline++) {
                network_cut(network, peer, pipeline);
            }
            network_cut_messages(network, peer);
            drop(network, peer, PACKET_REQUEST, PIPELINE_COUNT);
        }
    }
}

/* The client moves to another server. All its connections but `except` are broken. Messages and confirmations of the
 * old server that are on their way are dropped. */
static void leave(struct network *network, struct peer *peer, struct sim_server *server, uint32_t except) {
    TRACE(network->world, "client %u moves to another server", peer->number);
    for (uint32_t pipeline = 0; pipeline < PIPELINE_COUNT; pipeline++) {
        if (pipeline != except) {
            network_cut(network, peer, pipeline);
        }
    }
    peer->server = server;
    peer->process = server->process;
    network_cut_messages(network, peer);
    drop(network, peer, PACKET_SUBSCRIBED, PIPELINE_COUNT);
    bool late = random_chance(&network->world->random, 500);
    peer->deaf_until = late ? network->world->now + random_between(&network->world->random, 0, SECOND) : 0;
    engine_server_changed(peer->engine, peer->engine_server, network->world->now);
    if (network->moved) {
        network->moved(network->world, peer);
    }
}

void network_move(struct network *network, struct peer *peer, struct sim_server *server) {
    peer->view = server;
    if (peer->server != server) {
        leave(network, peer, server, PIPELINE_COUNT);
    }
}

/* Resolves the commands of the old connection. If the old connection can be killed, its requests on their way are
 * dropped; else they arrive, late. If it led to another server or process, none can arrive any more. */
static enum resolution resolve(struct network *network, const struct peer *peer, uint32_t pipeline) {
    struct sim_random *random = &network->world->random;
    bool other = peer->reached[pipeline] != peer->server || peer->reached_process[pipeline] != peer->process;
    if (peer->reached[pipeline] && other) {
        return RESOLVED_BY_RESTART;
    }
    if (!network->denied) {
        drop(network, peer, PACKET_REQUEST, pipeline);
    }
    for (struct packet *packet = network->first; packet; packet = packet->next) {
        bool to_server = packet->kind == PACKET_REQUEST && packet->server == peer->server;
        if (to_server && packet->peer == peer && packet->pipeline == pipeline) {
            packet->at += random_between(random, 0, 3 * SECOND);
        }
    }
    return network->denied ? RESOLUTION_DENIED : RESOLVED_BY_KILL;
}

/* Opens a connection again if the server is up and a master. Returns true if it tries again later with the same
 * packet. */
static bool connect_again(struct network *network, struct packet *ready) {
    struct world_common *world = network->world;
    struct peer *peer = ready->peer;
    struct sim_server *server = peer->view ? peer->view : peer->server;
    bool replica = server->replication.master && !network->refuses; /* a replica in a cluster redirects */
    if (world->now < server->down_until || world->now < peer->cut_until || replica) {
        engine_pipeline_failed(peer->engine, peer_pipeline(peer, ready->pipeline), REDLATCH_UNREACHABLE, true,
                               world->now);
        note_lost(network, peer, ready->pipeline);
        packet_post(network, ready, world->now + random_between(&world->random, 10000, 400000));
        return true;
    }
    if (server != peer->server || server->process != peer->process) {
        leave(network, peer, server, ready->pipeline);
    }
    enum resolution how = resolve(network, peer, ready->pipeline);
    peer->reached[ready->pipeline] = server;
    peer->reached_process[ready->pipeline] = server->process;
    peer->written[ready->pipeline] = 0;
    peer->ready_at[ready->pipeline] = world->now;
    peer->up[ready->pipeline] = true;
    engine_pipeline_ready(peer->engine, peer_pipeline(peer, ready->pipeline), how, world->now);
    return false;
}

/* ---------------------------------------------------------------------------------------------------------- all -- */

void network_add_server(struct network *network, struct sim_server *server) {
    server->network = network;
    server->keyspace = keyspace_new();
    server->replication.end = &server->replication.first;
    network->servers[network->server_count++] = server;
    network_publish_from(server);
}

void network_add_peer(struct network *network, struct peer *peer) {
    peer->number = network->peer_count;
    peer->engine_server = peer->engine_server ? peer->engine_server : peer->engine->server;
    for (uint32_t pipeline = 0; pipeline < PIPELINE_COUNT; pipeline++) {
        peer->up[pipeline] = true;
        peer->reached[pipeline] = peer->server;
    }
    network->peers[network->peer_count++] = peer;
}

void network_free(struct network *network, struct sim_server *servers, uint32_t count) {
    while (network->first) {
        struct packet *packet = network->first;
        network->first = packet->next;
        packet_free(packet);
    }
    for (uint32_t i = 0; i < network->peer_count; i++) {
        for (uint32_t pipeline = 0; pipeline < PIPELINE_COUNT; pipeline++) {
            forget_kept(network->peers[i], pipeline);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        replication_free(&servers[i]);
        keyspace_free(servers[i].keyspace);
    }
}

void network_flush(struct network *network) {
    for (uint32_t i = 0; i < network->peer_count; i++) {
        struct peer *peer = network->peers[i];
        if (peer_is_running(peer)) {
            for (uint32_t pipeline = 0; pipeline < PIPELINE_COUNT; pipeline++) {
                send_requests(network, peer, pipeline);
            }
            network_change_subscriptions(network, peer);
        }
    }
}

int64_t network_next(const struct network *network) {
    const struct packet *first = first_to_come(network);
    int64_t replicated = replication_next(network);
    int64_t at = first ? first->at : NEVER;
    return at < replicated ? at : replicated;
}

/* A request arrives at its server. */
static void serve(struct network *network, struct packet *packet) {
    struct peer *peer = packet->peer;
    bool current = packet->epoch == peer->epoch[packet->pipeline];
    carry_out(network, packet);
    if (current && packet->wrote) {
        peer->written[packet->pipeline] = packet->server->replication.offset;
    }
    if (packet->wait_ms > 0) {
        wait_for_replicas(network, packet);
    }
    reply(network, packet);
}

/* Returns whether a request that was sent earlier on the same connection is still on its way, because it waited for a
 * WAIT. */
static bool has_earlier(const struct network *network, const struct packet *packet) {
    const struct packet *other = network->first;
    while (other &&
           !(other->kind == PACKET_REQUEST && other->peer == packet->peer && other->pipeline == packet->pipeline &&
             other->epoch == packet->epoch && other->order < packet->order)) {
        other = other->next;
    }
    return other != NULL;
}

bool network_step(struct network *network) {
    if (replication_step(network)) {
        return true;
    }
    struct packet *packet = first_to_come(network);
    int64_t now = network->world->now;
    if (!packet || packet->at > now) {
        return false;
    }
    struct peer *peer = packet->peer;
    bool at_server = packet->kind == PACKET_REQUEST || packet->kind == PACKET_WAIT;
    int64_t stopped_until = at_server ? packet->server->paused_until : peer->paused_until;
    if (packet->kind != PACKET_READY && peer->cut_until > stopped_until) {
        stopped_until = peer->cut_until;
    }
    if (stopped_until > now) { /* the receiver is stopped */
        packet->at = stopped_until;
        return true;
    }
    bool current = packet->epoch == peer->epoch[packet->pipeline];
    bool behind = current && (peer->waits[packet->pipeline] || has_earlier(network, packet));
    if (packet->kind == PACKET_REQUEST && behind) {
        int64_t *last = &peer->arrival[packet->pipeline];
        packet->at = now + MILLISECOND; /* after the WAIT, and before requests that are sent later */
        *last = packet->at > *last ? packet->at : *last;
        return true;
    }
    take_off(network, packet);
    if (at_server && now < packet->server->down_until) { /* from a client that has left this server */
        packet_free(packet);
        return true;
    }
    if (packet->kind == PACKET_REQUEST) {
        serve(network, packet);
        return true;
    }
    bool goes_on = false;
    if (packet->kind == PACKET_REPLY) {
        goes_on = deliver_reply(network, packet);
    } else if (packet->kind == PACKET_WAIT) {
        goes_on = recheck_replicas(network, packet);
    } else if (packet->kind == PACKET_ACKNOWLEDGED) {
        deliver_acknowledgement(network, packet);
    } else if (packet->kind == PACKET_READY) {
        goes_on = connect_again(network, packet);
    } else {
        network_deliver_message(network, packet);
    }
    note_delivered(network, peer);
    if (!goes_on) {
        packet_free(packet);
    }
    return true;
}
