/* Threads that take one call at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "driver_actors.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "driver_json.h"

struct actor {
    struct actor *next;
    char *name;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct target target;
    json_t *call;    /* the call to make, or in progress */
    json_t *outcome; /* the outcome of the last call, until it is fetched */
    bool leaving;
};

static struct actor *actors;

static void *act(void *argument) {
    struct actor *actor = argument;
    pthread_mutex_lock(&actor->mutex);
    while (true) {
        while (!actor->call && !actor->leaving) {
            pthread_cond_wait(&actor->changed, &actor->mutex);
        }
        if (!actor->call) {
            pthread_mutex_unlock(&actor->mutex);
            return NULL;
        }
        pthread_mutex_unlock(&actor->mutex);
        json_t *outcome = call_target(&actor->target, 0, actor->call);
        pthread_mutex_lock(&actor->mutex);
        json_decref(actor->call);
        actor->call = NULL;
        actor->outcome = outcome;
        pthread_cond_broadcast(&actor->changed);
    }
}

struct actor *actor_of(const char *name, bool make) {
    for (struct actor *actor = actors; actor; actor = actor->next) {
        if (strcmp(actor->name, name) == 0) {
            return actor;
        }
    }
    struct actor *actor = make ? calloc(1, sizeof *actor) : NULL;
    if (!actor || !(actor->name = strdup(name))) {
        misunderstood("no actor is called %s, or there is no memory for one", name);
    }
    pthread_mutex_init(&actor->mutex, NULL);
    pthread_cond_init(&actor->changed, NULL);
    if (pthread_create(&actor->thread, NULL, act, actor) != 0) {
        misunderstood("no thread to be had for the actor %s", name);
    }
    actor->next = actors;
    actors = actor;
    return actor;
}

void actor_start(struct actor *actor, const struct target *target, json_t *call) {
    pthread_mutex_lock(&actor->mutex);
    if (actor->call || actor->outcome) {
        misunderstood("the actor %s has a call that is not finished", actor->name);
    }
    actor->target = *target;
    actor->call = json_deep_copy(call); /* only this actor counts its references */
    if (!actor->call) {
        misunderstood("no memory for a call of the actor %s", actor->name);
    }
    pthread_cond_broadcast(&actor->changed);
    pthread_mutex_unlock(&actor->mutex);
}

json_t *actor_finish(struct actor *actor) {
    pthread_mutex_lock(&actor->mutex);
    if (!actor->call && !actor->outcome) {
        misunderstood("the actor %s has begun no call", actor->name);
    }
    while (!actor->outcome) {
        pthread_cond_wait(&actor->changed, &actor->mutex);
    }
    json_t *outcome = actor->outcome;
    actor->outcome = NULL;
    pthread_mutex_unlock(&actor->mutex);
    return outcome;
}

bool actor_is_waiting(struct actor *actor) {
    pthread_mutex_lock(&actor->mutex);
    bool waiting = actor->call != NULL;
    pthread_mutex_unlock(&actor->mutex);
    return waiting;
}

void actor_leave(struct actor *actor) {
    pthread_mutex_lock(&actor->mutex);
    actor->leaving = true;
    pthread_cond_broadcast(&actor->changed);
    pthread_mutex_unlock(&actor->mutex);
    pthread_join(actor->thread, NULL);
    struct actor **place = &actors;
    while (*place != actor) {
        place = &(*place)->next;
    }
    *place = actor->next;
    json_decref(actor->outcome);
    pthread_cond_destroy(&actor->changed);
    pthread_mutex_destroy(&actor->mutex);
    free(actor->name);
    free(actor);
}

void actors_leave(void) {
    while (actors) {
        actor_leave(actors);
    }
}
