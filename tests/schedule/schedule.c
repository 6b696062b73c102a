/* The actors and the clock.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "schedule.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sim_random.h"
#include "wrapped.h"
#include "wrapped_system.h"

enum { ACTORS_MAX = 1024, EVENTS_MAX = 4096 };

/* A schedule with more turns than this makes no progress. */
enum { TURNS_MAX = 4000000 };

struct actor {
    char name[24];
    actor_run *run;
    void *context;
    void (*at_end)(void *value); /* NULL: none */
    void *kept;
    pthread_t thread;
    pthread_cond_t turn;
    bool (*ready)(const void *context); /* NULL: it can go on */
    const void *awaited;
    int64_t until;
    bool ended;
};

struct event {
    int64_t at;
    uint64_t order;
    schedule_event *run;
    void *context;
    uint64_t number;
};

static struct {
    pthread_mutex_t baton; /* held by the running actor */
    pthread_cond_t over;
    struct actor actors[ACTORS_MAX];
    int actor_count;
    struct actor *running;
    uint64_t seed;
    int64_t now;
    struct event events[EVENTS_MAX];
    size_t event_count;
    uint64_t events_made;
    uint64_t turns;
    struct sim_random random;
    FILE *trace;
} schedule = {.baton = PTHREAD_MUTEX_INITIALIZER, .over = PTHREAD_COND_INITIALIZER};

static const int64_t MORNING = 1000000000;

void schedule_begin(uint64_t seed, FILE *trace_file) {
    schedule.actor_count = 0;
    schedule.running = NULL;
    schedule.now = MORNING;
    schedule.event_count = 0;
    schedule.turns = 0;
    schedule.seed = seed;
    schedule.random = (struct sim_random){seed};
    schedule.trace = trace_file;
}

static void give_up(const char *why) {
    fflush(schedule.trace);
    fprintf(stderr, "schedule: %s, at %lld us\n", why, (long long)(schedule.now - MORNING));
    abort();
}

uint64_t schedule_seed(void) {
    return schedule.seed;
}

int64_t schedule_now(void) {
    return schedule.now;
}

uint32_t schedule_draw(uint32_t bound) {
    return random_below(&schedule.random, bound);
}

bool schedule_chance(uint32_t per_thousand) {
    return random_chance(&schedule.random, per_thousand);
}

void trace(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(schedule.trace, "%lld %s: ", (long long)(schedule.now - MORNING),
            schedule.running ? schedule.running->name : "-");
    vfprintf(schedule.trace, format, arguments);
    fputc('\n', schedule.trace);
    va_end(arguments);
}

void schedule_at(int64_t at, schedule_event *run, void *context, uint64_t number) {
    if (schedule.event_count == EVENTS_MAX) {
        give_up("there is too much to happen");
    }
    size_t place = schedule.event_count++;
    struct event *events = schedule.events; /* the last element is the next event */
    while (place > 0 && events[place - 1].at <= at) {
        events[place] = events[place - 1];
        place--;
    }
    events[place] = (struct event){at, schedule.events_made++, run, context, number};
}

static void run_due(void) {
    while (schedule.event_count > 0 && schedule.events[schedule.event_count - 1].at <= schedule.now) {
        struct event event = schedule.events[--schedule.event_count];
        wrapped_memory_spare(true);
        event.run(event.context, event.number);
        wrapped_memory_spare(false);
    }
}

void schedule_spend(int64_t microseconds) {
    schedule.now += microseconds;
    run_due();
}

static bool can_go_on(const struct actor *actor) {
    return !actor->ready || actor->until <= schedule.now || actor->ready(actor->awaited);
}

/* Returns the next time at which an event happens or a wait ends. */
static int64_t next_time(void) {
    int64_t next = schedule.event_count > 0 ? schedule.events[schedule.event_count - 1].at : INT64_MAX;
    for (int i = 0; i < schedule.actor_count; i++) {
        struct actor *actor = &schedule.actors[i];
        if (!actor->ended && actor->until < next) {
            next = actor->until;
        }
    }
    return next;
}

