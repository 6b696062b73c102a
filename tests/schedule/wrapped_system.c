/* Threads, mutexes, futexes, the clock and random numbers of the schedule.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "wrapped_system.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "schedule.h"
#include "wrapped.h"

enum { MUTEXES_MAX = 64, THREADS_MAX = 1024 };

/* An actor that sleeps on a futex. It is on the actor's stack. */
struct sleeper {
    const _Atomic uint32_t *futex;
    bool woken;
    struct sleeper *next;
};

struct started_thread {
    void *(*run)(void *);
    void *argument;
    struct actor *actor;
};

static struct {
    const pthread_mutex_t *locked[MUTEXES_MAX];
    struct sleeper *sleepers; /* in the order of their arrival */
    struct started_thread threads[THREADS_MAX];
    size_t thread_count;
    const char *failing; /* NULL: no function */
    int turn;
} now;

static void (*at_thread_end)(void *value); /* set once in a process */

void wrapped_system_begin(void) {
    memset(&now, 0, sizeof now);
}

void wrapped_system_fail(const char *function, int turn) {
    now.failing = function;
    now.turn = turn;
}

bool wrapped_system_fails(const char *function) {
    bool fails = now.failing && strcmp(now.failing, function) == 0 && --now.turn == 0;
    if (fails) {
        trace("%s fails", function);
        errno = EMFILE;
    }
    return fails;
}

static const pthread_mutex_t **place_of(const pthread_mutex_t *mutex) {
    for (int i = 0; i < MUTEXES_MAX; i++) {
        if (now.locked[i] == mutex) {
            return &now.locked[i];
        }
    }
    return NULL;
}

static bool is_unlocked(const void *context) {
    return place_of(context) == NULL;
}

/* Sometimes another actor runs first, although the mutex is free. */
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex) {
    if (!is_unlocked(mutex) || schedule_chance(60)) {
        actor_wait(is_unlocked, mutex, INT64_MAX);
    }
    *place_of(NULL) = mutex;
    return 0;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex) {
    *place_of(mutex) = NULL;
    return 0;
}

int64_t __wrap_system_now(void) {
    return schedule_now();
}

static bool was_woken(const void *context) {
    return ((const struct sleeper *)context)->woken;
}

void __wrap_system_wait(_Atomic uint32_t *futex, uint32_t expected, int64_t until) {
    trace("waits for %lld", until == INT64_MAX ? -1LL : (long long)(until - schedule_now()));
    if (atomic_load(futex) != expected) {
        return;
    }
    struct sleeper sleeper = {.futex = futex};
    struct sleeper **last = &now.sleepers;
    while (*last) {
        last = &(*last)->next;
    }
    *last = &sleeper;
    actor_wait(was_woken, &sleeper, until);
    for (last = &now.sleepers; *last != &sleeper;) {
        last = &(*last)->next;
    }
    *last = sleeper.next;
    trace(sleeper.woken ? "is woken" : "has waited");
}

static void wake(const _Atomic uint32_t *futex, bool all) {
    int woken = 0;
    for (struct sleeper *sleeper = now.sleepers; sleeper && (all || woken == 0); sleeper = sleeper->next) {
        if (sleeper->futex == futex && !sleeper->woken) {
            sleeper->woken = true;
            woken++;
        }
    }
    trace("wakes %d", woken);
}

void __wrap_system_wake(_Atomic uint32_t *futex) {
    wake(futex, false);
}

void __wrap_system_wake_all(_Atomic uint32_t *futex) {
    wake(futex, true);
}

static bool at_once(const void *context) {
    (void)context;
    return true;
}

void __wrap_system_yield(void) {
    schedule_spend(1);
    actor_wait(at_once, NULL, INT64_MAX);
}

bool __wrap_system_random(void *bytes, size_t size) {
    if (wrapped_system_fails("system_random")) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        ((unsigned char *)bytes)[i] = (unsigned char)schedule_draw(256);
    }
    return true;
}

int __wrap_system_processors(void) {
    return 4;
}

void __wrap_system_thread_name(const char *name) {
    trace("is named %s", name);
}

static void run_thread(void *context) {
    struct started_thread *thread = context;
    thread->run(thread->argument);
}

bool __wrap_system_thread_start(pthread_t *thread_out, void *(*run)(void *), void *argument) {
    if (now.thread_count == THREADS_MAX) {
        abort();
    }
    if (wrapped_system_fails("system_thread_start")) {
        return false;
    }
    struct started_thread *thread = &now.threads[now.thread_count];
    *thread = (struct started_thread){.run = run, .argument = argument};
    thread->actor = actor_start(now.thread_count == 0 ? "background" : "background'", run_thread, thread);
    *thread_out = (pthread_t)++now.thread_count;
    return true;
}

int __wrap_pthread_join(pthread_t thread, void **result) {
    (void)result;
    actor_join(now.threads[(size_t)thread - 1].actor);
    return 0;
}

int __wrap_pthread_detach(pthread_t thread) {
    (void)thread;
    return 0;
}

/* There is only one key. The schedule runs its destructor. */
int __wrap_pthread_key_create(pthread_key_t *key, void (*end)(void *value)) {
    *key = 0;
    at_thread_end = end;
    return 0;
}

int __wrap_pthread_setspecific(pthread_key_t key, const void *value) {
    (void)key;
    if (wrapped_system_fails("pthread_setspecific")) {
        return ENOMEM;
    }
    actor_at_end(at_thread_end, (void *)(uintptr_t)value);
    return 0;
}

int __wrap_gethostname(char *name, size_t size) {
    if (wrapped_system_fails("gethostname")) {
        return -1;
    }
    strncpy(name, "host", size);
    return 0;
}

pid_t __wrap_getpid(void) {
    return 4711;
}
