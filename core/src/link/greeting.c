/* The greeting and how its replies are judged.
 * SPDX-License-Identifier: Apache-2.0 */
#include "greeting.h"

#include <stdio.h>
#include <string.h>

#include "error_reply.h"
#include "info.h"
#include "planted.h"

static bool say(struct connection *connection, enum greeting_step step, size_t count, const char *const arguments[]) {
    size_t sizes[4];
    for (size_t i = 0; i < count; i++) {
        sizes[i] = strlen(arguments[i]);
    }
    if (!output_arguments(&connection->output, count, arguments, sizes)) {
        return false;
    }
    connection->steps[connection->step_count++] = (uint8_t)step;
    return true;
}

int greeting_begin(struct connection *connection) {
    const struct connection_settings *settings = connection->settings;
    connection->step = 0;
    connection->step_count = 0;
    connection->server_id = 0;
    connection->run_id[0] = '\0';
    connection->replication_id[0] = '\0';
    connection->resolution = RESOLVED_BY_KILL;
    connection->has_sharding = false;
    bool replied = true;
    if (credentials_are_given(settings->credentials)) {
        replied = credentials_say(settings->credentials, &connection->output);
        connection->credentials = settings->credentials->version;
        connection->steps[connection->step_count++] = GREET_AUTH;
    }
    if (settings->database > 0 && !connection->subscriber) {
        char number[16];
        snprintf(number, sizeof number, "%d", settings->database);
        const char *arguments[] = {"SELECT", number};
        replied = replied && say(connection, GREET_SELECT, 2, arguments);
    }
    const char *name[] = {"CLIENT", "SETNAME", settings->name};
    replied = replied && say(connection, GREET_NAME, 3, name);
    if (!connection->subscriber) {
        static const char *const id[] = {"CLIENT", "ID"};
        replied = replied && say(connection, GREET_ID, 2, id);
    }
    static const char *const info[] = {"INFO", "server"};
    static const char *const role[] = {"INFO", "replication"};
    replied = replied && say(connection, GREET_INFO, 2, info);
    if (settings->master_only) {
        replied = replied && say(connection, GREET_ROLE, 2, role);
    }
    if (settings->asks_sharding) {
        static const char *const sharding[] = {"PUBSUB", "SHARDNUMSUB"};
        replied = replied && say(connection, GREET_SHARDING, 2, sharding);
    }
    return replied ? REDLATCH_OK : REDLATCH_NO_MEMORY;
}

static int refuse(struct connection *connection, int status, const struct reply *reply) {
    connection->refused = status == REDLATCH_AUTHENTICATION;
    connection_note_error(connection, reply);
    return status;
}

/* Without INFO a replica could be taken for the master, and would refuse each script. */
static int refuse_unknown_role(struct connection *connection, const struct reply *reply) {
    int status = refuse(connection, REDLATCH_NO_PERMISSION, reply);
    size_t size = strlen(connection->detail);
    snprintf(connection->detail + size, sizeof connection->detail - size,
             ": expected a user with +info, which tells the master from a replica");
    return status;
}

/* Returns the status of an error that makes the connection unusable, else OK. A user may have no right to CLIENT and
 * INFO, except where INFO has to show that the server is a master. */
static int judge_error(struct connection *connection, enum greeting_step step, const struct reply *reply) {
    struct error_reply error = error_reply_of(reply->text, reply->size);
    if (error.transient || error.status == REDLATCH_AUTHENTICATION || error.status == REDLATCH_TOO_MANY_CLIENTS) {
        return refuse(connection, error.status, reply);
    }
    if (reply->size >= 6 && memcmp(reply->text, "DENIED", 6) == 0) {
        return refuse(connection, REDLATCH_NO_PERMISSION, reply);
    }
    if (step == GREET_ROLE && error.status == REDLATCH_NO_PERMISSION) {
        return refuse_unknown_role(connection, reply);
    }
    if (step == GREET_AUTH) {
        return refuse(connection, REDLATCH_AUTHENTICATION, reply);
    }
    if (step == GREET_SELECT) {
        return refuse(connection, error.status, reply);
    }
    return REDLATCH_OK;
}

