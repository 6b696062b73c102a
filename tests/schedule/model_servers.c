/* The commands of the model servers.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "model_servers.h"

#include <hiredis.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "model_replies.h"
#include "model_sentinels.h"
#include "schedule.h"
#include "script_set.h"

enum { SESSIONS_MAX = 4096, CHANNELS_MAX = 64, WORDS_MAX = 400 };

static const int64_t EPOCH_MS = INT64_C(1700000000000);

/* One connection as its server has it. */
struct session {
    struct line *line;
    redisReader *reader;
    uint64_t id;
    char name[160];
    char *channels[CHANNELS_MAX];
    int channel_count;
    char password[24];   /* of the last accepted AUTH */
    int64_t searched_at; /* when it asked a sentinel last; 0: never */
};

static struct model_server {
    struct keyspace *keyspace;
    bool knows[SCRIPT_COUNT];
    int64_t frozen_until;
    const char *error_reply;
    int64_t refuses_until;
    int64_t garbles_until;
    int denied;
    bool replica;
    const char *passwords[2];    /* NULL: not set; if neither is set, every user is accepted */
    struct keyspace *replicated; /* what the replicas have; NULL: all */
    char run_id[41];
    uint64_t last_id;
} servers[SERVERS + SENTINELS];

static struct session *sessions[SESSIONS_MAX];
static size_t session_count;
static struct script_set scripts;
static script_watcher *watch_script;
bool model_servers_gap;

/* Sends a reply `times` times in one piece. */
static void send_replies(struct session *session, const struct redis_reply *reply, int times) {
    char *bytes = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&bytes, &size);
    for (int i = 0; i < times; i++) {
        model_reply_write(out, reply);
    }
    fclose(out);
    line_reply(session->line, bytes, size);
    free(bytes);
}

static int publish_often(const struct model_server *server, struct redis_text channel, struct redis_text message,
                         int times) {
    int receivers = 0;
    for (size_t i = 0; i < session_count; i++) {
        struct session *session = sessions[i];
        bool here = !session->line->hung_up && &servers[session->line->server] == server;
        for (int at = 0; here && at < session->channel_count; at++) {
            if (text_equal(redis_text(session->channels[at]), channel)) {
                struct redis_reply last;
                redis_reply_bulk(&last, message);
                struct redis_reply reply = model_reply_pushed("message", channel, &last);
                send_replies(session, &reply, times);
                redis_reply_free(&reply);
                receivers++;
            }
        }
    }
    return receivers;
}

static int publish(void *context, bool sharded, struct redis_text channel, struct redis_text message) {
    (void)sharded;
    return publish_often(context, channel, message, 1);
}

static void change_channels(struct session *session, const struct redis_text *words, bool leave,
                            struct redis_reply *reply_out) {
    for (int i = 0; i < session->channel_count; i++) {
        if (text_equal(redis_text(session->channels[i]), words[1])) {
            free(session->channels[i]);
            session->channels[i] = session->channels[--session->channel_count];
        }
    }
    if (!leave) {
        session->channels[session->channel_count++] = strndup(words[1].bytes, words[1].size);
    }
    struct redis_reply count;
    redis_reply_integer(&count, session->channel_count);
    *reply_out = model_reply_pushed(leave ? "unsubscribe" : "subscribe", words[1], &count);
}

static void list_clients(const struct session *requester, struct redis_reply *reply_out) {
    char text[16384] = "";
    size_t used = 0;
    for (size_t i = 0; i < session_count && used < sizeof text; i++) {
        if (!sessions[i]->line->hung_up && sessions[i]->line->server == requester->line->server) {
            used += (size_t)snprintf(text + used, sizeof text - used, "id=%llu addr=/s:0 name=%s age=1\n",
                                     (unsigned long long)sessions[i]->id, sessions[i]->name);
        }
    }
    redis_reply_bulk(reply_out, redis_text(text));
}

static bool kill_client(struct session *requester, uint64_t id) {
    for (size_t i = 0; i < session_count; i++) {
        struct line *line = sessions[i]->line;
        if (!line->hung_up && line->server == requester->line->server && sessions[i]->id == id) {
            line_cut(line, true);
            return true;
        }
    }
    return false;
}

