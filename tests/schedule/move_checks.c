/* The checks of clients whose servers and passwords change.
 * SPDX-License-Identifier: Apache-2.0 */
#include "move_checks.h"

#include <stdarg.h>
#include <string.h>

#include "model_servers.h"
#include "schedule.h"

enum { CLIENTS_MAX = 4, LED_MAX = 256 };

/* The time allowed after a change: for a lookup each half second, timeouts and retries. */
static const int64_t SETTLES_IN = 3000000;

struct watched_client {
    char name[160];
    int place; /* index in led_to of the server that it uses */
    int moves;
    int sentinels_followed; /* its connections for messages that lead to a sentinel */
    int64_t notified_at;    /* when a sentinel published a new master to it; 0: not since the last check */
    int64_t searched_at;    /* when it asked a sentinel last */
};

static struct {
    char violation[300];
    bool balanced, stays;
    int led_to[LED_MAX];
    int led_count;
    int64_t changed_at;
    struct watched_client clients[CLIENTS_MAX];
    int client_count;
    const char *password;
} checks;

void checks_violated(const char *format, ...) {
    char text[sizeof checks.violation];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    trace("WRONG: %s", text);
    if (checks.violation[0] == '\0') {
        memcpy(checks.violation, text, sizeof text);
    }
}

const char *checks_violation(void) {
    return checks.violation[0] ? checks.violation : NULL;
}

static struct watched_client *client_of(const char *name) {
    for (int i = 0; i < checks.client_count; i++) {
        if (strcmp(checks.clients[i].name, name) == 0) {
            return &checks.clients[i];
        }
    }
    struct watched_client *client = &checks.clients[checks.client_count++];
    *client = (struct watched_client){.place = -1};
    snprintf(client->name, sizeof client->name, "%s", name);
    return client;
}

/* A client uses the servers in the order in which it was led to them. It must not go back. */
static void script_sent(const struct seen_session *session) {
    struct watched_client *client = client_of(session->name);
    if (checks.balanced || (client->place >= 0 && checks.led_to[client->place] == session->server)) {
        return;
    }
    for (int place = client->place + 1; place < checks.led_count; place++) {
        if (checks.led_to[place] == session->server) {
            client->moves += client->place >= 0;
            client->place = place;
            return;
        }
    }
    checks_violated("a script is sent to server %d, after others to server %d", session->server,
                    client->place < 0 ? -1 : checks.led_to[client->place]);
}

void checks_begin(bool balanced, bool stays) {
    memset(&checks, 0, sizeof checks);
    checks.balanced = balanced;
    checks.stays = stays;
    model_servers_watch(script_sent);
}

void checks_changed(void) {
    checks.changed_at = schedule_now();
}

int64_t checks_quiet_for(void) {
    return schedule_now() - checks.changed_at;
}

void checks_led_to(int server) {
    checks.led_to[checks.led_count++] = server;
    checks_changed();
}

static void judge_place(const struct seen_session *session) {
    const struct watched_client *client = client_of(session->name);
    if (session->server < SERVERS && session->used && client->place >= 0 &&
        session->server != checks.led_to[client->place]) {
        checks_violated("a client on server %d still has a connection to server %d%s", checks.led_to[client->place],
                        session->server, session->subscribed ? ", for messages" : "");
    }
}

void checks_all_moved(void) {
    if (!checks.balanced && checks_quiet_for() > SETTLES_IN) {
        model_servers_each(judge_place);
    }
}

static void count_followed_sentinel(const struct seen_session *session) {
    if (session->server >= SERVERS && session->used && session->subscribed) {
        client_of(session->name)->sentinels_followed++;
    }
}

void checks_sentinels_followed(void) {
    for (int i = 0; i < checks.client_count; i++) {
        checks.clients[i].sentinels_followed = 0;
    }
    model_servers_each(count_followed_sentinel);
    for (int i = 0; i < checks.client_count; i++) {
        const struct watched_client *client = &checks.clients[i];
        if (client->place >= 0 && client->sentinels_followed != 1) {
            checks_violated("a client listens to %d sentinels", client->sentinels_followed);
        }
    }
}

static void judge_password(const struct seen_session *session) {
    if (session->used && session->name[0] && strcmp(session->password, checks.password) != 0) {
        checks_violated("a connection%s still stands by '%s' instead of '%s'",
                        session->subscribed ? " for messages" : "", session->password, checks.password);
    }
}

void checks_password(const char *password) {
    checks.password = password;
    model_servers_each(judge_password);
}

static int publisher; /* the sentinel that has learned the master */

static void tell(const struct seen_session *session) {
    if (session->server == publisher && session->used && session->subscribed) {
        client_of(session->name)->notified_at = schedule_now();
    }
}

void checks_sentinel_learned(int sentinel) {
    publisher = sentinel;
    model_servers_each(tell);
}

static void note_search(const struct seen_session *session) {
    struct watched_client *client = client_of(session->name);
    client->searched_at = session->searched_at > client->searched_at ? session->searched_at : client->searched_at;
}

void checks_searched(void) {
    model_servers_each(note_search);
    for (int i = 0; i < checks.client_count; i++) {
        struct watched_client *client = &checks.clients[i];
        if (client->notified_at && client->searched_at < checks.changed_at) {
            checks_violated("a client received the message of a new master and did not search for it");
        }
        client->notified_at = 0;
    }
}

static struct watched_client *client_with(const char *uuid) {
    for (int i = 0; i < checks.client_count; i++) {
        if (strstr(checks.clients[i].name, uuid)) {
            return &checks.clients[i];
        }
    }
    return NULL;
}

int checks_moves(const char *uuid) {
    const struct watched_client *client = client_with(uuid);
    return client ? client->moves : 0;
}

void checks_status(const char *call, int status) {
    bool retryable = status == REDLATCH_UNREACHABLE || status == REDLATCH_NO_REPLY;
    bool expected = status == REDLATCH_OK || status == REDLATCH_TIMEOUT || status == REDLATCH_LOST ||
                    (checks.balanced && status == REDLATCH_UNSUPPORTED) ||
                    (retryable && (checks.balanced || checks_quiet_for() < SETTLES_IN));
    if (!expected) {
        checks_violated("%s returns %s: %s", call, redlatch_status_name(status), redlatch_last_error());
    }
}

void checks_hold(const char *uuid, const char *name, const redlatch_hold *hold) {
    const struct watched_client *client = client_with(uuid);
    bool believed = hold->state == REDLATCH_HELD && hold->remaining_ms > 0;
    if (checks.balanced || !client || !believed || checks_quiet_for() < SETTLES_IN) {
        return;
    }
    int master = checks.led_to[checks.stays ? client->place : checks.led_count - 1];
    if (!model_server_has(master, name, hold->owner)) {
        checks_violated("a client believes that it holds %s for %lld ms more, but server %d does not have that hold",
                        name, (long long)hold->remaining_ms, master);
    }
}
