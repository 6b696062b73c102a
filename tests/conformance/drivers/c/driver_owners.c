/* Explicit owners, the calls that they have started, and the events that complete these calls.
 * SPDX-License-Identifier: Apache-2.0 */
#include "driver_owners.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver_inspect.h"
#include "driver_json.h"
#include "driver_methods.h"

enum { OWNERS = 16, NAME_SIZE = 32 };

struct owner {
    char name[NAME_SIZE];
    uint64_t number; /* 0: the entry is free */
    redlatch_client *client;
    const struct counted *counted; /* the object of the started call; NULL if that is a lock */
    json_t *call;                  /* the started call */
    uint64_t tag;                  /* of the started call; 0: there is none */
    redlatch_scan *walk;           /* the scan, if the started call is one; else NULL */
    json_t *found;                 /* the reports of the scan so far */
    json_t *outcome;               /* of the completed call, until it is fetched */
};

static struct owner owners[OWNERS];

static struct owner *owner_of(const char *name, bool make) {
    struct owner *free_one = NULL;
    for (size_t i = 0; i < OWNERS; i++) {
        if (owners[i].number && strcmp(owners[i].name, name) == 0) {
            return &owners[i];
        }
        if (!owners[i].number) {
            free_one = &owners[i];
        }
    }
    size_t size = strlen(name);
    if (!make || !free_one || size >= NAME_SIZE || redlatch_owner_new(&free_one->number) != REDLATCH_OK) {
        misunderstood("no owner is called %s, or there is no place for one", name);
    }
    memcpy(free_one->name, name, size + 1);
    return free_one;
}

/* Returns the value of a call that succeeded. */
static json_t *value_of(const struct owner *owner, const redlatch_event *event) {
    if (owner->counted) {
        return counted_value(owner->counted, owner->call, event);
    }
    if (event->state) {
        return shown_state(event->state);
    }
    if (event->report) {
        return shown_report(event->report);
    }
    return strcmp(string_of(owner->call, "call"), "force_release") == 0 ? json_boolean(event->number) : NULL;
}

static json_t *outcome_of(const struct owner *owner, const redlatch_event *event) {
    if (event->status == REDLATCH_OK) {
        return outcome(REDLATCH_OK, owner->walk ? json_incref(owner->found) : value_of(owner, event));
    }
    return json_pack("{s:s, s:s}", "status", redlatch_status_name(event->status), "message", event->message);
}

static void done(struct owner *owner, json_t *outcome) {
    owner->tag = 0;
    owner->outcome = outcome;
    json_decref(owner->call);
    owner->call = NULL;
    redlatch_scan_free(owner->walk);
    owner->walk = NULL;
    json_decref(owner->found);
    owner->found = NULL;
}

/* Starts the next step of a scan, as long as there are more locks. Returns false if the call is no scan, or is done. */
static bool walks_on(struct owner *owner, const redlatch_event *event) {
    if (!owner->walk || (event->status != REDLATCH_AGAIN && !event->report)) {
        return false;
    }
    if (event->report) {
        json_array_append_new(owner->found, shown_report(event->report));
    }
    int status = redlatch_scan_start_next(owner->walk, owner->tag);
    if (status != REDLATCH_OK) {
        done(owner, outcome(status, NULL));
    }
    return true;
}

/* A closed client has no more events: all its started calls have ended. */
static void client_ended(redlatch_client *client, int status) {
    for (size_t i = 0; i < OWNERS; i++) {
        if (owners[i].tag && owners[i].client == client) {
            done(&owners[i], outcome(status, NULL));
        }
    }
}

/* Collects all events of a client, after waiting up to `wait_ms` for the first. */
static void collect(redlatch_client *client, int wait_ms) {
    struct pollfd readable = {.fd = -1, .events = POLLIN};
    int status = redlatch_client_event_fd(client, &readable.fd);
    if (status == REDLATCH_OK) {
        poll(&readable, 1, wait_ms);
    }
    while (status == REDLATCH_OK) {
        redlatch_event event = {.struct_size = sizeof event};
        status = redlatch_client_next_event(client, &event);
        for (size_t i = 0; status == REDLATCH_OK && i < OWNERS; i++) {
            if (event.tag && owners[i].tag == event.tag && !walks_on(&owners[i], &event)) {
                done(&owners[i], outcome_of(&owners[i], &event));
            }
        }
    }
    if (status != REDLATCH_AGAIN) {
        client_ended(client, status);
    }
}

