/* Makes the handles of multi locks and RedLocks from their members, sorted by server and name.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "client_lock.h"
#include "composite.h"
#include "composite_lock.h"
#include "errors.h"
#include "kinds.h"
#include "lock.h"
#include "options.h"

static int compare_text(const char *one, const char *other) {
    return strcmp(one ? one : "", other ? other : "");
}

static int compare_servers(const struct client *one, const struct client *other) {
    const struct uri *left = &one->uri;
    const struct uri *right = &other->uri;
    int order = compare_text(left->path, right->path);
    order = order ? order : compare_text(left->host, right->host);
    order = order ? order : (left->port > right->port) - (left->port < right->port);
    order = order ? order : compare_text(left->service, right->service);
    if (order) {
        return order;
    }
    int mine = one->connection_settings.database;
    int theirs = other->connection_settings.database;
    return (mine > theirs) - (mine < theirs);
}

static int compare_names(const struct resource *one, const struct resource *other) {
    size_t size = one->name_size < other->name_size ? one->name_size : other->name_size;
    int order = memcmp(one->name, other->name, size);
    return order ? order : (one->name_size > other->name_size) - (one->name_size < other->name_size);
}

/* Orders by server, client, slot and name. All processes have the same order if each has one client for a server. */
static int compare_members(const void *one, const void *other) {
    const struct redlatch_lock *left = *(const struct redlatch_lock *const *)one;
    const struct redlatch_lock *right = *(const struct redlatch_lock *const *)other;
    int order = compare_servers(left->client, right->client);
    order = order ? order : (left->client > right->client) - (left->client < right->client);
    order = order ? order
                  : (left->resource->slot > right->resource->slot) - (left->resource->slot < right->resource->slot);
    return order ? order : compare_names(left->resource, right->resource);
}

static int check_members(redlatch_lock *const *members, size_t count) {
    if (count == 0 || count > REDLATCH_MEMBERS_MAX) {
        fail_with(REDLATCH_INVALID, "count is %zu: expected 1 to %d members", count, REDLATCH_MEMBERS_MAX);
        return REDLATCH_INVALID;
    }
    if (!members) {
        fail_with(REDLATCH_INVALID, "members is NULL: expected an array of %zu locks", count);
        return REDLATCH_INVALID;
    }
    for (size_t i = 0; i < count; i++) {
        int status = guard_lock(members[i]);
        if (status != REDLATCH_OK) {
            return status;
        }
        if (members[i]->composite) {
            return fail_with(REDLATCH_INVALID,
                             "members[%zu] is a multi lock or a RedLock: expected locks of single names", i);
        }
        if (!kind_of_number(members[i]->kind)->member_type) {
            return fail_with(REDLATCH_INVALID,
                             "members[%zu] is a %s lock, which is granted only in the order of its queue:"
                             " expected another kind of lock",
                             i, redlatch_kind_name(members[i]->kind));
        }
    }
    return REDLATCH_OK;
}

/* Checks two members: a name of a server is a member once, and so is a server of a RedLock. */
static int check_pair(const struct redlatch_lock *one, const struct redlatch_lock *other, bool majority) {
    bool same_server = compare_servers(one->client, other->client) == 0 || one->client == other->client;
    char shown[64];
    if (same_server && majority) {
        return fail_with(REDLATCH_INVALID, "two members are on the same server: expected independent servers");
    }
    if (same_server && compare_names(one->resource, other->resource) == 0) {
        shown_name(one->resource->name, one->resource->name_size, shown);
        if (one->resource->kind == REDLATCH_READ && one->kind != other->kind) {
            return fail_with(REDLATCH_INVALID, "both the read and the write lock of \"%s\" are members: expected one",
                             shown);
        }
        if (one->kind == REDLATCH_GROUP && other->kind == REDLATCH_GROUP) {
            return fail_with(REDLATCH_INVALID, "two members are group locks of \"%s\": expected one with all values",
                             shown);
        }
        return fail_with(REDLATCH_INVALID, "\"%s\" is a member twice: expected each name once", shown);
    }
    return REDLATCH_OK;
}

/* Checks that clients do not reach the same server by different addresses, as far as the run ids are known by now. */
static int check_run_ids(const struct composite *composite) {
    for (uint32_t i = 0; i < composite->group_count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            const char *one = composite->groups[i].client->node.ios[PIPELINE_CALLERS].connection.run_id;
            const char *other = composite->groups[j].client->node.ios[PIPELINE_CALLERS].connection.run_id;
            if (one[0] && strcmp(one, other) == 0) {
                return fail_with(REDLATCH_INVALID,
                                 "two members are on the same server, whose run id is %.8s...: expected"
                                 " independent servers",
                                 one);
            }
        }
    }
    return REDLATCH_OK;
}

/* Returns how many of the members form the first group: those of a client, in a cluster those of a slot. */
static uint32_t group_size(struct redlatch_lock *const *sorted, size_t count) {
    uint32_t size = 1;
    while (size < count && sorted[size]->client == sorted[0]->client &&
           sorted[size]->resource->slot == sorted[0]->resource->slot) {
        size++;
    }
    return size;
}

static uint32_t index_of(const struct redlatch_lock *lock, redlatch_lock *const *members) {
    uint32_t index = 0;
    while (members[index] != lock) {
        index++;
    }
    return index;
}

