/* What `redlatch top` knows of locks, and how it is kept up to date.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "top.h"

/* The average of a rate forgets what is older than some of these. */
static const double AVERAGE_S = 5;

enum { REPLY_SIZE = 1 << 16, NAMES_PER_COMMAND = REDLATCH_ARGUMENTS_MAX - 2 };

/* Per name: holders, count of the first, ms left, token, and its owner up to the end of the line. Names come as
 * <size>:<bytes>. Nothing long is read. */
static const char sample_script[] =
    "local reply, at, text = {}, 1, ARGV[1]\n"
    "while at <= #text do\n"
    "    local colon = string.find(text, ':', at, true)\n"
    "    local size = tonumber(string.sub(text, at, colon - 1))\n"
    "    local name = string.sub(text, colon + 1, colon + size)\n"
    "    at = colon + size + 1\n"
    "    local kind, holders, count, owner = redis.call('type', name).ok, 0, '0', ''\n"
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
    "    reply[#reply + 1] = table.concat({holders, count, redis.call('pttl', name), token, owner}, ' ')\n"
    "end\n"
    "return table.concat(reply, '\\n')";

static int compare_names(const char *one, size_t one_size, const char *other, size_t other_size) {
    int order = memcmp(one, other, one_size < other_size ? one_size : other_size);
    return order ? order : (one_size > other_size) - (one_size < other_size);
}

/* Where a name is, or would be. */
static size_t position_of(const struct top_locks *locks, const char *name, size_t size, bool *found_out) {
    size_t low = 0;
    size_t high = locks->count;
    *found_out = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_names(locks->lock[middle].name, locks->lock[middle].name_size, name, size);
        *found_out = *found_out || order == 0;
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return low;
}

static struct top_lock *lock_of(struct top_locks *locks, const char *name, size_t size) {
    bool found;
    size_t at = position_of(locks, name, size, &found);
    if (found) {
        return &locks->lock[at];
    }
    if (locks->count == locks->capacity) {
        size_t capacity = locks->capacity ? 2 * locks->capacity : 64;
        struct top_lock *larger = realloc(locks->lock, capacity * sizeof *larger);
        if (!larger) {
            return NULL;
        }
        locks->lock = larger;
        locks->capacity = capacity;
    }
    char *copy = malloc(size + 1);
    if (!copy) {
        return NULL;
    }
    memcpy(copy, name, size);
    copy[size] = '\0';
    memmove(&locks->lock[at + 1], &locks->lock[at], (locks->count - at) * sizeof *locks->lock);
    locks->lock[at] = (struct top_lock){.name = copy, .name_size = size};
    locks->count++;
    return &locks->lock[at];
}

/* Notes who holds it now; a token tells of every hold since the last time, an owner of one at most. */
static void note_holder(struct top_lock *lock, const char *owner, uint64_t token) {
    if (token > lock->token && lock->token) {
        lock->changes += token - lock->token;
    } else if (token == lock->token && *owner && *lock->owner && strcmp(owner, lock->owner) != 0) {
        lock->changes++;
    }
    if (strcmp(owner, lock->owner) != 0) {
        lock->host[0] = '\0';
    }
    lock->token = token;
    snprintf(lock->owner, sizeof lock->owner, "%s", owner);
}

static void note_host(struct top_lock *lock, const struct hosts *hosts) {
    redlatch_party party = {.pid = 0};
    snprintf(party.owner, sizeof party.owner, "%s", lock->owner);
    hosts_fill(hosts, &party);
    if (party.pid) {
        party_location(&party, lock->host);
    }
}

bool top_take(struct top_locks *locks, redlatch_report *report) {
    struct found found;
    redlatch_party party;
    if (!found_read(&found, report)) {
        return false;
    }
    struct top_lock *lock = lock_of(locks, found.name, (size_t)found.facts.name_size);
    bool held = found_party(&found, 0, &party) && party.role != REDLATCH_WAITER;
    if (lock) {
        lock->detected_kind = found.facts.detected_kind;
        lock->holders = found.facts.holders;
        lock->count = held ? party.count : 0;
        lock->waiters = found.facts.waiters;
        lock->ttl_ms = found.facts.ttl_ms;
        lock->pass = locks->pass;
        note_holder(lock, held ? party.owner : "", found.facts.token);
        note_host(lock, &locks->hosts);
    }
    redlatch_report_free(report);
    return lock != NULL;
}

void top_end_pass(struct top_locks *locks) {
    size_t kept = 0;
    for (size_t i = 0; i < locks->count; i++) {
        if (locks->lock[i].pass == locks->pass) {
            locks->lock[kept++] = locks->lock[i];
        } else {
            free(locks->lock[i].name);
        }
    }
    locks->count = kept;
    locks->pass++;
    locks->complete = true;
}

/* ------------------------------------------------------------------------------------------------------- sampling --
 */

/* Whether a sample shows who holds it: of a group and of a semaphore only a report does. */
static bool is_sampled(const struct top_lock *lock) {
    return lock->detected_kind != REDLATCH_DETECTED_GROUP &&
           lock->detected_kind != REDLATCH_DETECTED_PERMIT_SEMAPHORE && !memchr(lock->name, '\0', lock->name_size);
}

