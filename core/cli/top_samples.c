/* What `redlatch top` queries of the locks on its screen without inspecting them: who holds them, and how many
 * connections wait.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nodes.h"
#include "top.h"

enum { REPLY_SIZE = 1 << 16, NAMES_PER_COMMAND = REDLATCH_ARGUMENTS_MAX - 2 };

/* Returns a line for each name: its holders, the hold count of one of them, its TTL in ms, its token, and that holder's
 * owner id up to the end of the line. The line is a question mark if the name has moved to another node. Names come as
 * <size>:<bytes>. Long values are not read. */
static const char sample_script[] =
    "local reply, at, text = {}, 1, ARGV[1]\n"
    "while at <= #text do\n"
    "    local colon = string.find(text, ':', at, true)\n"
    "    local size = tonumber(string.sub(text, at, colon - 1))\n"
    "    local name = string.sub(text, colon + 1, colon + size)\n"
    "    at = colon + size + 1\n"
    "    local kind, holders, count, owner = redis.pcall('type', name).ok, 0, '0', ''\n"
    "    if kind == 'hash' and redis.call('hlen', name) <= 64 then\n"
    "        local fields = redis.call('hgetall', name)\n"
    "        for i = 1, #fields, 2 do\n"
    "            if fields[i] ~= 'mode' then\n"
    "                holders, owner = holders + 1, fields[i]\n"
    "                count = string.find(fields[i + 1], '^%d+$') and fields[i + 1] or '0'\n"
    "            end\n"
    "        end\n"
    "    elseif kind == 'string' and redis.call('strlen', name) <= 127 then\n"
    "        holders, count, owner = 1, '1', redis.call('get', name)\n"
    "    end\n"
    "    local tag = string.find(name, '{', 1, true) and name or '{' .. name .. '}'\n"
    "    local token = redis.pcall('get', 'redisson_lock_token:' .. tag)\n"
    "    token = type(token) == 'string' and string.find(token, '^%d+$') and token or '0'\n"
    "    owner = string.gsub(string.gsub(owner, ':write$', ''), '%c', '?')\n"
    "    local row = {holders, count, kind and redis.call('pttl', name), token, owner}\n"
    "    reply[#reply + 1] = kind and table.concat(row, ' ') or '?'\n"
    "end\n"
    "return table.concat(reply, '\\n')";

/* Collects the locks on the node of chosen[first] and returns their number. Returns 0 if an earlier lock is on that
 * node: they were collected with it. */
static size_t take_node(struct top_lock *const *chosen, size_t count, size_t first, struct top_lock **taken) {
    size_t size = 0;
    for (size_t i = 0; i < first; i++) {
        if (chosen[i]->node == chosen[first]->node) {
            return 0;
        }
    }
    for (size_t i = first; i < count; i++) {
        if (chosen[i]->node == chosen[first]->node) {
            taken[size++] = chosen[i];
        }
    }
    return size;
}

/* ------------------------------------------------------------------------------------------------------- sampling --
 */

/* Returns whether a sample shows who holds it. For a group and for a permit semaphore only a report does. */
static bool is_sampled(const struct top_lock *lock) {
    return lock->detected_kind != REDLATCH_DETECTED_GROUP &&
           lock->detected_kind != REDLATCH_DETECTED_PERMIT_SEMAPHORE && !memchr(lock->name, '\0', lock->name_size);
}

static void take_sample(const struct top_locks *locks, struct top_lock *lock, const char *row) {
    unsigned long long holders;
    unsigned long long count;
    unsigned long long token;
    long long ttl_ms;
    int owner_at = 0;
    if (sscanf(row, "%llu %llu %lld %llu%n", &holders, &count, &ttl_ms, &token, &owner_at) < 4 ||
        row[owner_at] != ' ') {
        return;
    }
    const char *begin = row + owner_at + 1; /* "\n" if nobody holds it */
    char owner[128];
    snprintf(owner, sizeof owner, "%.*s", (int)strcspn(begin, "\n"), begin);
    lock->holders = holders;
    lock->count = count;
    lock->ttl_ms = ttl_ms;
    if (lock->detected_kind != REDLATCH_DETECTED_READ_WRITE || holders <= 1) { /* of several, any may come first */
        top_note_holder(locks, lock, owner, lock->token ? token : 0);
    }
}

