/* Calls on semaphores, permit semaphores and latches, translated to those of redlatch.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "driver_counts.h"

#include <stdlib.h>
#include <string.h>

#include "driver_json.h"
#include "driver_objects.h"

enum { OBJECTS = 16, NAME_SIZE = 32 };

/* An object: one of the three pointers is set. */
struct counted {
    char name[NAME_SIZE]; /* empty: the entry is free */
    redlatch_client *client;
    redlatch_semaphore *semaphore;
    redlatch_permit_semaphore *permits;
    redlatch_latch *latch;
};

static struct counted objects[OBJECTS];

static struct counted *find(const char *name) {
    for (size_t i = 0; i < OBJECTS; i++) {
        if (strcmp(objects[i].name, name) == 0) {
            return &objects[i];
        }
    }
    misunderstood(*name ? "nothing is called %s" : "too many objects%s", name);
}

static int64_t whole_of(const json_t *call, const char *member) {
    return milliseconds_of(call, member, NULL, 0);
}

static redlatch_semaphore_options options_of(const json_t *call) {
    redlatch_semaphore_options options;
    redlatch_semaphore_options_init(&options, sizeof options);
    const json_t *given = json_object_get(call, "options");
    options.limit = json_object_get(given, "limit") ? whole_of(given, "limit") : options.limit;
    options.lease_ms = json_object_get(given, "lease_ms")
                           ? milliseconds_of(given, "lease_ms", "renewed", REDLATCH_RENEWED)
                           : options.lease_ms;
    return options;
}

json_t *call_counted_new(const json_t *call) {
    struct counted made = {.client = client_named(call)};
    struct text name = text_of(call, "name");
    const char *kind = string_of(call, "call");
    redlatch_semaphore_options options = options_of(call);
    int status = strcmp(kind, "semaphore") == 0
                     ? redlatch_semaphore_new(made.client, name.bytes, name.size, &options, &made.semaphore)
                 : strcmp(kind, "latch") == 0
                     ? redlatch_latch_new(made.client, name.bytes, name.size, &made.latch)
                     : redlatch_permit_semaphore_new(made.client, name.bytes, name.size, &options, &made.permits);
    free(name.bytes);
    if (status == REDLATCH_OK) {
        const char *word = string_of(call, "object");
        size_t size = strlen(word);
        if (size >= NAME_SIZE) {
            misunderstood("the name %s is longer than %d characters", word, NAME_SIZE - 1);
        }
        memcpy(made.name, word, size + 1);
        *find("") = made;
    }
    return outcome(status, NULL);
}

struct counted *counted_of(const json_t *call) {
    return json_object_get(call, "object") ? find(string_of(call, "object")) : NULL;
}

redlatch_client *counted_client(const struct counted *counted) {
    return counted->client;
}

void counted_free(void) {
    for (size_t i = 0; i < OBJECTS; i++) {
        redlatch_semaphore_free(objects[i].semaphore);
        redlatch_permit_semaphore_free(objects[i].permits);
        redlatch_latch_free(objects[i].latch);
    }
    memset(objects, 0, sizeof objects);
}

static int64_t lease_of_call(const json_t *call) {
    bool leased = json_object_get(call, "lease_ms") != NULL;
    return leased ? milliseconds_of(call, "lease_ms", "renewed", REDLATCH_RENEWED) : REDLATCH_LEASE_OF_LOCK;
}

static json_t *ids_of(const struct counted *counted, uint64_t serial, json_int_t permits) {
    if (!counted->permits) {
        return NULL;
    }
    json_t *ids = json_array();
    for (json_int_t i = 0; i < permits; i++) {
        redlatch_permit permit = {.struct_size = sizeof permit};
        redlatch_permit_semaphore_permit_status(counted->permits, serial + (uint64_t)i, &permit);
        json_array_append_new(ids, json_string(permit.id));
    }
    return ids;
}

/* ------------------------------------------------------------------------------------------------------- waits -- */

static json_t *acquire_permits(const struct counted *counted, const json_t *call) {
    int64_t permits = whole_of(call, "permits");
    int64_t wait_ms = milliseconds_of(call, "wait_ms", "forever", REDLATCH_FOREVER);
    if (counted->semaphore) {
        return outcome(redlatch_semaphore_acquire(counted->semaphore, permits, wait_ms, NULL), NULL);
    }
    uint64_t serial = 0;
    int status = redlatch_permit_semaphore_acquire(counted->permits, permits, lease_of_call(call), wait_ms, NULL,
                                                   &serial);
    return status == REDLATCH_OK ? outcome(status, ids_of(counted, serial, permits)) : outcome(status, NULL);
}

static json_t *wait_open(const struct counted *counted, const json_t *call) {
    int64_t wait_ms = milliseconds_of(call, "wait_ms", "forever", REDLATCH_FOREVER);
    return outcome(redlatch_latch_wait(counted->latch, wait_ms, NULL), NULL);
}

/* ----------------------------------------------------------------------------------------------------- changes -- */

static json_t *release_permits(const struct counted *counted, const json_t *call) {
    return outcome(redlatch_semaphore_release(counted->semaphore, whole_of(call, "permits")), NULL);
}

