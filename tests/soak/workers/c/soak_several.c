/* Group locks, multi locks and RedLocks: how they are made. They are acquired like any lock.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "soak_journal.h"
#include "soak_takers.h"

enum { PARTS_MAX = 8 };

/* Splits a name at each + into its members. Cuts the text into pieces. */
static int split(char *name, char **members) {
    int count = 0;
    char *rest = NULL;
    for (char *member = strtok_r(name, "+", &rest); member; member = strtok_r(NULL, "+", &rest)) {
        if (count == PARTS_MAX) {
            give_up("a name of more than %d members", PARTS_MAX);
        }
        members[count++] = member;
    }
    return count;
}

int group_open(struct taker *taker, const struct clients *clients) {
    char name[NAME_SIZE];
    char *members[PARTS_MAX] = {name};
    redlatch_value values[PARTS_MAX];
    memcpy(name, taker->turn->name, sizeof name);
    int count = split(name, members);
    size_t group_size = strcspn(members[0], "/");
    for (int i = 0; i < count; i++) {
        values[i].bytes = members[i] + group_size + 1;
        values[i].size = strlen(values[i].bytes);
    }
    redlatch_lock_options options = lock_options_of(taker->turn);
    return redlatch_group_lock_new(clients->of[0], members[0], group_size, values, (size_t)count, &options,
                                   &taker->lock);
}

/* Returns the lock of a name on a server: a mutex, unless the plan says otherwise. */
static redlatch_lock *member_of(const struct taker *taker, const struct clients *clients, int server,
                                const char *name) {
    redlatch_lock *lock = NULL;
    redlatch_lock_options options;
    redlatch_lock_options_init(&options, sizeof options);
    int number = REDLATCH_MUTEX;
    for (int i = 0; i < taker->plan->members; i++) {
        const struct member *member = &taker->plan->member[i];
        if (strcmp(member->name, name) == 0) {
            number = member->number;
            options.reentrant = member->reentrant;
        }
    }
    if (server < 0 || server >= clients->count) {
        give_up("%s is on the server %d of %d", name, server, clients->count);
    }
    if (redlatch_lock_new(clients->of[server], number, name, strlen(name), &options, &lock) != REDLATCH_OK) {
        give_up("%s: %s", name, redlatch_last_error());
    }
    return lock;
}

static void free_members(redlatch_lock **locks, int count) {
    for (int i = 0; i < count; i++) {
        redlatch_lock_free(locks[i]);
    }
}

/* The members are such as "one" and "other@2", with the number of the server. Every other turn acquires them in the
 * opposite order. */
int multi_open(struct taker *taker, const struct clients *clients) {
    char name[NAME_SIZE];
    char *members[PARTS_MAX] = {name};
    redlatch_lock *locks[PARTS_MAX];
    memcpy(name, taker->turn->name, sizeof name);
    int count = split(name, members);
    for (int i = 0; i < count; i++) {
        char *member = members[taker->turn->gap_us % 2 ? count - 1 - i : i];
        char *server = strchr(member, '@');
        if (server) {
            *server++ = '\0';
        }
        locks[i] = member_of(taker, clients, server ? atoi(server) : 0, member);
    }
    redlatch_lock_options options = lock_options_of(taker->turn);
    int status = redlatch_multi_lock_new(locks, (size_t)count, &options, &taker->lock);
    free_members(locks, count);
    return status;
}

int redlock_open(struct taker *taker, const struct clients *clients) {
    redlatch_lock *locks[SERVERS_MAX];
    for (int i = 0; i < clients->count; i++) {
        locks[i] = member_of(taker, clients, i, taker->name);
    }
    redlatch_lock_options options = lock_options_of(taker->turn);
    int status = redlatch_redlock_new(locks, (size_t)clients->count, 0, &options, &taker->lock);
    free_members(locks, clients->count);
    return status;
}