static void run_client(struct session *session, const struct redis_text *words, struct redis_reply *reply_out) {
    if (text_is_word(words[1], "setname")) {
        snprintf(session->name, sizeof session->name, "%.*s", (int)words[2].size, words[2].bytes);
        redis_reply_status(reply_out, redis_text("OK"));
    } else if (servers[session->line->server].denied & DENIES_CLIENT) {
        redis_reply_error(reply_out, "NOPERM this user has no permissions to run the 'client' command");
    } else if (text_is_word(words[1], "id")) {
        redis_reply_integer(reply_out, (int64_t)session->id);
    } else if (text_is_word(words[1], "list")) {
        list_clients(session, reply_out);
    } else {
        redis_reply_integer(reply_out, kill_client(session, strtoull(words[3].bytes, NULL, 10)));
    }
}

/* Returns the id of the script of an EVAL or EVALSHA. */
static int script_of(const struct redis_text *words) {
    bool text = text_is_word(words[0], "eval");
    for (int id = 0; id < SCRIPT_COUNT; id++) {
        const struct script_embedded *script = &scripts_embedded[id];
        struct redis_text wanted = text ? (struct redis_text){script->text, script->size} : redis_text(script->sha1);
        if (text_equal(words[1], wanted)) {
            return id;
        }
    }
    abort();
}

static void run_script(struct model_server *server, const struct redis_text *words, size_t count,
                       struct redis_reply *reply_out) {
    int id = script_of(words);
    server->knows[id] = server->knows[id] || text_is_word(words[0], "eval");
    if (!server->knows[id]) {
        redis_reply_error(reply_out, "NOSCRIPT No matching script. Please use EVAL.");
        return;
    }
    if (id == SCRIPT_INSPECT && (server->denied & DENIES_INSPECT)) {
        redis_reply_error(reply_out, "NOPERM this user has no permissions to run the 'evalsha' command");
        return;
    }
    size_t keys = strtoull(words[2].bytes, NULL, 10);
    enum script_error_reply refused = server->replica ? REFUSE_REPLICA : REFUSE_NOTHING;
    script_set_run(&scripts, (enum script_id)id, refused, server->keyspace, words + 3, keys, count - 3 - keys,
                   reply_out);
    char *digits = reply_out->kind == REDIS_ERROR ? strstr(reply_out->text, " script: ") : NULL;
    if (digits) { /* they depend on the script's text */
        *digits = '\0';
        reply_out->size = (size_t)(digits - reply_out->text);
    }
}

static bool is_of_greeting(const struct redis_text *words) {
    return text_is_word(words[0], "client") || text_is_word(words[0], "info") || text_is_word(words[0], "auth") ||
           text_is_word(words[0], "select");
}

/* Replies to AUTH. */
static void authenticate(struct session *session, const struct redis_text *words, size_t count,
                         struct redis_reply *reply_out) {
    const struct model_server *server = &servers[session->line->server];
    struct redis_text given = words[count - 1];
    bool good = !server->passwords[0] && !server->passwords[1];
    for (int i = 0; i < 2; i++) {
        good = good || (server->passwords[i] && text_equal(given, redis_text(server->passwords[i])));
    }
    if (good) {
        snprintf(session->password, sizeof session->password, "%.*s", (int)given.size, given.bytes);
        redis_reply_status(reply_out, redis_text("OK"));
    } else {
        redis_reply_error(reply_out, "WRONGPASS invalid username-password pair or user is disabled.");
    }
}

static bool is_let_in(const struct session *session) {
    const struct model_server *server = &servers[session->line->server];
    return (!server->passwords[0] && !server->passwords[1]) || session->password[0];
}

static void tell_info(const struct model_server *server, const struct redis_text *words, size_t count,
                      struct redis_reply *reply_out) {
    char text[120];
    if (count > 1 && text_is_word(words[1], "replication")) {
        snprintf(text, sizeof text, "# Replication\r\nrole:%s\r\n", server->replica ? "slave" : "master");
    } else {
        snprintf(text, sizeof text, "# Server\r\nredis_version:7.0.15\r\nrun_id:%s\r\n", server->run_id);
    }
    redis_reply_bulk(reply_out, redis_text(text));
}