static json_t *fetch(struct owner *owner) {
    while (owner->tag) {
        collect(owner->client, -1);
    }
    json_t *outcome = owner->outcome;
    if (!outcome) {
        misunderstood("the owner %s has started no call", owner->name);
    }
    owner->outcome = NULL;
    return outcome;
}

static int start(redlatch_lock *lock, const struct owner *owner, uint64_t tag, const json_t *call) {
    const char *name = string_of(call, "call");
    if (strcmp(name, "acquire") == 0) {
        bool leased = json_object_get(call, "lease_ms") != NULL;
        int64_t lease_ms = leased ? milliseconds_of(call, "lease_ms", "renewed", REDLATCH_RENEWED)
                                  : REDLATCH_LEASE_OF_LOCK;
        int64_t wait_ms = milliseconds_of(call, "wait_ms", "forever", REDLATCH_FOREVER);
        return redlatch_lock_start_acquire(lock, owner->number, lease_ms, wait_ms, tag);
    }
    if (strcmp(name, "try_acquire") == 0) {
        return redlatch_lock_start_acquire(lock, owner->number, REDLATCH_LEASE_OF_LOCK, 0, tag);
    }
    if (strcmp(name, "release") == 0) {
        return redlatch_lock_start_release_with(lock, owner->number, confirm_of(call), tag);
    }
    if (strcmp(name, "extend") == 0) {
        int64_t lease_ms = milliseconds_of(call, "lease_ms", NULL, 0);
        return redlatch_lock_start_extend(lock, owner->number, lease_ms, tag);
    }
    return strcmp(name, "query") == 0 ? redlatch_lock_start_query(lock, tag)
                                      : redlatch_lock_start_force_release(lock, tag);
}

static int start_scan(struct owner *owner, redlatch_client *client, const json_t *call, uint64_t tag) {
    struct text pattern = text_of(call, "name");
    int status = redlatch_scan_new(client, pattern.bytes, pattern.size, &owner->walk);
    free(pattern.bytes);
    owner->found = json_array();
    return status == REDLATCH_OK ? redlatch_scan_start_next(owner->walk, tag) : status;
}

json_t *owner_call(const struct target *target, const json_t *call) {
    static uint64_t last_tag;
    struct owner *owner = owner_of(json_object_get(call, "by") ? string_of(call, "by") : "", true);
    if (owner->tag || owner->outcome) {
        misunderstood("the owner %s has a call that is not finished", owner->name);
    }
    int fd;
    /* The first call of redlatch_client_event_fd makes a client keep its events. If the client is closed, the call
     * below fails. */
    redlatch_client_event_fd(target->client, &fd);
    const char *name = string_of(call, "call");
    if (strcmp(name, "hold") == 0) { /* answered without the server */
        return call_target(target, owner->number, call);
    }
    uint64_t tag = ++last_tag;
    int status = target->counted             ? start_counted(target->counted, call, tag)
                 : target->lock              ? start(target->lock, owner, tag, call)
                 : strcmp(name, "scan") == 0 ? start_scan(owner, target->client, call, tag)
                                             : start_inspect(target->client, call, tag);
    owner->counted = target->counted;
    owner->call = json_deep_copy(call);
    owner->client = target->client;
    owner->tag = tag;
    if (status != REDLATCH_OK) {
        done(owner, outcome(status, NULL));
    }
    return json_object_get(call, "start") ? json_pack("{s:b}", "started", 1) : fetch(owner);
}

json_t *owner_finish(const char *name) {
    return fetch(owner_of(name, false));
}

bool owner_is_waiting(const char *name) {
    struct owner *owner = owner_of(name, false);
    if (owner->tag) {
        collect(owner->client, 0);
    }
    return owner->tag != 0;
}

static void leave(struct owner *owner) {
    redlatch_owner_end(owner->number);
    json_t *outcome = owner->outcome;
    done(owner, NULL);
    json_decref(outcome);
    memset(owner, 0, sizeof *owner);
}

void owner_leave(const char *name) {
    leave(owner_of(name, false));
}

void owners_leave(void) {
    for (size_t i = 0; i < OWNERS; i++) {
        if (owners[i].number) {
            leave(&owners[i]);
        }
    }
}
