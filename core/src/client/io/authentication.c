/* AUTH on connections that stand, and what follows its refusal.
 * SPDX-License-Identifier: Apache-2.0 */
#include "authentication.h"

#include <stdio.h>
#include <string.h>

#include "client.h"
#include "planted.h"

bool authentication_is_due(const struct pipeline_io *io) {
    const struct credentials *credentials = &io->client->credentials;
    if (PLANTED(FAULT_NO_AUTH_ON_OPEN) || (PLANTED(FAULT_AUTH_ON_ONE) && io->pipeline->role != PIPELINE_CALLERS)) {
        return false;
    }
    return io->connection.state == CONNECTION_READY && !io->authentication.pending &&
           credentials_are_given(credentials) && io->connection.credentials != credentials->version;
}

void authentication_say(struct pipeline_io *io) {
    const struct credentials *credentials = &io->client->credentials;
    if (credentials_say(credentials, &io->connection.output)) {
        io->connection.credentials = credentials->version;
        io->authentication.pending = true;
        io->authentication.unwiped = true;
        bool own_reply_came = io->kept != NULL; /* the first command's reply has come and waits for those to WAIT and
                                                   WAITAOF */
        io->authentication.ahead = io->pipeline->in_flight - own_reply_came;
    }
}

void authentication_sent(struct pipeline_io *io) {
    struct output *output = &io->connection.output;
    if (io->authentication.unwiped) {
        output_wipe(output);
        io->authentication.unwiped = output_pending(output) > 0; /* the kernel may not have taken AUTH yet */
    }
}

bool authentication_is_next(const struct pipeline_io *io) {
    return io->authentication.pending && io->authentication.ahead == 0 && io->pipeline->awaited == 0;
}

void authentication_passed(struct pipeline_io *io) {
    io->authentication.ahead -= io->authentication.pending;
}

void authentication_forget(struct pipeline_io *io) {
    io->authentication.pending = false;
}

/* Notes a refusal for the host, once for each version. */
static void note_refused(struct client *client, uint32_t version, const char *detail) {
    struct refused_credentials *refused = &client->refused;
    if ((refused->version == version && !PLANTED(FAULT_REFUSED_REPORTED_AGAIN)) || PLANTED(FAULT_REFUSED_UNREPORTED)) {
        return;
    }
    refused->version = version;
    snprintf(refused->detail, sizeof refused->detail, "%.*s", (int)sizeof refused->detail - 1, detail);
    for (int queue = LOSS_EVENTS; queue <= LOSS_THREADS; queue++) {
        refused->pending[queue] = atomic_load(&client->losses_watched[queue]);
    }
}

void authentication_replied(struct pipeline_io *io, const struct reply *reply) {
    struct client *client = io->client;
    struct connection *connection = &io->connection;
    io->authentication.pending = false;
    if (reply->kind != REPLY_ERROR) {
        authentication_succeeded(client, connection);
        return;
    }
    struct reply shown = credentials_shown_error(&client->credentials, connection->credentials, reply);
    char where[120];
    char detail[sizeof client->refused.detail];
    connection_note_error(connection, &shown);
    connection_describe(connection->settings, where, sizeof where);
    snprintf(detail, sizeof detail, "%s: the server returned an error: %.150s", where, connection->detail);
    connection->detail[0] = '\0'; /* it is for a connection that failed; this one stands */
    note_refused(client, connection->credentials, detail);
}

bool authentication_failed(struct client *client, const struct connection *connection) {
    if (!connection->refused) {
        return false;
    }
    if (connection->credentials != client->credentials.version && credentials_are_given(&client->credentials)) {
        return true;
    }
    note_refused(client, client->credentials.version, connection->detail);
    return false;
}

void authentication_succeeded(struct client *client, const struct connection *connection) {
    if (client->refused.version == connection->credentials) {
        client->refused.version = 0; /* the next refusal is reported again */
    }
}