/* Samples locks of one node. */
static void sample_node(const struct top_locks *locks, redlatch_client *client, const char *prefix,
                        struct top_lock *const *chosen, size_t count) {
    static char reply[REPLY_SIZE];
    char *names = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&names, &size);
    for (size_t i = 0; out && i < count; i++) {
        if (is_sampled(chosen[i])) {
            fprintf(out, "%zu:%s%s", strlen(prefix) + chosen[i]->name_size, prefix, chosen[i]->name);
        }
    }
    if (!out || fclose(out) != 0) {
        free(names);
        return;
    }
    const char *words[] = {"EVAL", sample_script, "0", names};
    int status = redlatch_client_command(client, chosen[0]->node, words, 4, reply, sizeof reply, NULL);
    const char *row = status == REDLATCH_OK ? reply : NULL;
    for (size_t i = 0; row && i < count; i++) {
        if (is_sampled(chosen[i])) {
            take_sample(locks, chosen[i], row);
            row = strchr(row, '\n');
            row = row ? row + 1 : NULL;
        }
    }
    free(names);
}

void top_sample(const struct top_locks *locks, redlatch_client *client, const char *prefix,
                struct top_lock *const *chosen, size_t count) {
    struct top_lock **of_node = calloc(count + 1, sizeof(struct top_lock *));
    for (size_t i = 0; of_node && i < count; i++) {
        size_t taken = take_node(chosen, count, i, of_node);
        if (taken) {
            sample_node(locks, client, prefix, of_node, taken);
        }
    }
    free(of_node);
}

/* -------------------------------------------------------------------------------------------------------- waiting --
 */

/* Returns the channel on which a release is published (wire format 1.6). In new memory, or NULL if there is none. */
static char *channel_of(const char *prefix, const struct top_lock *lock) {
    const char *begin = lock->detected_kind == REDLATCH_DETECTED_READ_WRITE         ? "redisson_rwlock:"
                        : lock->detected_kind == REDLATCH_DETECTED_PLAIN            ? "redlatch_lock__channel:"
                        : lock->detected_kind == REDLATCH_DETECTED_PERMIT_SEMAPHORE ? "redisson_sc:"
                                                                                    : "redisson_lock__channel:";
    bool tagged = strchr(prefix, '{') || strchr(lock->name, '{');
    char *channel = NULL;
    int size = asprintf(&channel, "%s%s%s%s%s", begin, tagged ? "" : "{", prefix, lock->name, tagged ? "" : "}");
    return size < 0 ? NULL : channel;
}

static bool has_plain_name(const struct top_lock *lock) {
    return !memchr(lock->name, '\0', lock->name_size) && !memchr(lock->name, '\n', lock->name_size);
}

/* Adds the numbers of subscribers on one node, as PUBSUB `counting` (NUMSUB or SHARDNUMSUB) reports them. */
static void add_subscribers(redlatch_client *client, const char *counting, char *const *channels,
                            struct top_lock *const *chosen, size_t count) {
    static char reply[REPLY_SIZE];
    const char *words[REDLATCH_ARGUMENTS_MAX] = {"PUBSUB", counting};
    for (size_t i = 0; i < count; i++) {
        words[i + 2] = channels[i] ? channels[i] : "";
    }
    int status = redlatch_client_command(client, chosen[0]->node, words, count + 2, reply, sizeof reply, NULL);
    const char *row = status == REDLATCH_OK ? reply : NULL;
    for (size_t i = 0; row && i < count; i++) {
        const char *number = strchr(row, '\n');
        chosen[i]->waiting += number ? strtoull(number + 1, NULL, 10) : 0;
        row = number ? strchr(number + 1, '\n') : NULL;
        row = row ? row + 1 : NULL;
    }
}

/* Counts for as many locks of one node as one command takes. A node of a cluster has sharded channels as well. */
static void count_some(redlatch_client *client, const char *prefix, struct top_lock *const *chosen, size_t count) {
    char *channels[NAMES_PER_COMMAND] = {NULL};
    for (size_t i = 0; i < count; i++) {
        chosen[i]->waiting = 0;
        channels[i] = has_plain_name(chosen[i]) ? channel_of(prefix, chosen[i]) : NULL;
    }
    add_subscribers(client, "NUMSUB", channels, chosen, count);
    if (nodes_are_of_cluster(client)) {
        add_subscribers(client, "SHARDNUMSUB", channels, chosen, count);
    }
    for (size_t i = 0; i < count; i++) {
        free(channels[i]);
    }
}

void top_count_waiting(redlatch_client *client, const char *prefix, struct top_lock *const *chosen, size_t count) {
    struct top_lock **of_node = calloc(count + 1, sizeof(struct top_lock *));
    for (size_t i = 0; of_node && i < count; i++) {
        size_t taken = take_node(chosen, count, i, of_node);
        for (size_t at = 0; at < taken; at += NAMES_PER_COMMAND) {
            count_some(client, prefix, of_node + at, taken - at < NAMES_PER_COMMAND ? taken - at : NAMES_PER_COMMAND);
        }
    }
    free(of_node);
}
