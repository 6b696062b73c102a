/* The C driver: reads calls as lines of JSON from the standard input, makes them through redlatch.h and answers each
 * with a line of JSON. It only translates; ../../README.md describes the vocabulary.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   conformance_c                by blocking calls; actors are threads
 *   conformance_c asynchronous   by started calls and their events; actors are explicit owners, all on one thread */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver_actors.h"
#include "driver_counts.h"
#include "driver_inspect.h"
#include "driver_json.h"
#include "driver_methods.h"
#include "driver_objects.h"
#include "driver_owners.h"

static bool asynchronous;

static struct target target_of(const json_t *call) {
    if (is_inspect(call)) {
        return (struct target){.client = client_named(call)};
    }
    const struct counted *counted = counted_of(call);
    if (counted) {
        return (struct target){.client = counted_client(counted), .counted = counted};
    }
    return (struct target){.client = client_of(call), .lock = lock_of(call)};
}

/* A call on a lock, on a counted object or about a name, by the main thread or an actor. */
static json_t *on_target(json_t *call) {
    struct target target = target_of(call);
    if (asynchronous) {
        return owner_call(&target, call);
    }
    if (!json_object_get(call, "by")) {
        return call_target(&target, 0, call);
    }
    struct actor *actor = actor_of(string_of(call, "by"), true);
    actor_start(actor, &target, call);
    return json_object_get(call, "start") ? json_pack("{s:b}", "started", 1) : actor_finish(actor);
}

/* A call about an actor itself: finish, is_waiting or leave. */
static json_t *of_actor(const char *what, const char *actor) {
    if (strcmp(what, "finish") == 0) {
        return asynchronous ? owner_finish(actor) : actor_finish(actor_of(actor, false));
    }
    if (strcmp(what, "is_waiting") == 0) {
        bool waiting = asynchronous ? owner_is_waiting(actor) : actor_is_waiting(actor_of(actor, false));
        return outcome(REDLATCH_OK, json_boolean(waiting));
    }
    if (asynchronous) {
        owner_leave(actor);
    } else {
        actor_leave(actor_of(actor, false));
    }
    return outcome(REDLATCH_OK, NULL);
}

/* The end of a trace. Closing the clients ends the calls that still wait. */
static void forget(void) {
    objects_close();
    actors_leave();
    owners_leave();
    counted_free();
    objects_free();
}

static json_t *answer_to(json_t *call) {
    const char *name = string_of(call, "call");
    if (strcmp(name, "reset") == 0) {
        forget();
        return json_pack("{s:b}", "reset", 1);
    }
    if (strcmp(name, "open") == 0) {
        return call_open(call);
    }
    if (strcmp(name, "close") == 0) {
        return call_close(call);
    }
    if (strcmp(name, "lock") == 0) {
        return call_lock(call);
    }
    if (strcmp(name, "multi_lock") == 0 || strcmp(name, "redlock") == 0) {
        return call_composite(call);
    }
    if (strcmp(name, "free") == 0) {
        return call_free(call);
    }
    if (strcmp(name, "is_waiting") == 0 || strcmp(name, "finish") == 0 || strcmp(name, "leave") == 0) {
        return of_actor(name, string_of(call, "by"));
    }
    if (strcmp(name, "semaphore") == 0 || strcmp(name, "permit_semaphore") == 0 || strcmp(name, "latch") == 0) {
        return call_counted_new(call);
    }
    return on_target(call);
}

int main(int argc, char **argv) {
    asynchronous = argc == 2 && strcmp(argv[1], "asynchronous") == 0;
    if (argc > 1 && !asynchronous) {
        misunderstood("the argument is %s; expected none, or asynchronous", argv[1]);
    }
    json_object_seed(0); /* before there are threads */
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) != -1) {
        json_error_t error;
        json_t *call = json_loads(line, JSON_ALLOW_NUL, &error);
        if (!call) {
            misunderstood("a line that is no JSON: %s", error.text);
        }
        json_t *answer = answer_to(call);
        char *text = answer ? json_dumps(answer, JSON_COMPACT) : NULL;
        if (!text) {
            misunderstood("an answer that cannot be written as JSON");
        }
        puts(text);
        fflush(stdout);
        free(text);
        json_decref(answer);
        json_decref(call);
    }
    free(line);
    forget();
    return 0;
}
