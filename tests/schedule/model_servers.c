/* The servers' commands.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "model_servers.h"

#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "schedule.h"
#include "script_set.h"

enum { SESSIONS_MAX = 4096, CHANNELS_MAX = 64, WORDS_MAX = 400 };

static const int64_t EPOCH_MS = INT64_C(1700000000000);

/* One connection, as its server has it. */
struct session {
    struct line *line;
    redisReader *reader;
    uint64_t id;
    char name[160];
    char *channels[CHANNELS_MAX];
    int channel_count;
};

static struct model_server {
    struct keyspace *keyspace;
    bool knows[SCRIPT_COUNT];
    int64_t frozen_until;
    const char *error_reply;
    int64_t refuses_until;
    int64_t garbles_until;
    int denied;
    char run_id[41];
    uint64_t last_id;
} servers[SERVERS];

static struct session *sessions[SESSIONS_MAX];
static size_t session_count;
static struct script_set scripts;

static void write_reply(FILE *out, const struct redis_reply *reply) {
    switch (reply->kind) {
    case REDIS_INTEGER:
        fprintf(out, ":%lld\r\n", (long long)reply->integer);
        break;
    case REDIS_STATUS:
    case REDIS_ERROR:
        fprintf(out, "%c%s\r\n", reply->kind == REDIS_ERROR ? '-' : '+', reply->text);
        break;
    case REDIS_BULK:
        fprintf(out, "$%zu\r\n", reply->size);
        fwrite(reply->text, 1, reply->size, out);
        fprintf(out, "\r\n");
        break;
    case REDIS_ARRAY:
        fprintf(out, "*%zu\r\n", reply->size);
        for (size_t i = 0; i < reply->size; i++) {
            write_reply(out, &reply->elements[i]);
        }
        break;
    default:
        fprintf(out, "$-1\r\n");
    }
}

/* So many times in one piece. */
static void send_replies(struct session *session, const struct redis_reply *reply, int times) {
    char *bytes = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&bytes, &size);
    for (int i = 0; i < times; i++) {
        write_reply(out, reply);
    }
    fclose(out);
    line_reply(session->line, bytes, size);
    free(bytes);
}

static struct redis_reply pushed(const char *kind, struct redis_text channel, const struct redis_reply *last) {
    struct redis_reply reply;
    struct redis_reply *elements = redis_reply_array(&reply, 3);
    redis_reply_bulk(&elements[0], redis_text(kind));
    redis_reply_bulk(&elements[1], channel);
    elements[2] = *last;
    return reply;
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
                struct redis_reply reply = pushed("message", channel, &last);
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
    *reply_out = pushed(leave ? "unsubscribe" : "subscribe", words[1], &count);
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

/* Replaces the text or digest of a script by its name, as a trace shows it. */
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
    script_set_run(&scripts, (enum script_id)id, REFUSE_NOTHING, server->keyspace, words + 3, keys, count - 3 - keys,
                   reply_out);
    char *digits = reply_out->kind == REDIS_ERROR ? strstr(reply_out->text, " script: ") : NULL;
    if (digits) { /* they change with the script */
        *digits = '\0';
        reply_out->size = (size_t)(digits - reply_out->text);
    }
}

/* A reply of some shape. */
static void garble(struct redis_reply *reply) {
    uint32_t shape = schedule_draw(6);
    redis_reply_free(reply);
    if (shape == 1) {
        redis_reply_integer(reply, (int64_t)schedule_draw(5) - 3);
    } else if (shape == 2) {
        redis_reply_bulk(reply, redis_text("what"));
    } else if (shape > 2) {
        redis_reply_array(reply, shape - 3);
        for (uint32_t i = 0; i + 3 < shape; i++) {
            redis_reply_integer(&reply->elements[i], (int64_t)schedule_draw(4) - 2);
        }
    }
}

static bool is_of_greeting(const struct redis_text *words) {
    return text_is_word(words[0], "client") || text_is_word(words[0], "info") || text_is_word(words[0], "auth") ||
           text_is_word(words[0], "select");
}

