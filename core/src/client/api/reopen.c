/* A forked child sets up anew the clients that it inherited.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client is inherited while its fork generation is not that of the process.
 *
 *   client in the child    event                          becomes
 *   none                   fork                           inherited; the fork handler closes its descriptors
 *   inherited              any call on it or on a handle  own: set up anew, without a connection or a thread
 *   inherited              the same, after_fork = REFUSE  inherited; the call returns FORKED
 *   inherited              close, free                    closed; nothing is sent
 *   inherited, closed      any call                       closed; the call returns CLOSED, or FORKED if it refuses
 *   own                    any call                       own: connects and starts its thread as a lazy client does
 *   own                    fork                           inherited, in the child's child
 *
 * The child's copy is consistent, because the forking thread takes the mutex of every client before the fork. So no
 * other thread is inside the engine, a connection's buffers or OpenSSL, which are used under the mutex only. A client
 * that is being closed has left the list of clients; in the child it is closed, and nothing touches its mutex.
 *
 *   what the parent's client had       in the child
 *   sockets, event and alarm           closed in the fork handler, by close(2) alone, before their numbers can be
 *   descriptors                        reused. The host's from redlatch_client_event_fd is not valid any more
 *   TLS sessions, buffers, pools,      freed; a session is freed without close_notify
 *   commands, wait queues, holds
 *   names, with their references       stay: locks and other handles still point to them
 *   options, credentials, TLS context  stay
 *   uuid, statistics, routes,          new, or empty
 *   script knowledge, addresses
 *   wire numbers                       are counted on, so that no hold of the child has a number of the parent's
 *   holds                              noted as the parent's (inherited.h): their release and extension return FORKED
 *                                      until their owner is granted the same lock in the child
 *   started calls and their events,    leaked: parts of them are on the stacks of threads that the child does not
 *   a name that they keep, lookups     have, and so are those who would collect the events
 *   waits, scans, cancel objects       the parent's: calls on them return FORKED
 */
#include "reopen.h"

#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "composite_holds.h"
#include "errors.h"
#include "host_watch.h"
#include "identity.h"
#include "inherited.h"
#include "listener.h"
#include "node.h"
#include "owners.h"

static void begin_events(struct client *client) {
    client->event_set = -1;
    client->event_signal = SYSTEM_NO_SIGNAL;
    client->event_raised = false;
    client->event_polling = false;
    list_init(&client->events);
    for (int i = 0; i < TAG_LISTS; i++) {
        list_init(&client->tagged[i]);
    }
    for (int queue = LOSS_EVENTS; queue <= LOSS_THREADS; queue++) {
        atomic_store(&client->losses_watched[queue], false);
        client->composite_losses[queue] = NULL;
    }
    atomic_store(&client->loss_futex, 0);
    client->composite_ops = NULL;
}

static void begin_background(struct client *client) {
    client->background_started = false;
    client->background_kick = false;
    client->background_signal = SYSTEM_NO_SIGNAL;
    client->background_alarm = -1;
    client->alarm_at = NEVER;
    client->background_wakes_at = 0;
    client->unread_until = 0;
}

void client_make_blank(struct client *client, const struct engine_settings *settings, const char *uuid, uint64_t random,
                       uint64_t last_id) {
    atomic_store(&client->stopping, false);
    atomic_store(&client->broken, false);
    begin_events(client);
    begin_background(client);
    memset(&client->refused, 0, sizeof client->refused);
    memset(&client->yielding, 0, sizeof client->yielding);
    memset(&client->located_at, 0, sizeof client->located_at);
    memset(client->located_uuid, 0, sizeof client->located_uuid);
    client->locations_from = 0;
    client->holders_from = 0;
    client->explained_from = 0;
    client->callers = 0;
    client->crowded = 0;
    client->wake_count = 0;
    client->listener = NULL;
    client->cluster = NULL;
    client->connection_settings.uri = &client->uri;
    client->connection_settings.master_only = false;
    memset(&client->node, 0, sizeof client->node);
    engine_init(&client->engine, &client->node.server, settings, uuid, random);
    client->engine.last_id = last_id;
    node_init(&client->node, client, &client->connection_settings);
}

bool client_make_parts(struct client *client) {
    return cluster_init(client, client->sharded_messages) && current_server_init(client) && listener_init(client);
}

/* Frees what the parent's client had, except for the names. Its descriptors were closed at the fork. */
static void free_parts(struct client *client) {
    client_free_records(client);
    for (struct node *node = &client->node; node; node = node->next) {
        node_close(node);
    }
    cluster_free(client);
    node_free(&client->node);
    listener_free(client);
    current_server_free(client);
    host_watch_close(client);
}

/* Takes the names over, without wait queues and holds: this process has none. */
static void begin_names(struct client *client, const struct resource_table *table) {
    client->engine.resources = *table;
    for (uint32_t i = 0; i < table->bucket_count; i++) {
        for (struct resource *resource = table->buckets[i]; resource; resource = resource->next) {
            resource->queue = NULL;
            resource->holds = NULL;
            resource->moved_at = 0;
            resource->wait_queue_users = 0;
            resource->server = client->engine.routes ? client->engine.routes[resource->slot] : NULL;
        }
    }
}

static int set_up(struct client *client) {
    struct identity identity = {.uuid = ""};
    int status = identity_draw(&identity);
    if (status != REDLATCH_OK) {
        return status;
    }
    struct system_signal signal;
    if (!system_signal_new(&signal)) {
        return fail_with(REDLATCH_SYSTEM, "no descriptor can be opened: expected one for this process");
    }
    if (!inherited_note(client)) {
        system_signal_close(&signal);
        return fail_plain(REDLATCH_NO_MEMORY);
    }
    composite_forget_client(client);
    const struct engine_settings settings = client->engine.settings;
    const bool in_sets = client->engine.losses_wanted[LOSS_SETS];
    const uint64_t last_id = client->engine.last_id;
    free_parts(client);
    const struct resource_table names = client->engine.resources;
    client_make_blank(client, &settings, identity.uuid, identity.random, last_id);
    client->engine.losses_wanted[LOSS_SETS] = in_sets;
    client->background_signal = signal;
    host_watch_init(client, client->host_watch.interval);
    identity_name(client);
    bool made = client_make_parts(client);
    begin_names(client, &names);
    if (!made) {
        system_signal_close(&client->background_signal);
        return fail_plain(REDLATCH_NO_MEMORY); /* the next call tries again */
    }
    owners_add_client(client);
    return REDLATCH_OK;
}

int client_reopen(struct client *client) {
    if (client->refuses_forks) {
        return fail_plain(REDLATCH_FORKED);
    }
    if (atomic_load(&client->closed)) {
        return fail_plain(REDLATCH_CLOSED);
    }
    owners_lock();
    int status = client_is_inherited(client) ? set_up(client) : REDLATCH_OK;
    if (status == REDLATCH_OK) {
        atomic_store_explicit(&client->fork_generation, system_fork_generation(), memory_order_release);
    }
    owners_unlock();
    return status;
}