static void run_command(struct session *session, const struct redis_text *words, size_t count,
                        struct redis_reply *reply_out) {
    struct model_server *server = &servers[session->line->server];
    struct redis_text name = words[0];
    redis_reply_nil(reply_out);
    if (text_is_word(name, "auth")) {
        authenticate(session, words, count, reply_out);
    } else if (!is_let_in(session)) {
        redis_reply_error(reply_out, "NOAUTH Authentication required.");
    } else if (server->refuses_until > schedule_now() && !is_of_greeting(words)) {
        redis_reply_error(reply_out, "%s", server->error_reply);
    } else if (text_is_word(name, "client")) {
        run_client(session, words, reply_out);
    } else if (text_is_word(name, "info") && (server->denied & DENIES_INFO)) {
        redis_reply_error(reply_out, "NOPERM this user has no permissions to run the 'info' command");
    } else if (text_is_word(name, "info")) {
        tell_info(server, words, count, reply_out);
    } else if (text_is_word(name, "select")) {
        redis_reply_status(reply_out, redis_text("OK"));
    } else if (text_is_word(name, "subscribe") && (server->denied & DENIES_SUBSCRIBE)) {
        redis_reply_error(reply_out, "NOPERM this user has no permissions to access one of the channels");
    } else if (text_is_word(name, "subscribe") || text_is_word(name, "unsubscribe")) {
        change_channels(session, words, text_is_word(name, "unsubscribe"), reply_out);
    } else if (text_is_word(name, "ping")) {
        redis_reply_array(reply_out, 2);
        redis_reply_bulk(&reply_out->elements[0], redis_text("pong"));
        redis_reply_bulk(&reply_out->elements[1], redis_text(""));
    } else if (text_is_word(name, "sentinel")) {
        session->searched_at = schedule_now();
        model_sentinel_reply(session->line->server, words, reply_out);
    } else if (text_is_word(name, "eval") || text_is_word(name, "evalsha")) {
        run_script(server, words, count, reply_out);
        if (server->garbles_until > schedule_now() && reply_out->kind != REDIS_ERROR) {
            model_reply_garble(reply_out);
        }
    } else {
        keyspace_call(server->keyspace, words, count, reply_out);
    }
}

static void show_exchange(const struct session *session, const struct redis_text *words, size_t count,
                          const struct redis_reply *reply) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    bool script = text_is_word(words[0], "eval") || text_is_word(words[0], "evalsha");
    for (size_t i = 0; i < count; i++) {
        if (script && i == 1) {
            fprintf(out, " %s", scripts_embedded[script_of(words)].name);
        } else {
            fprintf(out, " %.*s", (int)words[i].size, words[i].bytes);
        }
    }
    fprintf(out, " -> ");
    redis_reply_print(out, reply);
    fclose(out);
    trace("server %d, connection %llu:%s", session->line->server, (unsigned long long)session->id, text);
    free(text);
}

static void serve(struct session *session, const redisReply *request) {
    struct model_server *server = &servers[session->line->server];
    static struct redis_text words[WORDS_MAX];
    size_t count = request->elements < WORDS_MAX ? request->elements : WORDS_MAX;
    for (size_t i = 0; i < count; i++) {
        words[i] = (struct redis_text){request->element[i]->str, request->element[i]->len};
    }
    keyspace_set_time(server->keyspace, EPOCH_MS + schedule_now() / 1000);
    struct redis_reply reply;
    run_command(session, words, count, &reply);
    show_exchange(session, words, count, &reply);
    if (!session->line->hung_up) {
        send_replies(session, &reply, 1);
    }
    redis_reply_free(&reply);
}

static void serve_all(void *context, uint64_t number) {
    (void)number;
    struct session *session = context;
    struct model_server *server = &servers[session->line->server];
    if (server->frozen_until > schedule_now()) {
        schedule_at(server->frozen_until, serve_all, session, 0);
        return;
    }
    void *request = NULL;
    while (!session->line->hung_up && redisReaderGetReply(session->reader, &request) == REDIS_OK && request) {
        serve(session, request);
        freeReplyObject(request);
        request = NULL;
    }
}

