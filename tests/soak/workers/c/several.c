/* Values of a group, and several locks at once: how they are made. Then they are taken as any lock is.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <string.h>

#include "journal.h"
#include "takers.h"

enum { MEMBERS_MAX = 8 };

/* The members of a name, which + parts; the name is cut up for that. */
static int split(char *name, char **members) {
    int count = 0;
    char *rest = NULL;
    for (char *member = strtok_r(name, "+", &rest); member; member = strtok_r(NULL, "+", &rest)) {
        if (count == MEMBERS_MAX) {
            give_up("a name of more than %d members", MEMBERS_MAX);
        }
        members[count++] = member;
    }
    return count;
}

int group_open(struct taker *taker, redlatch_client *client) {
    char name[NAME_SIZE];
    char *members[MEMBERS_MAX] = {name};
    redlatch_value values[MEMBERS_MAX];
    memcpy(name, taker->turn->name, sizeof name);
    int count = split(name, members);
    size_t group_size = strcspn(members[0], "/");
    for (int i = 0; i < count; i++) {
        values[i].bytes = members[i] + group_size + 1;
        values[i].size = strlen(values[i].bytes);
    }
    redlatch_lock_options options = lock_options_of(taker->turn);
    return redlatch_group_lock_new(client, members[0], group_size, values, (size_t)count, &options, &taker->lock);
}
