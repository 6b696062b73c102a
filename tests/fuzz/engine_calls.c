/* The steps of users: calls, as the client layer makes them. Like the client layer, a step has one call of a thread at
 * a time, and numbers within the bounds of the public header.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_play.h"
#include "kinds.h"

/* Owners up to THREADS are threads. The others are named by the host and may have several calls at once. */
static uint64_t an_owner(void) {
    return 1 + input_below(play.input, OWNERS);
}

static bool is_thread(uint64_t owner) {
    return owner <= THREADS;
}

static bool is_busy(uint64_t owner) {
    for (struct call *call = rig.calls; call; call = call->next) {
        if (call->operation && !call->done && call->operation->owner == owner && is_thread(owner)) {
            return true;
        }
    }
    return false;
}

static int64_t a_lease(bool fixed) {
    static const int64_t leases[] = {REDLATCH_RENEWED, 30000, 1, 50, 1000, 60000, REDLATCH_RENEWED, REDLATCH_RENEWED};
    int64_t lease = leases[input_below(play.input, 8)];
    return fixed && lease == REDLATCH_RENEWED ? 10000 : lease;
}

static int64_t a_time(void) {
    static const int64_t waits[] = {0, 1, 30, 1000, 5500, 30000, 0, 0};
    int64_t wait_ms = waits[input_below(play.input, 8)];
    return wait_ms == 0 ? NEVER : rig.now + wait_ms * MILLISECOND;
}

static const enum pipeline_role callers[] = {PIPELINE_CALLERS, PIPELINE_CALLERS_SECOND, PIPELINE_CALLERS_THIRD,
                                             PIPELINE_CALLERS};

/* Sets the flags of any call. */
static void set_up(struct call *call, uint8_t how) {
    struct operation *operation = call->operation;
    operation->named_owner = !is_thread(operation->owner);
    operation->asynchronous = operation->named_owner && (how & 1);
    operation->pipeline = (uint8_t)(operation->asynchronous ? PIPELINE_HOST : callers[(how >> 1) % 4]);
    operation->wait_until = rig.now + 5 * SECOND;
}

static void set_up_acquire(struct call *call, uint8_t how) {
    struct operation *operation = call->operation;
    set_up(call, how);
    operation->lease_ms = a_lease(false);
    operation->wait_until = a_time();
    operation->non_blocking = (how & 0x38) == 0x38;
    operation->not_reentrant = (how & 0xc0) == 0xc0;
    operation->token_from_time = how & 0x40;
    operation->max_hold_ms = (how & 0x30) == 0x10 ? 2000 : REDLATCH_FOREVER;
    operation->back_off = (struct back_off){.next_ms = 10, .max_ms = 1000, .multiplier = 2};
    if (operation->non_blocking) {
        operation->wait_until = rig.now + 5 * SECOND;
    }
}

static bool has_permits(uint8_t kind) {
    return kind == REDLATCH_SEMAPHORE || kind == REDLATCH_PERMIT_SEMAPHORE;
}

/* Returns a mode of a read-write lock, or the kind itself. */
static uint8_t side(uint8_t kind, uint8_t how) {
    return kind == REDLATCH_READ && (how & 0x10) ? REDLATCH_WRITE : kind;
}

static void start(struct call *call, const char *what, const char *name) {
    const struct operation *operation = call->operation;
    play_tell("%s of %s (%s) for owner %d on pipeline %d%s%s, lease %lld, until %lld", what, name,
              redlatch_kind_name(operation->lock_kind), (int)operation->owner, operation->pipeline,
              operation->asynchronous ? ", asynchronous" : "", operation->non_blocking ? ", once" : "",
              (long long)operation->lease_ms, operation->wait_until == NEVER ? -1LL : (long long)operation->wait_until);
    rig_start(call);
}

void play_acquire(void) {
    const char *name = play_name(input_below(play.input, NAMES));
    uint64_t owner = an_owner();
    uint8_t how = input_byte(play.input);
    if (is_busy(owner) || rig.lock_kind == REDLATCH_LATCH) {
        return;
    }
    struct call *call = rig_call(OPERATION_ACQUIRE, name, owner);
    call->operation->lock_kind = side(rig.lock_kind, input_byte(play.input));
    set_up_acquire(call, how);
    if (has_permits(call->operation->lock_kind)) {
        call->operation->amount = 1 + input_below(play.input, 3);
        call->operation->max_hold_ms = REDLATCH_FOREVER;
        call->operation->not_reentrant = false;
    }
    start(call, "acquire", name);
}

/* Returns the owner of a call about a hold. Each hold of a permit semaphore has an owner number of its own. */
static uint64_t owner_held(const char *name, uint64_t owner) {
    if (rig.lock_kind != REDLATCH_PERMIT_SEMAPHORE) {
        return owner;
    }
    const struct hold *hold = rig_name(name)->holds;
    for (uint64_t i = 1; hold && hold->next && i < owner; i++) {
        hold = hold->next;
    }
    return hold ? hold->owner : PERMIT_OWNER | 1;
}

