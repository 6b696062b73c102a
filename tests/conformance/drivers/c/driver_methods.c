/* Calls on locks, translated to those of redlatch.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "driver_methods.h"

#include <stdbool.h>
#include <string.h>

#include "driver_inspect.h"
#include "driver_json.h"

static json_t *acquire(redlatch_lock *lock, const json_t *call) {
    int64_t wait_ms = milliseconds_of(call, "wait_ms", "forever", REDLATCH_FOREVER);
    if (!json_object_get(call, "lease_ms")) {
        return outcome(redlatch_lock_acquire(lock, wait_ms), NULL);
    }
    int64_t lease_ms = milliseconds_of(call, "lease_ms", "renewed", REDLATCH_RENEWED);
    return outcome(redlatch_lock_acquire_as(lock, 0, lease_ms, wait_ms, NULL), NULL);
}

static json_t *try_acquire(redlatch_lock *lock, const json_t *call) {
    (void)call;
    return outcome(redlatch_lock_try_acquire(lock), NULL);
}

int32_t confirm_of(const json_t *call) {
    const json_t *confirm = json_object_get(call, "confirm");
    return confirm ? json_is_true(confirm) : REDLATCH_CONFIRM_OF_LOCK;
}

static json_t *release(redlatch_lock *lock, const json_t *call) {
    return outcome(redlatch_lock_release_with(lock, 0, confirm_of(call)), NULL);
}

static json_t *extend(redlatch_lock *lock, const json_t *call) {
    return outcome(redlatch_lock_extend(lock, 0, milliseconds_of(call, "lease_ms", NULL, 0)), NULL);
}

static json_t *force_release(redlatch_lock *lock, const json_t *call) {
    (void)call;
    int32_t released = 0;
    int status = redlatch_lock_force_release(lock, &released);
    return outcome(status, json_boolean(released));
}

json_t *shown_state(const redlatch_lock_state *state) {
    return json_pack("{s:b, s:I, s:s, s:I, s:I, s:I}", "locked", state->locked, "ttl_ms", (json_int_t)state->ttl_ms,
                     "owner", state->owner, "count", (json_int_t)state->count, "holders", (json_int_t)state->holders,
                     "waiters", (json_int_t)state->waiters);
}

static json_t *query(redlatch_lock *lock, const json_t *call) {
    (void)call;
    redlatch_lock_state state = {.struct_size = sizeof state};
    int status = redlatch_lock_query(lock, &state);
    return outcome(status, shown_state(&state));
}

/* The serials of the holds that a trace keeps, by the labels that the trace gives them. */
static json_t *kept;

static void keep(const char *word, uint64_t serial) {
    kept = kept ? kept : json_object();
    json_object_set_new(kept, word, json_integer((json_int_t)serial));
}

static uint64_t serial_kept(const json_t *call) {
    return (uint64_t)json_integer_value(json_object_get(kept, string_of(call, "kept")));
}

static json_t *hold(redlatch_lock *lock, uint64_t owner, const json_t *call) {
    redlatch_hold now = {.struct_size = sizeof now};
    int status = redlatch_lock_hold_status(lock, owner, &now);
    if (json_object_get(call, "keep")) {
        keep(string_of(call, "keep"), now.serial);
    }
    if (json_object_get(call, "kept") && serial_kept(call) != now.serial) {
        now = (redlatch_hold){.state = REDLATCH_NOT_HELD}; /* another hold has replaced the kept one */
    }
    bool held = now.state == REDLATCH_HELD || now.state == REDLATCH_SUSPECT;
    return outcome(status, json_pack("{s:b, s:b, s:I, s:I, s:s, s:I}", "held", held, "lost", now.state == REDLATCH_GONE,
                                     "count", (json_int_t)(held ? now.count : 0), "remaining_ms",
                                     (json_int_t)now.remaining_ms, "owner", now.owner, "token", (json_int_t)now.token));
}

json_t *call_method(redlatch_lock *lock, uint64_t owner, const json_t *call) {
    static const struct {
        const char *name;
        json_t *(*make)(redlatch_lock *lock, const json_t *call);
    } methods[] = {
        {"acquire", acquire}, {"try_acquire", try_acquire},     {"release", release},
        {"extend", extend},   {"force_release", force_release}, {"query", query},
    };
    const char *name = string_of(call, "call");
    if (strcmp(name, "hold") == 0) {
        return hold(lock, owner, call);
    }
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        if (strcmp(methods[i].name, name) == 0) {
            return methods[i].make(lock, call);
        }
    }
    misunderstood("there is no call %s", name);
}

json_t *call_target(const struct target *target, uint64_t owner, const json_t *call) {
    if (target->counted) {
        return call_counted(target->counted, call);
    }
    return target->lock ? call_method(target->lock, owner, call) : call_inspect(target->client, call);
}
