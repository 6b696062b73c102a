/* Lock handles: their options, and setting up a call on one.
 * SPDX-License-Identifier: Apache-2.0 */
#include "lock.h"

#include <string.h>

#include "client_lock.h"
#include "composite.h"
#include "errors.h"
#include "guard.h"
#include "inherited.h"
#include "kinds.h"
#include "options.h"
#include "owners.h"
#include "preallocate.h"

/* The longest back-off that the options of a spin lock may have. */
#define BACK_OFF_LONGEST_MS INT64_C(3600000)

int guard_lock_handle(const struct redlatch_lock *handle) {
    if (!handle || atomic_load(&handle->magic) != MAGIC_LOCK) {
        return fail_bad_handle(handle, "lock", "redlatch_lock_new");
    }
    return REDLATCH_OK;
}

int guard_lock(const struct redlatch_lock *handle) {
    int status = guard_lock_handle(handle);
    if (status == REDLATCH_OK) {
        status = client_check(handle->client);
    }
    const struct composite *composite = status == REDLATCH_OK ? handle->composite : NULL;
    for (uint32_t i = 0; composite && status == REDLATCH_OK && i < composite->group_count; i++) {
        struct client *client = composite->groups[i].client;
        status = client_is_inherited(client) ? client_check(client) : REDLATCH_OK;
    }
    return status;
}

/* Returns whether the owner's hold of any member of a group is the parent's. */
static bool is_inherited_group(const struct composite_group *group, uint64_t owner) {
    bool inherited = false;
    for (uint32_t i = 0; i < group->set->count; i++) {
        const struct set_member *member = &group->set->members[i];
        inherited = inherited || inherited_has(group->client, member->resource, member->lock_kind, owner);
    }
    return inherited;
}

/* Returns whether the owner's hold of a lock is the parent's. Of a composite lock: whether the groups with no hold of
 * the parent's are too few for the quorum. */
static bool is_inherited(const struct redlatch_lock *lock, uint64_t owner) {
    const struct composite *composite = lock->composite;
    if (!composite) {
        return inherited_has(lock->client, lock->resource, lock->kind, owner);
    }
    uint32_t inherited = 0;
    for (uint32_t i = 0; i < composite->group_count; i++) {
        inherited += is_inherited_group(&composite->groups[i], owner);
    }
    return composite->group_count - inherited < composite->quorum;
}

int lock_check_inherited(const struct redlatch_lock *lock, uint64_t owner, const char *verb) {
    owner = lock_owner(lock, owner);
    if (!is_inherited(lock, owner)) {
        return REDLATCH_OK;
    }
    char shown[64];
    return fail_with(REDLATCH_FORKED, "%s \"%s\": the hold belongs to the parent process", verb,
                     shown_name(lock->resource->name, lock->resource->name_size, shown));
}

static int check_back_off(const redlatch_lock_options *options) {
    if (options->back_off_initial_ms < 1 || options->back_off_max_ms < options->back_off_initial_ms ||
        options->back_off_max_ms > BACK_OFF_LONGEST_MS) {
        return fail_with(REDLATCH_INVALID, "back_off is %lld to %lld ms: expected 1 ms or more, up to %lld ms",
                         (long long)options->back_off_initial_ms, (long long)options->back_off_max_ms,
                         (long long)BACK_OFF_LONGEST_MS);
    }
    if (options->back_off_multiplier < 1 || options->back_off_multiplier > 1000) {
        return fail_with(REDLATCH_INVALID, "back_off_multiplier is %d: expected 1 to 1000",
                         (int)options->back_off_multiplier);
    }
    return REDLATCH_OK;
}

static int check_options(int kind, const redlatch_lock_options *options) {
    const struct kind *known = kind_of_number(kind);
    if (!known || known->is_counted) {
        return fail_with(REDLATCH_INVALID, "kind is %d: expected a lock of enum redlatch_kind", kind);
    }
    if (options->owner_mode != REDLATCH_OWNER_THREAD && options->owner_mode != REDLATCH_OWNER_HANDLE) {
        return fail_with(REDLATCH_INVALID, "owner_mode is %d: expected REDLATCH_OWNER_THREAD or REDLATCH_OWNER_HANDLE",
                         (int)options->owner_mode);
    }
    int status = REDLATCH_OK;
    if (options->lease_ms != REDLATCH_RENEWED) {
        status = check_duration("lease_ms", options->lease_ms, 1, false);
    }
    if (status != REDLATCH_OK || (status = check_flag("reentrant", options->reentrant, true)) != REDLATCH_OK ||
        (status = check_flag("token_from_time", options->token_from_time, known->has_tokens)) != REDLATCH_OK ||
        (status = check_flag("confirm_release", options->confirm_release, true)) != REDLATCH_OK) {
        return status;
    }
    if (options->owner != 0 && options->owner_mode != REDLATCH_OWNER_HANDLE) {
        return fail_with(REDLATCH_INVALID, "owner is %llu: expected 0, or owner_mode REDLATCH_OWNER_HANDLE",
                         (unsigned long long)options->owner);
    }
    if ((status = check_owner("owner", options->owner)) != REDLATCH_OK ||
        (known->polls && (status = check_back_off(options)) != REDLATCH_OK)) {
        return status;
    }
    if (options->key_template && !known->has_key_template) {
        return fail_with(REDLATCH_INVALID, "key_template is given for a %s lock: expected it for a plain lock only",
                         known->name);
    }
    return check_duration("max_hold_ms", options->max_hold_ms, 1, true);
}