static json_t *release_if_exists(const struct counted *counted, const json_t *call) {
    int32_t released = 0;
    int status = redlatch_semaphore_release_if_exists(counted->semaphore, whole_of(call, "permits"), &released);
    return outcome(status, json_boolean(released));
}

static json_t *release_permit(const struct counted *counted, const json_t *call) {
    return outcome(redlatch_permit_semaphore_release(counted->permits, string_of(call, "id")), NULL);
}

static json_t *update_lease(const struct counted *counted, const json_t *call) {
    int64_t lease_ms = whole_of(call, "lease_ms");
    return outcome(redlatch_permit_semaphore_update_lease(counted->permits, string_of(call, "id"), lease_ms), NULL);
}

static json_t *try_set(const struct counted *counted, const json_t *call) {
    int64_t number = whole_of(call, "number");
    int64_t ttl_ms = json_object_get(call, "ttl_ms") ? whole_of(call, "ttl_ms") : REDLATCH_FOREVER;
    int32_t set = 0;
    int status = counted->semaphore ? redlatch_semaphore_try_set_permits(counted->semaphore, number, ttl_ms, &set)
                 : counted->latch   ? redlatch_latch_try_set_count(counted->latch, number, &set)
                                    : redlatch_permit_semaphore_try_set_permits(counted->permits, number, &set);
    return outcome(status, json_boolean(set));
}

static json_t *set_permits(const struct counted *counted, const json_t *call) {
    return outcome(redlatch_permit_semaphore_set_permits(counted->permits, whole_of(call, "permits")), NULL);
}

static json_t *add_permits(const struct counted *counted, const json_t *call) {
    int64_t permits = whole_of(call, "permits");
    return outcome(counted->semaphore ? redlatch_semaphore_add_permits(counted->semaphore, permits)
                                      : redlatch_permit_semaphore_add_permits(counted->permits, permits),
                   NULL);
}

static json_t *count_down(const struct counted *counted, const json_t *call) {
    (void)call;
    return outcome(redlatch_latch_count_down(counted->latch), NULL);
}

static json_t *delete(const struct counted *counted, const json_t *call) {
    (void)call;
    int32_t deleted = 0;
    int status = counted->semaphore ? redlatch_semaphore_delete(counted->semaphore, &deleted)
                 : counted->latch   ? redlatch_latch_delete(counted->latch, &deleted)
                                    : redlatch_permit_semaphore_delete(counted->permits, &deleted);
    return outcome(status, json_boolean(deleted));
}

/* ----------------------------------------------------------------------------------------------------- numbers -- */

static json_t *number(int status, int64_t value) {
    return outcome(status, json_integer((json_int_t)value));
}

static json_t *lease_of(const struct counted *counted, const json_t *call) {
    int64_t lease_ms = 0;
    int status = redlatch_permit_semaphore_lease_of(counted->permits, string_of(call, "id"), &lease_ms);
    return number(status, lease_ms);
}

static json_t *available(const struct counted *counted, const json_t *call) {
    (void)call;
    int64_t value = 0;
    int status = counted->semaphore ? redlatch_semaphore_available(counted->semaphore, &value)
                                    : redlatch_permit_semaphore_available(counted->permits, &value);
    return number(status, value);
}

static json_t *acquired(const struct counted *counted, const json_t *call) {
    (void)call;
    int64_t value = 0;
    int status = redlatch_permit_semaphore_acquired(counted->permits, &value);
    return number(status, value);
}

static json_t *all_permits(const struct counted *counted, const json_t *call) {
    (void)call;
    int64_t value = 0;
    int status = redlatch_permit_semaphore_permits(counted->permits, &value);
    return number(status, value);
}

static json_t *drain(const struct counted *counted, const json_t *call) {
    (void)call;
    int64_t value = 0;
    int status = redlatch_semaphore_drain(counted->semaphore, &value);
    return number(status, value);
}

static json_t *count(const struct counted *counted, const json_t *call) {
    (void)call;
    int64_t value = 0;
    int status = redlatch_latch_count(counted->latch, &value);
    return number(status, value);
}

json_t *call_counted(const struct counted *counted, const json_t *call) {
    static const struct {
        const char *name;
        json_t *(*make)(const struct counted *counted, const json_t *call);
    } methods[] = {
        {"acquire_permits", acquire_permits},
        {"wait", wait_open},
        {"release_permits", release_permits},
        {"release_if_exists", release_if_exists},
        {"release_permit", release_permit},
        {"update_lease", update_lease},
        {"lease_of", lease_of},
        {"try_set", try_set},
        {"set_permits", set_permits},
        {"add_permits", add_permits},
        {"count_down", count_down},
        {"delete", delete},
        {"available", available},
        {"acquired", acquired},
        {"permits", all_permits},
        {"drain", drain},
        {"count", count},
    };
    const char *name = string_of(call, "call");
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        if (strcmp(methods[i].name, name) == 0) {
            return methods[i].make(counted, call);
        }
    }
    misunderstood("there is no call %s", name);
}