/* Returns the resolution if the last connection cannot be killed: its commands may still arrive, unless all were
 * answered. */
static enum resolution not_killed(const struct connection *connection) {
    return connection->unanswered ? RESOLUTION_DENIED : RESOLVED_BY_KILL;
}

/* Called when all is set up: resolves what the last connection left in doubt. Returns AGAIN if it has sent CLIENT KILL.
 * If there was no connection before, or none that leaves anything in doubt, `resolution` is still RESOLVED_BY_KILL. */
static int resolve_old(struct connection *connection) {
    bool known = connection->run_id[0] && connection->old_run_id[0];
    if (connection->generation == 0 || connection->subscriber) {
        return REDLATCH_OK;
    }
    if (known && strcmp(connection->run_id, connection->old_run_id) != 0) {
        connection->resolution = RESOLVED_BY_RESTART;
        return REDLATCH_OK;
    }
    if (!known || connection->old_id == 0) {
        connection->resolution = (uint8_t)not_killed(connection);
        return REDLATCH_OK;
    }
    char number[24];
    snprintf(number, sizeof number, "%llu", (unsigned long long)connection->old_id);
    const char *arguments[] = {"CLIENT", "KILL", "ID", number};
    return say(connection, GREET_KILL, 4, arguments) ? REDLATCH_AGAIN : REDLATCH_NO_MEMORY;
}

/* Returns whether the server has PUBSUB SHARDNUMSUB: it replies with an array, or denies the user the subcommand by its
 * name. A server before Redis 7 refuses the subcommand as unknown, or denies the whole command. */
static bool knows_sharding(const struct reply *reply) {
    static const char name[] = "pubsub|shardnumsub";
    bool named = false;
    for (size_t i = 0; reply->kind == REPLY_ERROR && i + sizeof name - 1 <= reply->size && !named; i++) {
        named = memcmp(reply->text + i, name, sizeof name - 1) == 0;
    }
    return reply->kind == REPLY_ARRAY ||
           (named && error_reply_of(reply->text, reply->size).status == REDLATCH_NO_PERMISSION);
}

int greeting_answer(struct connection *connection, const struct reply *reply) {
    enum greeting_step step = (enum greeting_step)connection->steps[connection->step++];
    if (reply->kind == REPLY_ERROR) {
        const struct credentials *credentials = connection->settings->credentials;
        struct reply shown = step == GREET_AUTH ? credentials_shown_error(credentials, connection->credentials, reply)
                                                : *reply;
        int status = judge_error(connection, step, &shown);
        if (status != REDLATCH_OK) {
            return status;
        }
    } else if (step == GREET_ID && reply->kind == REPLY_INTEGER) {
        connection->server_id = (uint64_t)reply->integer;
    } else if (step == GREET_INFO && reply->kind == REPLY_STRING) {
        info_run_id(reply->text, reply->size, connection->run_id);
    } else if (step == GREET_ROLE && reply->kind == REPLY_STRING) {
        info_replication_id(reply->text, reply->size, connection->replication_id);
        if (info_role(reply->text, reply->size) == ROLE_REPLICA && !PLANTED(FAULT_REPLICA_TAKEN)) {
            if (!info_master(reply->text, reply->size, &connection->master)) {
                connection->master.host[0] = '\0';
            }
            return REDLATCH_READ_ONLY;
        }
    }
    if (step == GREET_SHARDING) {
        connection->has_sharding = knows_sharding(reply);
    }
    if (step == GREET_KILL) {
        connection->resolution = (uint8_t)(reply->kind == REPLY_INTEGER ? RESOLVED_BY_KILL : not_killed(connection));
    }
    if (connection->step < connection->step_count) {
        return REDLATCH_AGAIN;
    }
    return step == GREET_KILL ? REDLATCH_OK : resolve_old(connection);
}