int lock_options_of(int kind, const redlatch_lock_options *given, redlatch_lock_options *options_out) {
    redlatch_lock_options_init(options_out, sizeof *options_out);
    int status = given ? options_read(options_out, sizeof *options_out, given, "lock options") : REDLATCH_OK;
    return status != REDLATCH_OK ? status : check_options(kind, options_out);
}

int lock_check_unconfirmed(const struct client *client, const struct composite *composite) {
    if (composite) {
        return fail_with(REDLATCH_UNSUPPORTED, "an unconfirmed release of several names: expected a lock of one name");
    }
    if (engine_wants_acknowledgements(&client->engine)) {
        return fail_with(REDLATCH_UNSUPPORTED,
                         "an unconfirmed release by a client with min_replicas or durable: expected a confirmed one");
    }
    return REDLATCH_OK;
}

void lock_set_up(struct redlatch_lock *lock, struct client *client, struct resource *resource, int kind,
                 const redlatch_lock_options *options) {
    lock->client = client_keep(client);
    lock->resource = resource;
    lock->owner_mode = options->owner_mode;
    lock->owner = options->owner_mode == REDLATCH_OWNER_THREAD ? 0
                  : options->owner                             ? options->owner
                                                               : owner_number_new();
    lock->lease_ms = options->lease_ms;
    lock->max_hold_ms = options->max_hold_ms;
    lock->kind = (uint8_t)kind;
    lock->reentrant = options->reentrant && !kind_of_number(kind)->not_reentrant;
    lock->token_from_time = options->token_from_time;
    lock->confirm_release = options->confirm_release;
    lock->back_off = (struct back_off){
        .next_ms = (uint32_t)options->back_off_initial_ms,
        .max_ms = (uint32_t)options->back_off_max_ms,
        .multiplier = (uint32_t)options->back_off_multiplier,
    };
}

bool lock_owner_is_named(const struct redlatch_lock *lock, uint64_t owner) {
    return owner != 0 || lock->owner != 0;
}

uint64_t lock_owner(const struct redlatch_lock *lock, uint64_t owner) {
    if (owner) {
        return owner;
    }
    return lock->owner ? lock->owner : owner_of_thread();
}

static int no_owner(void) {
    return fail_with(REDLATCH_SYSTEM, "no key for thread-specific data is left: expected one for owners");
}

int lock_check_owner(const struct redlatch_lock *lock, uint64_t owner) {
    return lock_owner(lock, owner) == 0 ? no_owner() : REDLATCH_OK;
}

int lock_check_confirm(const struct redlatch_lock *lock, int32_t confirm, bool *confirmed_out) {
    if (confirm != 0 && confirm != 1 && confirm != REDLATCH_CONFIRM_OF_LOCK) {
        return fail_with(REDLATCH_INVALID, "confirm is %d: expected 0, 1 or REDLATCH_CONFIRM_OF_LOCK", (int)confirm);
    }
    *confirmed_out = confirm == REDLATCH_CONFIRM_OF_LOCK ? lock->confirm_release : confirm == 1;
    return *confirmed_out ? REDLATCH_OK : lock_check_unconfirmed(lock->client, lock->composite);
}

int lock_prepare(struct request *request, const struct redlatch_lock *lock, uint8_t kind, uint64_t owner) {
    struct operation *operation = &request->operation;
    operation->kind = kind;
    operation->lock_kind = lock->kind;
    operation->not_reentrant = !lock->reentrant;
    operation->token_from_time = lock->token_from_time;
    operation->back_off = lock->back_off;
    /* Of a set, the first member's: the engine sets it again when the operation ends. So a started call drops the
     * resource that it kept. */
    operation->resource = lock->set ? lock->set->members[0].resource : lock->resource;
    operation->owner = lock_owner(lock, owner);
    operation->named_owner = lock_owner_is_named(lock, owner);
    operation->max_hold_ms = lock->max_hold_ms;
    operation->set = lock->set;
    request->composite = lock->composite;
    if (operation->owner == 0) {
        return no_owner();
    }
    return client_preallocate_for(lock->client, kind, operation->set) ? REDLATCH_OK : fail_plain(REDLATCH_NO_MEMORY);
}

void lock_state_of(const struct lock_answer *answer, redlatch_lock_state *state_out) {
    *state_out = (redlatch_lock_state){.struct_size = sizeof *state_out,
                                       .locked = answer->locked,
                                       .ttl_ms = answer->ttl_ms,
                                       .count = answer->count,
                                       .holders = answer->holders,
                                       .waiters = answer->waiters};
    memcpy(state_out->owner, answer->owner, sizeof state_out->owner);
}