/* Adds the next group, of the members at `sorted`. Its references are not counted yet. Returns false if there was no
 * memory. */
static bool add_group(struct composite *composite, struct redlatch_lock *const *sorted, uint32_t size,
                      redlatch_lock *const *given) {
    struct composite_group *group = &composite->groups[composite->group_count];
    group->set = malloc(sizeof *group->set + size * sizeof group->set->members[0]);
    if (!group->set) {
        return false;
    }
    composite->group_count++;
    group->client = sorted[0]->client;
    group->set->count = size;
    group->first_given = UINT32_MAX;
    group->fenced_given = UINT32_MAX;
    for (uint32_t i = 0; i < size; i++) {
        uint32_t index = index_of(sorted[i], given);
        group->first_given = index < group->first_given ? index : group->first_given;
        if (kind_of_number(sorted[i]->kind)->has_tokens && index < group->fenced_given) {
            group->fenced_given = index;
            group->fenced = i;
        }
        group->set->members[i] = (struct set_member){.resource = sorted[i]->resource,
                                                     .lock_kind = sorted[i]->kind,
                                                     .not_reentrant = !sorted[i]->reentrant,
                                                     .token_from_time = sorted[i]->token_from_time};
    }
    return true;
}

static void count_references(struct composite *composite) {
    for (uint32_t i = 0; i < composite->group_count; i++) {
        struct composite_group *group = &composite->groups[i];
        client_keep(group->client);
        client_lock(group->client);
        group->client->engine.losses_wanted[LOSS_SETS] = true;
        for (uint32_t j = 0; j < group->set->count; j++) {
            resource_keep(group->set->members[j].resource);
        }
        client_unlock(group->client);
    }
}

static int make_composite(redlatch_lock *const *members, size_t count, bool majority,
                          struct composite **composite_out) {
    struct redlatch_lock *sorted[REDLATCH_MEMBERS_MAX];
    memcpy(sorted, members, count * sizeof sorted[0]);
    qsort(sorted, count, sizeof sorted[0], compare_members);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = i + 1; j < count; j++) { /* the same name may come again behind others, by another client */
            int status = check_pair(sorted[i], sorted[j], majority);
            if (status != REDLATCH_OK) {
                return status;
            }
        }
    }
    struct composite *composite = calloc(1, sizeof *composite + count * sizeof composite->groups[0]);
    if (!composite) {
        return fail_plain(REDLATCH_NO_MEMORY);
    }
    for (size_t at = 0; at < count; at += composite->groups[composite->group_count - 1].set->count) {
        if (!add_group(composite, sorted + at, group_size(sorted + at, count - at), members)) {
            composite_dispose(composite);
            return fail_plain(REDLATCH_NO_MEMORY);
        }
    }
    if (majority && check_run_ids(composite) != REDLATCH_OK) {
        composite_dispose(composite);
        return REDLATCH_INVALID;
    }
    composite->references = 1;
    composite->first = members[0]->client;
    composite->first_name = members[0]->resource;
    composite->majority = majority;
    composite->member_count = (uint32_t)count;
    composite->quorum = majority ? composite->group_count / 2 + 1 : composite->group_count;
    *composite_out = composite;
    return REDLATCH_OK;
}

static int make_lock(redlatch_lock *const *members, size_t count, bool majority, const redlatch_lock_options *given,
                     redlatch_lock **lock_out) {
    if (!lock_out) {
        return fail_with(REDLATCH_INVALID, "lock_out is NULL: expected a pointer to set");
    }
    redlatch_lock_options options;
    struct composite *composite = NULL;
    int status = check_members(members, count);
    if (status != REDLATCH_OK || (status = lock_options_of(REDLATCH_MUTEX, given, &options)) != REDLATCH_OK ||
        (status = make_composite(members, count, majority, &composite)) != REDLATCH_OK || !composite) {
        return status;
    }
    status = options.confirm_release ? REDLATCH_OK : lock_check_unconfirmed(members[0]->client, composite);
    if (status != REDLATCH_OK) {
        composite_dispose(composite);
        return status;
    }
    struct redlatch_lock *lock = handle_new_lock();
    if (!lock) {
        composite_dispose(composite);
        return fail_plain(REDLATCH_NO_MEMORY);
    }
    count_references(composite);
    lock_set_up(lock, members[0]->client, members[0]->resource, members[0]->kind, &options);
    lock->composite = composite;
    lock->operations = composite_operations(composite, &lock->set);
    *lock_out = lock;
    return REDLATCH_OK;
}

int redlatch_multi_lock_new(redlatch_lock *const *members, size_t count, const redlatch_lock_options *options,
                            redlatch_lock **lock_out) {
    return make_lock(members, count, false, options, lock_out);
}

int redlatch_redlock_new(redlatch_lock *const *members, size_t count, int32_t allow_few,
                         const redlatch_lock_options *options, redlatch_lock **lock_out) {
    if (check_flag("allow_few", allow_few, true) != REDLATCH_OK) {
        return REDLATCH_INVALID;
    }
    if (members && count > 0 && count < 3 && !allow_few) {
        return fail_with(REDLATCH_INVALID,
                         "count is %zu: expected at least 3 members, so that a server may fail, or"
                         " allow_few",
                         count);
    }
    return make_lock(members, count, true, options, lock_out);
}