/* Returns a hold of a name that is alive or lost, not being released. Returns NULL if there is none. */
static const struct hold *held(const char *name, uint8_t number) {
    const struct hold *found = NULL;
    for (const struct hold *hold = rig_name(name)->holds; hold; hold = hold->next) {
        if (hold->stage != HOLD_RELEASING) {
            found = hold;
            if (number-- == 0) {
                break;
            }
        }
    }
    return found;
}

/* Mostly releases or extends a hold that is alive or lost; otherwise any owner's. */
void play_release(void) {
    const char *name = play_name(input_below(play.input, NAMES));
    uint64_t owner = an_owner();
    uint8_t how = input_byte(play.input);
    const struct hold *hold = how & 0x80 ? NULL : held(name, (uint8_t)owner);
    owner = hold ? hold->owner : owner_held(name, owner);
    if (is_busy(owner) || rig.lock_kind == REDLATCH_LATCH || rig.lock_kind == REDLATCH_SEMAPHORE) {
        return;
    }
    bool extends = (how & 0x60) == 0x60;
    struct call *call = rig_call(extends ? OPERATION_EXTEND : OPERATION_RELEASE, name, owner);
    call->operation->lock_kind = hold ? hold->lock_kind : side(rig.lock_kind, how);
    set_up(call, how);
    if (extends) {
        call->operation->lease_ms = a_lease(true);
    }
    start(call, extends ? "extend" : "release", name);
}

static enum change a_change(uint8_t kind, uint8_t how) {
    if (kind == REDLATCH_SEMAPHORE) {
        return (enum change)(SEMAPHORE_TRY_SET + how % (SEMAPHORE_DELETE - SEMAPHORE_TRY_SET + 1));
    }
    if (kind == REDLATCH_LATCH) {
        return (enum change)(LATCH_TRY_SET + how % (LATCH_DELETE - LATCH_TRY_SET + 1));
    }
    return (enum change)(PERMITS_TRY_SET + how % (PERMITS_DELETE - PERMITS_TRY_SET + 1));
}

static bool take_nothing(struct question *question, const char *text, size_t size) {
    (void)question;
    return size == 0 || text[0] != '!'; /* "!" stands for an allocation failure */
}

/* Sets the resources of a watch of any kind: the name as each kind that it may turn out to be. */
static void set_roles(struct operation *operation, const char *name) {
    static const uint8_t roles[WATCH_ROLES] = {REDLATCH_MUTEX, REDLATCH_READ, REDLATCH_PLAIN, REDLATCH_SEMAPHORE,
                                               REDLATCH_LATCH};
    resource_drop(&rig.engine, operation->resource);
    for (int i = 0; i < WATCH_ROLES; i++) {
        rig.lock_kind = roles[i];
        rig.value_count = 0;
        operation->roles[i] = resource_keep(rig_name(name));
    }
    operation->resource = resource_keep(operation->roles[0]);
    operation->lock_kind = 0; /* not known yet */
}

/* Queries, inspections, watches, changes of counts, forced releases. */
void play_other_call(void) {
    static const enum operation_kind kinds[] = {OPERATION_FORCE, OPERATION_QUERY, OPERATION_INSPECT,
                                                OPERATION_WATCH, OPERATION_WATCH, OPERATION_CHANGE};
    static struct question question = {.take = take_nothing};
    uint8_t how = input_byte(play.input);
    const char *name = play_name(input_below(play.input, NAMES));
    bool counts = has_permits(rig.lock_kind) || rig.lock_kind == REDLATCH_LATCH;
    enum operation_kind kind = kinds[how % 6];
    kind = kind == OPERATION_CHANGE && !counts ? OPERATION_QUERY : kind;
    kind = kind != OPERATION_INSPECT && kind != OPERATION_WATCH && counts ? OPERATION_CHANGE : kind;
    if (kind == OPERATION_FORCE && (how & 0x40) && rig.lock_kind != REDLATCH_GROUP) {
        kind = how & 0x20 ? OPERATION_RELEASE_OWNER : OPERATION_EXTEND_OWNER;
    }
    struct call *call = rig_call(kind, name, OWNERS); /* this owner is not a thread, so it may have other calls */
    struct operation *operation = call->operation;
    set_up(call, input_byte(play.input));
    operation->question = kind == OPERATION_INSPECT ? &question : NULL;
    if (kind == OPERATION_CHANGE) {
        operation->change = (uint8_t)a_change(rig.lock_kind, input_byte(play.input));
        operation->amount = 1;
    } else if (kind == OPERATION_WATCH) {
        operation->wait_until = a_time();
        operation->non_blocking = how >= 0xe0;
        if (rig.lock_kind != REDLATCH_LATCH && how < 0xa0) {
            set_roles(operation, name);
        }
    } else if (kind != OPERATION_INSPECT) {
        operation->owner_id = "u:1";
        operation->lease_ms = 1;
        operation->lock_kind = side(rig.lock_kind, how);
    }
    static const char *const words[] = {"acquire", "release", "extend", "force",         "query",
                                        "inspect", "watch",   "change", "release_owner", "extend_owner"};
    start(call, words[kind], name);
}