static void take_sample(struct top_locks *locks, struct top_lock *lock, const char *row) {
    unsigned long long holders;
    unsigned long long count;
    unsigned long long token;
    long long ttl_ms;
    int owner_at = 0;
    if (sscanf(row, "%llu %llu %lld %llu %n", &holders, &count, &ttl_ms, &token, &owner_at) < 4 || !owner_at) {
        return;
    }
    char owner[128];
    snprintf(owner, sizeof owner, "%.*s", (int)strcspn(row + owner_at, "\n"), row + owner_at);
    lock->holders = holders;
    lock->count = count;
    lock->ttl_ms = ttl_ms;
    if (lock->detected_kind != REDLATCH_DETECTED_READ_WRITE || holders <= 1) { /* of several any may be the first */
        note_holder(lock, owner, lock->token ? token : 0);
        note_host(lock, &locks->hosts);
    }
}

int top_sample(struct top_locks *locks, redlatch_client *client, struct top_lock *const *chosen, size_t count) {
    static char reply[REPLY_SIZE];
    char *names = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&names, &size);
    for (size_t i = 0; out && i < count; i++) {
        if (is_sampled(chosen[i])) {
            fprintf(out, "%zu:%s", chosen[i]->name_size, chosen[i]->name);
        }
    }
    if (!out || fclose(out) != 0) {
        return REDLATCH_NO_MEMORY;
    }
    const char *words[] = {"EVAL", sample_script, "0", names};
    int status = redlatch_client_command(client, words, 4, reply, sizeof reply, NULL);
    const char *row = status == REDLATCH_OK ? reply : NULL;
    for (size_t i = 0; row && i < count; i++) {
        if (is_sampled(chosen[i])) {
            take_sample(locks, chosen[i], row);
            row = strchr(row, '\n');
            row = row ? row + 1 : NULL;
        }
    }
    free(names);
    return status;
}

/* -------------------------------------------------------------------------------------------------------- waiting --
 */

/* The channel on which a release is published (wire format 1.6); in new memory, NULL without. */
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

/* Of as many locks as one command takes. */
static void count_some(redlatch_client *client, const char *prefix, struct top_lock *const *chosen, size_t count) {
    static char reply[REPLY_SIZE];
    const char *words[REDLATCH_ARGUMENTS_MAX] = {"PUBSUB", "NUMSUB"};
    size_t used = 2;
    for (size_t i = 0; i < count; i++) {
        char *channel = has_plain_name(chosen[i]) ? channel_of(prefix, chosen[i]) : NULL;
        words[used++] = channel ? channel : "";
    }
    if (redlatch_client_command(client, words, used, reply, sizeof reply, NULL) == REDLATCH_OK) {
        const char *row = reply;
        for (size_t i = 0; row && i < count; i++) {
            const char *number = strchr(row, '\n');
            chosen[i]->waiting = number ? strtoull(number + 1, NULL, 10) : 0;
            row = number ? strchr(number + 1, '\n') : NULL;
            row = row ? row + 1 : NULL;
        }
    }
    for (size_t i = 2; i < used; i++) {
        if (*words[i]) {
            free((char *)(uintptr_t)words[i]);
        }
    }
}

void top_count_waiting(redlatch_client *client, const char *prefix, struct top_lock *const *chosen, size_t count) {
    for (size_t i = 0; i < count; i += NAMES_PER_COMMAND) {
        count_some(client, prefix, chosen + i, count - i < NAMES_PER_COMMAND ? count - i : NAMES_PER_COMMAND);
    }
}

/* ---------------------------------------------------------------------------------------------------------- choosing
 * -- */

void top_age(struct top_locks *locks, double seconds) {
    double weight = 1 - exp(-seconds / AVERAGE_S);
    for (size_t i = 0; i < locks->count; i++) {
        struct top_lock *lock = &locks->lock[i];
        lock->rate += ((double)lock->changes / seconds - lock->rate) * weight;
        lock->changes = 0;
    }
}

static int compare_locks(const void *one, const void *other) {
    const struct top_lock *first = *(struct top_lock *const *)one;
    const struct top_lock *second = *(struct top_lock *const *)other;
    long first_rate = lround(first->rate * 10);
    long second_rate = lround(second->rate * 10);
    uint64_t first_waiting = first->waiting > first->waiters ? first->waiting : first->waiters;
    uint64_t second_waiting = second->waiting > second->waiters ? second->waiting : second->waiters;
    if (first_rate != second_rate) {
        return first_rate < second_rate ? 1 : -1;
    }
    if (first_waiting != second_waiting) {
        return first_waiting < second_waiting ? 1 : -1;
    }
    return compare_names(first->name, first->name_size, second->name, second->name_size);
}

struct top_lock **top_choose(const struct top_locks *locks, size_t most, size_t *count_out) {
    struct top_lock **chosen = calloc(locks->count + 1, sizeof *chosen);
    for (size_t i = 0; chosen && i < locks->count; i++) {
        chosen[i] = &locks->lock[i];
    }
    if (chosen && locks->count) {
        qsort(chosen, locks->count, sizeof(struct top_lock *), compare_locks);
    }
    *count_out = !chosen ? 0 : locks->count < most ? locks->count : most;
    return chosen;
}

void top_free(struct top_locks *locks) {
    for (size_t i = 0; i < locks->count; i++) {
        free(locks->lock[i].name);
    }
    free(locks->lock);
    hosts_free(&locks->hosts);
}
