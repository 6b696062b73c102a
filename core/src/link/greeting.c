/* The greeting and how its replies are judged.
 * SPDX-License-Identifier: Apache-2.0 */
#include "greeting.h"

#include <stdio.h>
#include <string.h>

#include "error_reply.h"
#include "info.h"

/* So much of an error is shown. */
enum { WORDS_MAX = 150 };

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
    bool replied = true;
    if (settings->username) { /* a user without a password is not the default user */
        const char *arguments[] = {"AUTH", settings->username, settings->password ? settings->password : ""};
        replied = say(connection, GREET_AUTH, 3, arguments);
    } else if (settings->password) {
        const char *arguments[] = {"AUTH", settings->password};
        replied = say(connection, GREET_AUTH, 2, arguments);
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
    return replied ? REDLATCH_OK : REDLATCH_NO_MEMORY;
}

/* In the server's words, of which messages show what any terminal does. */
static int refuse(struct connection *connection, int status, const struct reply *reply) {
    size_t size = reply->size < WORDS_MAX ? reply->size : WORDS_MAX;
    for (size_t i = 0; i < size; i++) {
        connection->detail[i] = reply->text[i] >= ' ' && reply->text[i] <= '~' ? reply->text[i] : '.';
    }
    connection->detail[size] = '\0';
    return status;
}

/* What Redis itself says of a refused AUTH: it repeats nothing, whatever letters a password shares with it. */
static bool is_of_redis(const struct reply *reply) {
    static const char *const sentences[] = {
        "WRONGPASS invalid username-password pair",
        "WRONGPASS invalid username-password pair or user is disabled.",
        ("ERR AUTH <password> called without any password configured for the default user."
         " Are you sure your configuration is correct?"),
    };
    for (size_t i = 0; i < sizeof sentences / sizeof sentences[0]; i++) {
        if (reply->size == strlen(sentences[i]) && memcmp(reply->text, sentences[i], reply->size) == 0) {
            return true;
        }
    }
    return false;
}

/* Cuts an error at whatever may be our own AUTH said back: a server that lacks the command quotes its arguments. */
static struct reply without_secrets(const struct connection *connection, const struct reply *reply) {
    const char *password = connection->settings->password ? connection->settings->password : "";
    size_t length = is_of_redis(reply) ? 0 : strlen(password);
    struct reply shown = *reply;
    for (size_t i = 0; i < shown.size; i++) {
        bool quote = strchr("'`\"", reply->text[i]) != NULL;
        if (quote || (length > 0 && shown.size - i >= length && memcmp(reply->text + i, password, length) == 0)) {
            shown.size = i;
        }
    }
    return shown;
}

/* An error where it cannot be lived with. What a user may be forbidden - CLIENT, INFO - can. */
static int judge_error(struct connection *connection, enum greeting_step step, const struct reply *reply) {
    struct error_reply error = error_reply_of(reply->text, reply->size);
    if (error.transient || error.status == REDLATCH_AUTHENTICATION || error.status == REDLATCH_TOO_MANY_CLIENTS) {
        return refuse(connection, error.status, reply);
    }
    if (reply->size >= 6 && memcmp(reply->text, "DENIED", 6) == 0) {
        return refuse(connection, REDLATCH_NO_PERMISSION, reply);
    }
    if (step == GREET_AUTH) {
        return refuse(connection, REDLATCH_AUTHENTICATION, reply);
    }
    if (step == GREET_SELECT) {
        return refuse(connection, error.status, reply);
    }
    return REDLATCH_OK;
}

/* What is known of a connection that may not be killed: what it was sent is in doubt, unless all was answered. */
static enum resolution not_killed(const struct connection *connection) {
    return connection->unanswered ? RESOLUTION_DENIED : RESOLVED_BY_KILL;
}

/* All is set up: what of the connection before this one? AGAIN when it is being killed. */
static int resolve_old(struct connection *connection) {
    connection->resolution = RESOLVED_BY_KILL;
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

int greeting_answer(struct connection *connection, const struct reply *reply) {
    enum greeting_step step = (enum greeting_step)connection->steps[connection->step++];
    if (reply->kind == REPLY_ERROR) {
        struct reply shown = step == GREET_AUTH ? without_secrets(connection, reply) : *reply;
        int status = judge_error(connection, step, &shown);
        if (status != REDLATCH_OK) {
            return status;
        }
    } else if (step == GREET_ID && reply->kind == REPLY_INTEGER) {
        connection->server_id = (uint64_t)reply->integer;
    } else if (step == GREET_INFO && reply->kind == REPLY_STRING) {
        info_run_id(reply->text, reply->size, connection->run_id);
    } else if (step == GREET_ROLE && reply->kind == REPLY_STRING &&
               info_role(reply->text, reply->size) == ROLE_REPLICA) {
        return REDLATCH_READ_ONLY;
    }
    if (step == GREET_KILL) {
        connection->resolution = (uint8_t)(reply->kind == REPLY_INTEGER ? RESOLVED_BY_KILL : not_killed(connection));
    }
    if (connection->step < connection->step_count) {
        return REDLATCH_AGAIN;
    }
    return step == GREET_KILL ? REDLATCH_OK : resolve_old(connection);
}
