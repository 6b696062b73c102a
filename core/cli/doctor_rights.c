/* Checks which commands, keys and channels the user of `redlatch doctor` may use. The commands are sent in a
 * transaction that is discarded. The server checks the rights of each command when it queues it, so nothing is carried
 * out, unless the connection is lost meanwhile.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor.h"

/* Where a right is needed. MESSAGES: with messages that go to all nodes. SHARDED_MESSAGES: with messages that stay in a
 * shard. IN_CLUSTER: in a cluster. */
enum need { ALWAYS, MESSAGES, SHARDED_MESSAGES, IN_CLUSTER };

/* A command with its arguments. K stands for the probe's key, C for its channel. If it is carried out all the same, no
 * other client must notice: no client has the id 0. */
struct right {
    const char *words[6];
    const char *without; /* what happens without the right */
    enum need need;
    bool essential;
};

static const char no_lock[] = "no lock can be acquired";
static const char no_message[] = "a release fails, or notifies nobody";
static const char no_waking[] = "a waiter gets no message of a release, and waits until the lease ends, or up to 5 s"
                                " longer than needed";
static const char no_leaving[] = "channels stay subscribed to";
static const char in_doubt[] = "what becomes of a command whose reply was lost is known only after one lease";

static const struct right rights[] = {
    {{"EVALSHA", "0000000000000000000000000000000000000000", "1", "K"}, no_lock, ALWAYS, true},
    {{"EVAL", "return 1", "1", "K"}, no_lock, ALWAYS, true},
    {{"HSET", "K", "field", "1"}, no_lock, ALWAYS, true},
    {{"PEXPIRE", "K", "1"}, no_lock, ALWAYS, true},
    {{"PTTL", "K"}, no_lock, ALWAYS, true},
    {{"HGET", "K", "field"}, "holds cannot be told from those of others", ALWAYS, true},
    {{"HEXISTS", "K", "field"}, "a lock cannot be extended", ALWAYS, true},
    {{"HDEL", "K", "field"}, "a lock cannot be released", ALWAYS, true},
    {{"PUBLISH", "C", "0"}, no_message, MESSAGES, true},
    {{"SUBSCRIBE", "C"}, no_waking, MESSAGES, false},
    {{"UNSUBSCRIBE", "C"}, no_leaving, MESSAGES, false},
    {{"SPUBLISH", "C", "0"}, no_message, SHARDED_MESSAGES, true},
    {{"SSUBSCRIBE", "C"}, no_waking, SHARDED_MESSAGES, false},
    {{"SUNSUBSCRIBE", "C"}, no_leaving, SHARDED_MESSAGES, false},
    {{"ASKING"}, "while a slot moves to another node, commands about its names fail", IN_CLUSTER, false},
    {{"PING"}, "a dead connection for messages is noticed late", ALWAYS, false},
    {{"CLIENT", "ID"}, in_doubt, ALWAYS, false},
    {{"CLIENT", "KILL", "ID", "0"}, in_doubt, ALWAYS, false},
    {{"CLIENT", "LIST"}, "messages and redlatch list do not show the host and process of a holder", ALWAYS, false},
    {{"CLIENT", "SETNAME", "x"}, "others do not see the host, process and label of this user's locks", ALWAYS, false},
};

/* Returns whether messages of the node's locks stay within its shard (wire format 1.8). */
static bool shards_messages(const struct doctor *doctor) {
    char version[16];
    bool known = doctor_info(doctor, "redis_version", version, sizeof version);
    return doctor->cluster && !strstr(server_url(doctor->server), "sharded_messages=off") && known &&
           strtol(version, NULL, 10) >= 7;
}

static bool is_needed(const struct doctor *doctor, enum need need) {
    switch (need) {
    case MESSAGES:
        return !shards_messages(doctor);
    case SHARDED_MESSAGES:
        return shards_messages(doctor);
    case IN_CLUSTER:
        return doctor->cluster;
    default:
        return true;
    }
}

enum { REPLY_SIZE = 64 };

static int send_right(struct doctor *doctor, const struct right *right, const char *key, const char *channel,
                      char reply[REPLY_SIZE]) {
    const char *words[7] = {NULL};
    for (size_t i = 0; i < 6 && right->words[i]; i++) {
        const char *word = right->words[i];
        words[i] = strcmp(word, "K") == 0 ? key : strcmp(word, "C") == 0 ? channel : word;
    }
    return doctor_command(doctor, words, reply, REPLY_SIZE);
}