/* ----------------------------------------------------------------------------------------------- started calls -- */

static int start_wait(const struct counted *counted, const json_t *call, uint64_t tag) {
    int64_t wait_ms = milliseconds_of(call, "wait_ms", "forever", REDLATCH_FOREVER);
    if (counted->latch) {
        return redlatch_latch_start_wait(counted->latch, wait_ms, tag);
    }
    int64_t permits = whole_of(call, "permits");
    return counted->semaphore
               ? redlatch_semaphore_start_acquire(counted->semaphore, permits, wait_ms, tag)
               : redlatch_permit_semaphore_start_acquire(counted->permits, permits, lease_of_call(call), wait_ms, tag);
}

static int start_latch_call(redlatch_latch *latch, const char *name, const json_t *call, uint64_t tag) {
    return strcmp(name, "try_set") == 0      ? redlatch_latch_start_try_set_count(latch, whole_of(call, "number"), tag)
           : strcmp(name, "count_down") == 0 ? redlatch_latch_start_count_down(latch, tag)
           : strcmp(name, "count") == 0      ? redlatch_latch_start_count(latch, tag)
                                             : redlatch_latch_start_delete(latch, tag);
}

static int start_semaphore_call(redlatch_semaphore *semaphore, const char *name, const json_t *call, uint64_t tag) {
    if (strcmp(name, "try_set") == 0) {
        int64_t ttl_ms = json_object_get(call, "ttl_ms") ? whole_of(call, "ttl_ms") : REDLATCH_FOREVER;
        return redlatch_semaphore_start_try_set_permits(semaphore, whole_of(call, "number"), ttl_ms, tag);
    }
    if (strcmp(name, "drain") == 0 || strcmp(name, "available") == 0 || strcmp(name, "delete") == 0) {
        return strcmp(name, "drain") == 0    ? redlatch_semaphore_start_drain(semaphore, tag)
               : strcmp(name, "delete") == 0 ? redlatch_semaphore_start_delete(semaphore, tag)
                                             : redlatch_semaphore_start_available(semaphore, tag);
    }
    int64_t permits = whole_of(call, "permits");
    return strcmp(name, "release_permits") == 0 ? redlatch_semaphore_start_release(semaphore, permits, tag)
           : strcmp(name, "add_permits") == 0   ? redlatch_semaphore_start_add_permits(semaphore, permits, tag)
                                                : redlatch_semaphore_start_release_if_exists(semaphore, permits, tag);
}

static int start_permits_call(redlatch_permit_semaphore *permits, const char *name, const json_t *call, uint64_t tag) {
    if (json_object_get(call, "id")) {
        const char *id = string_of(call, "id");
        return strcmp(name, "release_permit") == 0 ? redlatch_permit_semaphore_start_release_by_id(permits, id, tag)
               : strcmp(name, "lease_of") == 0
                   ? redlatch_permit_semaphore_start_lease_of(permits, id, tag)
                   : redlatch_permit_semaphore_start_update_lease(permits, id, whole_of(call, "lease_ms"), tag);
    }
    if (strcmp(name, "try_set") == 0) {
        return redlatch_permit_semaphore_start_try_set_permits(permits, whole_of(call, "number"), tag);
    }
    if (json_object_get(call, "permits")) {
        int64_t count = whole_of(call, "permits");
        return strcmp(name, "set_permits") == 0 ? redlatch_permit_semaphore_start_set_permits(permits, count, tag)
                                                : redlatch_permit_semaphore_start_add_permits(permits, count, tag);
    }
    return strcmp(name, "available") == 0  ? redlatch_permit_semaphore_start_available(permits, tag)
           : strcmp(name, "acquired") == 0 ? redlatch_permit_semaphore_start_acquired(permits, tag)
           : strcmp(name, "permits") == 0  ? redlatch_permit_semaphore_start_permits(permits, tag)
                                           : redlatch_permit_semaphore_start_delete(permits, tag);
}

int start_counted(const struct counted *counted, const json_t *call, uint64_t tag) {
    const char *name = string_of(call, "call");
    if (strcmp(name, "acquire_permits") == 0 || strcmp(name, "wait") == 0) {
        return start_wait(counted, call, tag);
    }
    return counted->latch       ? start_latch_call(counted->latch, name, call, tag)
           : counted->semaphore ? start_semaphore_call(counted->semaphore, name, call, tag)
                                : start_permits_call(counted->permits, name, call, tag);
}

json_t *counted_value(const struct counted *counted, const json_t *call, const redlatch_event *event) {
    static const char *const numbers[] = {"lease_of", "available", "acquired", "permits", "drain", "count"};
    static const char *const flags[] = {"try_set", "delete", "release_if_exists"};
    const char *name = string_of(call, "call");
    if (strcmp(name, "acquire_permits") == 0) {
        return ids_of(counted, event->serial, whole_of(call, "permits"));
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (strcmp(name, numbers[i]) == 0) {
            return json_integer((json_int_t)event->number);
        }
    }
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        if (strcmp(name, flags[i]) == 0) {
            return json_boolean(event->number);
        }
    }
    return NULL;
}
