/* redlatch_client_command sends any command of Redis and returns the reply as text. redlatch_client_nodes lists the
 * nodes that it can be sent to.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "client_lock.h"
#include "errors.h"
#include "guard.h"
#include "inquiry.h"
#include "node.h"

static int check_buffer(const char *buffer, size_t capacity) {
    if (!buffer || capacity < 1) {
        return fail_with(REDLATCH_INVALID, "buffer is %s: expected room for the reply", buffer ? "empty" : "NULL");
    }
    return REDLATCH_OK;
}

/* Copies a text to the caller's buffer, cut if it is too long. *size_out is the size of the whole text. */
static void hand_out(const char *text, size_t size, char *buffer, size_t capacity, size_t *size_out) {
    size_t copied = size < capacity - 1 ? size : capacity - 1;
    memcpy(buffer, text, copied);
    buffer[copied] = '\0';
    if (size_out) {
        *size_out = size;
    }
}

static int check_arguments(const char *const *arguments, size_t count, const char *buffer, size_t capacity) {
    if (!arguments || count < 1 || count > REDLATCH_ARGUMENTS_MAX) {
        return fail_with(REDLATCH_INVALID, "count is %zu%s: expected 1 to %d arguments", count,
                         arguments ? "" : ", arguments NULL", REDLATCH_ARGUMENTS_MAX);
    }
    for (size_t i = 0; i < count; i++) {
        if (!arguments[i]) {
            return fail_with(REDLATCH_INVALID, "arguments[%zu] is NULL: expected a text", i);
        }
    }
    return check_buffer(buffer, capacity);
}

/* Returns the server of the node at an address. Returns NULL if no node that serves slots has it. */
static struct server *server_at(struct client *client, const char *address) {
    char text[NODE_ADDRESS_SIZE] = "";
    client_lock(client);
    struct node *node = client->node.next;
    while (node && (!node->serves || (node_address(node, text), strcmp(text, address) != 0))) {
        node = node->next;
    }
    client_unlock(client);
    return node ? &node->server : NULL;
}

int redlatch_client_command(redlatch_client *handle, const char *node, const char *const *arguments, size_t count,
                            char *buffer, size_t capacity, size_t *size_out) {
    int status = guard_client(handle);
    if (status != REDLATCH_OK || (status = check_arguments(arguments, count, buffer, capacity)) != REDLATCH_OK) {
        return status;
    }
    bool chosen = node && handle->client->cluster;
    struct server *server = chosen ? server_at(handle->client, node) : NULL;
    if (chosen && !server) {
        return fail_with(REDLATCH_INVALID, "node is \"%s\": expected one of redlatch_client_nodes", node);
    }
    struct inquiry inquiry = {.verb = "command"};
    inquiry.question = (struct question){.argument_count = (uint32_t)count, .server = server, .plain = true};
    inquiry.subject = (struct argument_part){arguments[0], strlen(arguments[0])};
    for (size_t i = 0; i < count; i++) {
        inquiry.arguments[i] = (struct argument_part){arguments[i], strlen(arguments[i])};
    }
    status = inquiry_execute(handle->client, &inquiry);
    if (status == REDLATCH_OK) {
        hand_out(inquiry.text, inquiry.size, buffer, capacity, size_out);
    }
    free(inquiry.text);
    return status;
}

/* Lists the addresses of the nodes, a line for each, in new memory. Returns NULL if there was no memory. */
static char *list_nodes(struct client *client, size_t *size_out) {
    size_t count = 1;
    client_lock(client);
    for (const struct node *node = client->node.next; node; node = node->next) {
        count++;
    }
    char *text = malloc(count * NODE_ADDRESS_SIZE);
    size_t size = 0;
    const struct node *node = client->cluster ? client->node.next : &client->node;
    for (; text && node; node = node->next) {
        if (node->serves || !client->cluster) {
            node_address(node, text + size);
            size += strlen(text + size);
            text[size++] = '\n';
        }
    }
    client_unlock(client);
    *size_out = size;
    return text;
}

int redlatch_client_nodes(redlatch_client *handle, char *buffer, size_t capacity, size_t *size_out) {
    int status = guard_client(handle);
    if (status != REDLATCH_OK || (status = check_buffer(buffer, capacity)) != REDLATCH_OK) {
        return status;
    }
    size_t size = 0;
    char *text = list_nodes(handle->client, &size);
    if (text && size <= 1) { /* no address is known before the first connection: PING makes one */
        char pong[8];
        free(text);
        status = redlatch_client_command(handle, NULL, (const char *[]){"PING"}, 1, pong, sizeof pong, NULL);
        text = list_nodes(handle->client, &size);
    }
    if (text && (status == REDLATCH_OK || size > 1)) {
        hand_out(text, size, buffer, capacity, size_out);
        status = REDLATCH_OK; /* the nodes are known even if PING was forbidden */
    }
    bool listed = text != NULL;
    free(text);
    return listed ? status : fail_plain(REDLATCH_NO_MEMORY);
}