static struct session *session_new(struct line *line) {
    struct session *session = allocate(1, sizeof *session);
    memset(session, 0, sizeof *session);
    session->line = line;
    session->reader = redisReaderCreate();
    session->id = ++servers[line->server].last_id;
    if (session_count == SESSIONS_MAX) {
        abort();
    }
    sessions[session_count++] = session;
    line->state = session;
    return session;
}

static void receive(struct line *line, const char *bytes, size_t size) {
    struct session *session = line->state ? line->state : session_new(line);
    redisReaderFeed(session->reader, bytes, size);
    serve_all(session, 0);
}

static bool hears(const struct session *session, const char *channel) {
    for (int i = 0; i < session->channel_count; i++) {
        if (strcmp(session->channels[i], channel) == 0) {
            return true;
        }
    }
    return false;
}

/* Returns whether no other connection of the client has one of the channels of a connection that the client closed. */
static bool leaves_gap(const struct session *ended) {
    for (int at = 0; at < ended->channel_count; at++) {
        bool received = false;
        for (size_t i = 0; i < session_count; i++) {
            bool other = sessions[i] != ended && !sessions[i]->line->hung_up &&
                         strcmp(sessions[i]->name, ended->name) == 0;
            received = received || (other && hears(sessions[i], ended->channels[at]));
        }
        if (!received) {
            return true;
        }
    }
    return false;
}

static void end(struct line *line) {
    struct session *session = line->state;
    model_servers_gap = model_servers_gap || (session && line->abandoned && leaves_gap(session));
    while (session && session->channel_count > 0) {
        free(session->channels[--session->channel_count]);
    }
}

struct keyspace *model_server_keyspace(int server) {
    keyspace_set_time(servers[server].keyspace, EPOCH_MS + schedule_now() / 1000);
    return servers[server].keyspace;
}

static struct seen_session seen(const struct session *session) {
    return (struct seen_session){.server = session->line->server,
                                 .name = session->name,
                                 .password = session->password,
                                 .searched_at = session->searched_at,
                                 .subscribed = session->channel_count > 0,
                                 .used = !session->line->abandoned && !session->line->hung_up && !session->line->ended};
}

static void sends(struct line *line, const char *bytes, size_t size) {
    if (watch_script && line->state && memmem(bytes, size, "EVAL", 4)) {
        struct seen_session session = seen(line->state);
        watch_script(&session);
    }
}

void model_servers_watch(script_watcher *script) {
    watch_script = script;
}

void model_servers_each(script_watcher *each) {
    for (size_t i = 0; i < session_count; i++) {
        struct seen_session session = seen(sessions[i]);
        each(&session);
    }
}

void model_server_demote(int server) {
    trace("server %d becomes a replica", server);
    servers[server].replica = true;
}

void model_server_mark(int server) {
    keyspace_free(servers[server].replicated);
    servers[server].replicated = keyspace_copy(servers[server].keyspace);
}

void model_server_promote(int server, int from) {
    struct model_server *promoted = &servers[server];
    struct keyspace *source = servers[from].replicated ? servers[from].replicated : servers[from].keyspace;
    trace("server %d becomes the master, with %s of server %d", server,
          servers[from].replicated ? "what was replicated" : "all", from);
    keyspace_free(promoted->keyspace);
    promoted->keyspace = keyspace_copy(source);
    keyspace_on_publish(promoted->keyspace, publish, promoted);
    promoted->replica = false;
    keyspace_free(servers[from].replicated);
    servers[from].replicated = NULL;
}

void model_server_let_in(int server, const char *password, const char *other) {
    servers[server].passwords[0] = password;
    servers[server].passwords[1] = other;
    trace("server %d lets in by %s and %s", server, password ? password : "-", other ? other : "-");
    for (size_t i = 0; i < session_count; i++) {
        struct session *session = sessions[i];
        bool good = (password && strcmp(session->password, password) == 0) ||
                    (other && strcmp(session->password, other) == 0);
        if (session->line->server == server && !session->line->hung_up && !good && (password || other)) {
            line_cut(session->line, true);
        }
    }
}