/* Returns whether a command was sent outside of the transaction: after a loss of the connection it is sent again. */
static bool is_outside(int status, const char *reply) {
    return status == REDLATCH_UNREACHABLE || status == REDLATCH_NO_REPLY ||
           (status == REDLATCH_OK && strcmp(reply, "QUEUED") != 0);
}

/* Returns the part of the error text that says what the user lacks: from "(NOPERM" on. Returns all of it if there is no
 * such part. */
static const char *server_words(void) {
    const char *begun = strstr(redlatch_last_error(), "(NOPERM");
    return begun ? begun : redlatch_last_error();
}

/* What was refused so far. A key or channel is refused to all commands alike, so only the first finding names it. */
struct refused {
    bool key;
    bool channel;
    int count;
};

static void add_refused(struct doctor *doctor, const struct right *right, const char *key, const char *channel,
                        struct refused *refused) {
    const char *words = server_words();
    bool about_key = strstr(words, "access") && strstr(words, "key");
    bool about_channel = strstr(words, "access") && strstr(words, "channel");
    const char *advice = refused->count ? NULL
                                        : "docs/how-to/access-rules.md has what a user needs for each kind of lock.";
    enum level level = right->essential ? LEVEL_PROBLEM : LEVEL_WARNING;
    if ((about_key && refused->key) || (about_channel && refused->channel)) {
        return;
    }
    if (about_key || about_channel) {
        doctor_add(doctor, level, "rights", advice, "the user may not use the %s \"%s\": %s %s",
                   about_key ? "key" : "channel", about_key ? key : channel, right->without, words);
    } else {
        bool two = strcmp(right->words[0], "CLIENT") == 0;
        doctor_add(doctor, level, "rights", advice, "the user may not use %s%s%s: %s %s", right->words[0],
                   two ? " " : "", two ? right->words[1] : "", right->without, words);
    }
    refused->key = refused->key || about_key;
    refused->channel = refused->channel || about_channel;
    refused->count++;
}

static void check_all(struct doctor *doctor, const char *key, const char *channel) {
    struct refused refused = {.count = 0};
    for (size_t i = 0; i < sizeof rights / sizeof rights[0]; i++) {
        char reply[REPLY_SIZE];
        if (!is_needed(doctor, rights[i].need)) {
            continue;
        }
        int status = send_right(doctor, &rights[i], key, channel, reply);
        if (status == REDLATCH_NO_PERMISSION) {
            add_refused(doctor, &rights[i], key, channel, &refused);
        } else if (is_outside(status, reply)) {
            const char *words[] = {"HDEL", key, "field", NULL}; /* HSET may have been carried out */
            doctor_command(doctor, words, reply, sizeof reply);
            doctor_add(doctor, LEVEL_NOTE, "rights", NULL, "not all of them are known: the connection was lost");
            return;
        }
    }
    if (!refused.count) {
        doctor_add(doctor, LEVEL_OK, "rights", NULL, "the user may use all that a mutex needs");
    }
}

/* Uses a client of its own, which is closed afterwards: its connection has the transaction. */
void doctor_check_rights(struct doctor *doctor) {
    redlatch_client *client = doctor->client;
    const char *prefix = doctor->server->prefix ? doctor->server->prefix : "";
    char *key = NULL;
    char *channel = NULL;
    char reply[64];
    int exit_status = open_client(doctor->server, NULL, &doctor->client);
    if (exit_status == STATUS_GOOD) {
        if (asprintf(&key, "%s%s", prefix, doctor->probe) < 0) {
            key = NULL;
        }
        if (asprintf(&channel, "redisson_lock__channel:{%s}", key ? key : "") < 0) {
            channel = NULL;
        }
        if (doctor_command(doctor, (const char *[]){"MULTI", NULL}, reply, sizeof reply) != REDLATCH_OK) {
            doctor_add(doctor, LEVEL_NOTE, "rights", NULL, "they are unknown: they are tried with MULTI (%s)",
                       redlatch_last_error());
        } else if (key && channel) {
            check_all(doctor, key, channel);
            doctor_command(doctor, (const char *[]){"DISCARD", NULL}, reply, sizeof reply);
        }
        redlatch_client_free(doctor->client);
    }
    free(key);
    free(channel);
    doctor->client = client;
}
