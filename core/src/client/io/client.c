/* Reference counts, memory and state of clients.
 * SPDX-License-Identifier: Apache-2.0 */
#include "client.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cluster.h"
#include "errors.h"
#include "node.h"

struct client *client_keep(struct client *client) {
    atomic_fetch_add(&client->references, 1);
    return client;
}

void client_close_descriptor(int *fd) {
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

static void discard_losses(struct client *client) {
    for (int queue = LOSS_EVENTS; queue <= LOSS_THREADS; queue++) {
        for (struct loss_event *loss; (loss = client->composite_losses[queue]) != NULL;) {
            client->composite_losses[queue] = loss->next;
            free(loss);
        }
    }
}

static void free_command(struct command *command) {
    free(command->batch);
    free(command->entries);
    free(command);
}

static void free_commands(struct list *list) {
    struct list_link *link;
    while ((link = list_pop(list)) != NULL) {
        free_command(container_of(link, struct command, link));
    }
}

static void free_holds(struct resource *resource) {
    for (struct hold *hold; (hold = resource->holds) != NULL;) {
        resource->holds = hold->next;
        free(hold);
    }
}

void client_free_records(struct client *client) {
    struct engine *engine = &client->engine;
    discard_losses(client);
    for (struct pipeline_io *io = client->node.ios; io; io = io_next(io)) {
        free_commands(&io->pipeline->unsent);
        free_commands(&io->pipeline->sent);
        free_commands(&io->pipeline->in_doubt);
    }
    free_commands(&engine->command_pool);
    free_commands(&engine->batch_pool);
    struct list_link *link;
    while ((link = list_pop(&engine->entries_pool)) != NULL) {
        free(container_of(link, struct entries, link));
    }
    while ((link = list_pop(&engine->wait_queues)) != NULL) {
        free(container_of(link, struct wait_queue, all));
    }
    while ((link = list_pop(&engine->wait_queue_pool)) != NULL) {
        free(container_of(link, struct wait_queue, link));
    }
    for (struct hold *hold; (hold = engine->hold_pool) != NULL;) {
        engine->hold_pool = hold->next;
        free(hold);
    }
    for (int queue = 0; queue < LOSS_QUEUES; queue++) { /* holds kept only for their report */
        for (struct hold *hold = engine->losses[queue], *next; hold; hold = next) {
            next = hold->next_loss[queue];
            hold->reported &= (uint8_t)~(1 << queue);
            if (hold->ended && hold->reported == 0) {
                free(hold);
            }
        }
    }
    for (uint32_t i = 0; i < engine->resources.bucket_count; i++) {
        for (struct resource *resource = engine->resources.buckets[i]; resource; resource = resource->next) {
            free_holds(resource);
        }
    }
    for (struct resource *resource; (resource = engine->dead_resources) != NULL;) {
        engine->dead_resources = resource->next;
        free(resource);
    }
}

/* Frees the engine's memory at the end of a client, whatever state it is in. */
static void free_memory(struct client *client) {
    struct engine *engine = &client->engine;
    struct timer *timer;
    while ((timer = timer_heap_pop(&engine->timers, NEVER)) != NULL) {
        if (timer->kind == TIMER_COMMAND) { /* a command that waits to be repeated is on no list */
            free_command(container_of(timer, struct command, timer));
        }
    }
    client_free_records(client);
    for (uint32_t i = 0; i < engine->resources.bucket_count; i++) {
        for (struct resource *resource = engine->resources.buckets[i], *next; resource; resource = next) {
            next = resource->next;
            free(resource);
        }
    }
    free(engine->resources.buckets);
}

void client_drop(struct client *client) {
    if (atomic_fetch_sub(&client->references, 1) > 1) {
        return;
    }
    if (client_is_inherited(client)) {
        return; /* it refuses forks or was being closed: its mutex may stay locked in this process */
    }
    system_signal_close(&client->background_signal); /* until now a call that was leaving may have used it */
    client_close_descriptor(&client->background_alarm);
    free_memory(client);
    cluster_free(client);
    node_free(&client->node);
    tls_context_free(client->connection_settings.tls);
    tls_context_free(client->connection_settings.sentinel_tls);
    listener_free(client);
    current_server_free(client);
    uri_free(&client->uri);
    credentials_free(&client->credentials);
    credentials_free(&client->sentinel_credentials);
    free(client->name_prefix);
    free(client->shown_url);
    free(client->inherited.list);
    free(client);
}

void client_forget_descriptors(struct client *client) {
    node_forget(&client->node);
    for (struct node *node = client->node.next; node; node = node->next) {
        node_forget(node);
    }
    if (current_server_is_searched(&client->node.current)) {
        search_forget(client->node.current.search);
    }
    if (client->listener) {
        connection_forget(&client->listener->connection);
    }
    system_signal_close(&client->background_signal);
    client_close_descriptor(&client->background_alarm);
    system_signal_close(&client->event_signal);
    client_close_descriptor(&client->event_set);
}

int fail_broken(const struct client *client) {
    return fail_with(REDLATCH_INTERNAL, "%s (failed check: %s); please report it. This client cannot be used any more",
                     redlatch_strerror(REDLATCH_INTERNAL), client->engine.broken);
}

int client_status(const struct client *client) {
    if (atomic_load(&client->broken)) {
        return fail_broken(client);
    }
    return atomic_load(&client->closed) ? fail_plain(REDLATCH_CLOSED) : REDLATCH_OK;
}

int check_name(const struct client *client, const char *name, size_t size) {
    if (!name || size == 0) {
        return fail_with(REDLATCH_INVALID, "name is empty: expected 1 to %d bytes", REDLATCH_NAME_SIZE_MAX);
    }
    if (size > REDLATCH_NAME_SIZE_MAX - client->name_prefix_size) {
        return fail_with(REDLATCH_INVALID, "name has %zu bytes, prefix included: expected 1 to %d",
                         size + client->name_prefix_size, REDLATCH_NAME_SIZE_MAX);
    }
    return REDLATCH_OK;
}