static void run_command(struct session *session, const struct redis_text *words, size_t count,
                        struct redis_reply *reply_out) {
    struct model_server *server = &servers[session->line->server];
    struct redis_text name = words[0];
    redis_reply_nil(reply_out);
    if (server->refuses_until > schedule_now() && !is_of_greeting(words)) {
        redis_reply_error(reply_out, "%s", server->error_reply);
    } else if (text_is_word(name, "client")) {
        run_client(session, words, reply_out);
    } else if (text_is_word(name, "info") && (server->denied & DENIES_INFO)) {
        redis_reply_error(reply_out, "NOPERM this user has no permissions to run the 'info' command");
    } else if (text_is_word(name, "info")) {
        char text[120];
        snprintf(text, sizeof text, "# Server\r\nredis_version:7.0.15\r\nrun_id:%s\r\n", server->run_id);
        redis_reply_bulk(reply_out, redis_text(text));
    } else if (text_is_word(name, "auth") || text_is_word(name, "select")) {
        redis_reply_status(reply_out, redis_text("OK"));
    } else if (text_is_word(name, "subscribe") && (server->denied & DENIES_SUBSCRIBE)) {
        redis_reply_error(reply_out, "NOPERM this user has no permissions to access one of the channels");
    } else if (text_is_word(name, "subscribe") || text_is_word(name, "unsubscribe")) {
        change_channels(session, words, text_is_word(name, "unsubscribe"), reply_out);
    } else if (text_is_word(name, "ping")) {
        redis_reply_array(reply_out, 2);
        redis_reply_bulk(&reply_out->elements[0], redis_text("pong"));
        redis_reply_bulk(&reply_out->elements[1], redis_text(""));
    } else if (text_is_word(name, "eval") || text_is_word(name, "evalsha")) {
        run_script(server, words, count, reply_out);
        if (server->garbles_until > schedule_now() && reply_out->kind != REDIS_ERROR) {
            garble(reply_out);
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

static void end(struct line *line) {
    struct session *session = line->state;
    while (session && session->channel_count > 0) {
        free(session->channels[--session->channel_count]);
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
    session_count = 0;
    lines_begin(receive, end);
    for (int i = 0; i < SERVERS; i++) {
        new_run(&servers[i]);
        servers[i].keyspace = keyspace_new();
        keyspace_on_publish(servers[i].keyspace, publish, &servers[i]);
    }
}

void model_servers_end(void) {
    for (size_t i = 0; i < session_count; i++) {
        end(sessions[i]->line);
        redisReaderFree(sessions[i]->reader);
        free(sessions[i]);
    }
    for (int i = 0; i < SERVERS; i++) {
        keyspace_free(servers[i].keyspace);
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

/* As releases do; returns how many received it. */
static int publish_releases(int server, const char *key, int times) {
    char channel[200];
    snprintf(channel, sizeof channel, "redisson_lock__channel:{%s}", key);
    return publish_often(&servers[server], redis_text(channel), redis_text("0"), times);
}

void model_server_flood(int server, const char *key, int messages) {
    int receivers = publish_releases(server, key, messages);
    trace("somebody publishes %d messages about %s: %d receive them", messages, key, receivers);
}

void model_server_delete(int server, const char *key) {
    keyspace_set_time(servers[server].keyspace, EPOCH_MS + schedule_now() / 1000);
    bool was = keyspace_delete(servers[server].keyspace, redis_text(key));
    int receivers = publish_releases(server, key, 1);
    trace("somebody deletes %s: %d, and tells %d", key, was, receivers);
}

void model_server_replace(int server, const char *key, int shape) {
    static const char *const shapes[][5] = {
        {"set", "7c6ec0c3-7c1e-4a5a-9c1c-000000000001"}, /* as of a plain lock of others */
        {"hset", "field", "1"},
        {"hset", "7c6ec0c3-7c1e-4a5a-9c1c-000000000001:1", "1"}, /* held by a client of Redisson */
        {"hset", "mode", "read", "7c6ec0c3-7c1e-4a5a-9c1c-000000000001:1", "1"},
        {"rpush", "x"},
        {"zadd", "1", "x"},
        {"set", "3"},
    };
    struct redis_text words[6] = {redis_text(shapes[shape][0]), redis_text(key)};
    size_t count = 2;
    for (size_t i = 1; i < 5 && shapes[shape][i]; i++) {
        words[count++] = redis_text(shapes[shape][i]);
    }
    keyspace_set_time(servers[server].keyspace, EPOCH_MS + schedule_now() / 1000);
    keyspace_delete(servers[server].keyspace, redis_text(key));
    struct redis_reply reply;
    keyspace_call(servers[server].keyspace, words, count, &reply);
    redis_reply_free(&reply);
    trace("%s is now of shape %d", key, shape);
}

void model_server_show(int server) {
    uint32_t cursor = 0;
    struct redis_text key;
    keyspace_set_time(servers[server].keyspace, EPOCH_MS + schedule_now() / 1000);
    while (keyspace_next_key(servers[server].keyspace, &cursor, &key)) {
        trace("server %d has %.*s for %lld ms", server, (int)key.size, key.bytes,
              (long long)keyspace_pttl(servers[server].keyspace, key));
    }
}
