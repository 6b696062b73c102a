/* Whether a refused script has changed keys: the keys are printed before and after, and the texts compared.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "rejected_scripts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const writing_commands[] = {"decr", "decrby", "del",     "hdel",    "hset",  "hsetnx", "incr", "incrby",
                                        "lpop", "lrem",   "persist", "pexpire", "rpush", "set",    "zadd", "zrem"};
const size_t writing_command_count = sizeof writing_commands / sizeof writing_commands[0];

static int tell_nobody(void *context, bool sharded, struct redis_text channel, struct redis_text message) {
    (void)context;
    (void)sharded;
    (void)channel;
    (void)message;
    return 0;
}

static void print_call(FILE *file, struct keyspace *keyspace, struct redis_text *words, size_t count) {
    struct redis_reply reply = {0};
    keyspace_call(keyspace, words, count, &reply);
    redis_reply_print(file, &reply);
    redis_reply_free(&reply);
}

/* Prints every key with its PTTL and with the replies of one command of each type. Commands of other types reply with
 * an error, which is printed, too. */
static char *print_keys(struct keyspace *keyspace) {
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    uint32_t cursor = 0;
    struct redis_text key;
    while (keyspace_next_key(keyspace, &cursor, &key)) {
        struct redis_text words[] = {redis_text("get"), key, redis_text("0"), redis_text("-1"),
                                     redis_text("withscores")};
        fprintf(file, "%.*s %lld ", (int)key.size, key.bytes, (long long)keyspace_pttl(keyspace, key));
        print_call(file, keyspace, words, 2);
        words[0] = redis_text("hgetall");
        print_call(file, keyspace, words, 2);
        words[0] = redis_text("lrange");
        print_call(file, keyspace, words, 4);
        words[0] = redis_text("zrange");
        print_call(file, keyspace, words, 5);
        fputc('\n', file);
    }
    fclose(file);
    return text;
}

bool refused_script_writes(struct script_set *set, enum script_id script, const struct keyspace *keyspace,
                           const struct redis_text *texts, size_t key_count, size_t argument_count,
                           const char *command) {
    struct keyspace *copy = keyspace_copy(keyspace);
    struct redis_reply reply = {0};
    keyspace_on_publish(copy, tell_nobody, NULL);
    char *before = print_keys(copy);
    script_set_run_without(set, script, command, copy, texts, key_count, argument_count, &reply);
    bool refused = reply.kind == REDIS_ERROR && (strstr(reply.text, "ACL failure") || strstr(reply.text, "NOPERM"));
    char *after = refused ? print_keys(copy) : NULL;
    bool writes = refused && strcmp(before, after) != 0;
    free(before);
    free(after);
    redis_reply_free(&reply);
    keyspace_free(copy);
    return writes;
}