void model_servers_open(void) {
    if (!script_set_open(&scripts, NULL)) {
        abort();
    }
}

static void new_run(struct model_server *server) {
    for (int i = 0; i < 40; i++) {
        server->run_id[i] = "0123456789abcdef"[schedule_draw(16)];
    }
    memset(server->knows, 0, sizeof server->knows);
}

void model_servers_begin(void) {
    memset(servers, 0, sizeof servers);
    model_servers_gap = false;
    session_count = 0;
    watch_script = NULL;
    lines_begin(receive, end, sends);
    model_sentinels_begin();
    for (int i = 0; i < SERVERS + SENTINELS; i++) {
        if (i < SERVERS) {
            new_run(&servers[i]);
        }
        servers[i].keyspace = keyspace_new();
        keyspace_on_publish(servers[i].keyspace, publish, &servers[i]);
    }
}

void model_servers_end(void) {
    for (size_t i = 0; i < session_count; i++) {
        end(sessions[i]->line);
    }
    for (size_t i = 0; i < session_count; i++) {
        redisReaderFree(sessions[i]->reader);
        free(sessions[i]);
    }
    for (int i = 0; i < SERVERS + SENTINELS; i++) {
        keyspace_free(servers[i].keyspace);
        keyspace_free(servers[i].replicated);
    }
}

void model_server_freeze(int server, int64_t until) {
    servers[server].frozen_until = until;
}

void model_server_refuse(int server, const char *error, int64_t until) {
    servers[server].error_reply = error;
    servers[server].refuses_until = until;
}

void model_server_babble(int server) {
    for (size_t i = 0; i < session_count; i++) {
        if (sessions[i]->line->server == server && !sessions[i]->line->hung_up) {
            line_reply(sessions[i]->line, "?\r\n", 3);
        }
    }
}

void model_server_garble(int server, int64_t until) {
    servers[server].garbles_until = until;
}

void model_server_deny(int server, int denied) {
    servers[server].denied = denied;
}

void model_server_cut(int server) {
    for (size_t i = 0; i < session_count; i++) {
        if (sessions[i]->line->server == server && !sessions[i]->line->hung_up) {
            line_cut(sessions[i]->line, schedule_chance(500));
        }
    }
}

/* Returns whether a connection is its client's newest one for commands. */
static bool is_newest(const struct session *session) {
    for (size_t i = 0; i < session_count; i++) {
        const struct session *other = sessions[i];
        bool same = other->line->server == session->line->server && strcmp(other->name, session->name) == 0;
        if (same && !other->line->hung_up && other->channel_count == 0 && other->id > session->id) {
            return false;
        }
    }
    return session->channel_count == 0;
}

void model_server_cut_some(int server) {
    for (size_t i = 0; i < session_count; i++) {
        struct line *line = sessions[i]->line;
        if (line->server == server && !line->hung_up && is_newest(sessions[i])) {
            line_cut(line, true);
        }
    }
}

void model_server_restart(int server, bool keep) {
    model_server_cut(server);
    new_run(&servers[server]);
    if (!keep) {
        keyspace_clear(servers[server].keyspace);
    }
}

void model_server_forget_scripts(int server) {
    memset(servers[server].knows, 0, sizeof servers[server].knows);
}

void model_server_tell(int server, const char *channel, const char *message) {
    publish_often(&servers[server], redis_text(channel), redis_text(message), 1);
}

/* Publishes a message as a release does. Returns the number of receivers. */
int model_server_publish(int server, const char *key, int times) {
    char channel[200];
    snprintf(channel, sizeof channel, "redisson_lock__channel:{%s}", key);
    return publish_often(&servers[server], redis_text(channel), redis_text("0"), times);
}

void model_server_flood(int server, const char *key, int messages) {
    int receivers = model_server_publish(server, key, messages);
    trace("somebody publishes %d messages about %s: %d receive them", messages, key, receivers);
}