/* Returns the actor that runs next, or NULL if all have ended. */
static struct actor *choose(void) {
    if (++schedule.turns > TURNS_MAX) {
        give_up("it turns and turns");
    }
    for (;;) {
        run_due();
        struct actor *able[ACTORS_MAX];
        uint32_t count = 0;
        int alive = 0;
        for (int i = 0; i < schedule.actor_count; i++) {
            struct actor *actor = &schedule.actors[i];
            alive += !actor->ended;
            if (!actor->ended && can_go_on(actor)) {
                able[count++] = actor;
            }
        }
        if (alive == 0) {
            return NULL;
        }
        if (count > 0) {
            return able[schedule_draw(count)];
        }
        int64_t next = next_time();
        if (next == INT64_MAX) {
            give_up("all wait for nothing");
        }
        schedule.now = next > schedule.now ? next : schedule.now;
    }
}

/* Gives the turn to another actor. Returns when this actor has the turn again, or if it has ended. */
static void hand_over(struct actor *self) {
    struct actor *next = choose();
    if (next == self) {
        return;
    }
    schedule.running = next;
    pthread_cond_signal(next ? &next->turn : &schedule.over);
    while (!self->ended && schedule.running != self) {
        pthread_cond_wait(&self->turn, &schedule.baton);
    }
}

bool actor_wait(bool (*ready)(const void *context), const void *context, int64_t until) {
    struct actor *self = schedule.running;
    self->ready = ready;
    self->awaited = context;
    self->until = until;
    hand_over(self);
    self->ready = NULL;
    self->until = INT64_MAX;
    return ready(context);
}

static bool never(const void *context) {
    (void)context;
    return false;
}

void actor_sleep(int64_t microseconds) {
    actor_wait(never, NULL, schedule.now + microseconds);
}

void actor_at_end(void (*end)(void *value), void *value) {
    schedule.running->at_end = end;
    schedule.running->kept = value;
}

static void *act(void *context) {
    struct actor *self = context;
    __real_pthread_mutex_lock(&schedule.baton);
    while (schedule.running != self) {
        pthread_cond_wait(&self->turn, &schedule.baton);
    }
    self->run(self->context);
    if (self->at_end) {
        self->at_end(self->kept);
    }
    trace("ends");
    self->ended = true;
    self->until = INT64_MAX;
    hand_over(self);
    __real_pthread_mutex_unlock(&schedule.baton);
    return NULL;
}

struct actor *actor_start(const char *name, actor_run *run, void *context) {
    if (schedule.actor_count == ACTORS_MAX) {
        give_up("there are too many actors");
    }
    struct actor *actor = &schedule.actors[schedule.actor_count++];
    *actor = (struct actor){.run = run, .context = context, .until = INT64_MAX};
    snprintf(actor->name, sizeof actor->name, "%s", name);
    pthread_cond_init(&actor->turn, NULL);
    if (pthread_create(&actor->thread, NULL, act, actor) != 0) {
        give_up("no thread can be had");
    }
    return actor;
}

static bool has_ended(const void *context) {
    return ((const struct actor *)context)->ended;
}

void actor_join(struct actor *actor) {
    actor_wait(has_ended, actor, INT64_MAX);
}

void schedule_play(void) {
    __real_pthread_mutex_lock(&schedule.baton);
    schedule.running = choose();
    if (schedule.running) {
        pthread_cond_signal(&schedule.running->turn);
    }
    while (schedule.running) {
        pthread_cond_wait(&schedule.over, &schedule.baton);
    }
    __real_pthread_mutex_unlock(&schedule.baton);
    for (int i = 0; i < schedule.actor_count; i++) {
        __real_pthread_join(schedule.actors[i].thread, NULL);
        pthread_cond_destroy(&schedule.actors[i].turn);
    }
    while (schedule.event_count > 0) { /* bytes on their way arrive */
        schedule.now = schedule.events[schedule.event_count - 1].at;
        run_due();
    }
}