/* Makes a call on names of the play that may be members, each at most once. */
static struct call *set_call(enum operation_kind kind, uint64_t owner) {
    uint8_t chosen = input_byte(play.input);
    char letters[NAMES + 1] = "";
    uint8_t kinds[NAMES];
    size_t count = 0;
    for (unsigned i = 0; i < NAMES; i++) {
        const char *name = play_name(i);
        uint8_t lock_kind = side(rig.lock_kind, chosen);
        if ((chosen >> i & 1) && kind_of_number(lock_kind)->member_type) {
            rig_name(name); /* gives the resource its own kind */
            kinds[count] = lock_kind;
            letters[count++] = name[0];
        }
    }
    if (count == 0) {
        return NULL;
    }
    struct name_set *set = NULL;
    struct call *call = NULL;
    for (size_t i = 0; i < count; i++) {
        play_name((unsigned)(letters[i] - 'a'));
        if (!call) {
            call = rig_set_call(kind, letters, owner);
            set = call->set;
        }
        set->members[i].resource = rig_name((char[]){letters[i], 0});
        set->members[i].lock_kind = kinds[i];
        set->members[i].not_reentrant = chosen == 0xff;
        set->members[i].token_from_time = chosen & 0x40;
    }
    call->operation->lock_kind = kinds[0];
    return call;
}

static void play_set(enum operation_kind kind) {
    uint64_t owner = an_owner();
    uint8_t how = input_byte(play.input);
    struct call *call = is_busy(owner) ? NULL : set_call(kind, owner);
    if (!call) {
        return;
    }
    if (kind == OPERATION_ACQUIRE) {
        set_up_acquire(call, how);
        call->operation->not_reentrant = false;
    } else {
        set_up(call, how);
    }
    char names[NAMES + 1] = "";
    for (uint32_t i = 0; i < call->set->count; i++) {
        names[i] = call->set->members[i].resource->name[0];
    }
    start(call, kind == OPERATION_ACQUIRE ? "acquire of a set" : "release of a set", names);
}

void play_acquire_set(void) {
    play_set(OPERATION_ACQUIRE);
}

void play_release_set(void) {
    play_set(OPERATION_RELEASE);
}

/* Returns a call by a number: among those in progress, or among those that are done and not collected. */
static struct call *a_call(bool done) {
    uint8_t number = input_byte(play.input);
    struct call *found = NULL;
    for (struct call *call = rig.calls; call; call = call->next) {
        if (call->operation && call->done == done) {
            found = call;
            if (number-- == 0) {
                break;
            }
        }
    }
    return found;
}

void play_abort(void) {
    static const int statuses[] = {REDLATCH_TIMEOUT, REDLATCH_CANCELLED, REDLATCH_CLOSED};
    struct call *call = a_call(false);
    int status = statuses[input_below(play.input, 3)];
    if (call) {
        play_tell("a call of owner %d ends with %d", (int)call->operation->owner, status);
        rig_abort(call, status);
    }
}

/* Blocking callers whose deadline has passed end their calls. The engine ends the others. */
void play_callers_inspect(void) {
    for (struct call *call = rig.calls; call; call = call->next) {
        if (call->operation && !call->done && !call->operation->asynchronous &&
            call->operation->wait_until <= rig.now) {
            play_tell("the patience of owner %d is over", (int)call->operation->owner);
            rig_abort(call, REDLATCH_TIMEOUT);
        }
    }
}

void play_claim(void) {
    struct call *call = a_call(true);
    if (!call) {
        return;
    }
    play_tell("the answer to owner %d is collected", (int)call->operation->owner);
    if (input_byte(play.input) >= 0xf0) {
        engine_unclaimed(&rig.engine, call->operation);
    }
    rig_claim(call);
}

/* The handle that owns a hold is freed. */
void play_give_back(void) {
    const char *name = play_name(input_below(play.input, NAMES));
    uint64_t owner = owner_held(name, an_owner());
    struct hold *hold = resource_hold_of(rig_name(name), side(rig.lock_kind, input_byte(play.input)), owner);
    if (!hold || is_thread(owner)) {
        return;
    }
    play_tell("owner %d gives back %s", (int)owner, name);
    rig_supply();
    engine_give_back(&rig.engine, hold, rig.now);
    if (hold->stage == HOLD_GONE) {
        engine_forget_lost(&rig.engine, hold, rig.now);
    }
    rig_turn();
}

void play_owner_end(void) {
    uint64_t owner = an_owner();
    if (!is_busy(owner)) { /* otherwise the thread is in a call */
        play_tell("owner %d ends", (int)owner);
        engine_owner_end(&rig.engine, owner, rig.now);
        rig_turn();
    }
}
