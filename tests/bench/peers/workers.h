/* Threads that do pairs (an acquire and a release) for a given time, and how many they did.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every thread opens its state, warms up for a tenth of the time, meets the others at a barrier, and works until the
 * time is over. A single one works on the program's own thread, so that a one-thread figure has no other thread in it.
 */
#ifndef BENCH_WORKERS_H
#define BENCH_WORKERS_H

#include "measure.h"

#include <inttypes.h>
#include <pthread.h>

typedef struct workers_work {
    void *(*open)(void *shared, int number); /* the state of one thread */
    void (*pair)(void *state);
    void (*close)(void *state);
    void *shared;
} workers_work;

struct workers {
    const workers_work *work;
    int threads;
    int64_t duration_ns;
    int64_t deadline_ns;
    pthread_barrier_t ready;
    pthread_barrier_t begun;
    pthread_barrier_t ended;
    pthread_barrier_t left;
};

typedef struct worker {
    struct workers *workers;
    pthread_t thread;
    int number;
    uint64_t pairs;
    uint64_t warm_pairs;
} worker;

static inline uint64_t workers_pairs_until(const workers_work *work, void *state, int64_t deadline_ns) {
    uint64_t pairs = 0;
    while (now_ns() < deadline_ns) {
        work->pair(state);
        pairs++;
    }
    return pairs;
}

static inline void *worker_run(void *member_of_workers) {
    worker *member = member_of_workers;
    struct workers *workers = member->workers;
    const workers_work *work = workers->work;
    void *state = work->open(work->shared, member->number);
    member->warm_pairs = workers_pairs_until(work, state, now_ns() + workers->duration_ns / 10);
    pthread_barrier_wait(&workers->ready);
    pthread_barrier_wait(&workers->begun);
    member->pairs = workers_pairs_until(work, state, workers->deadline_ns);
    pthread_barrier_wait(&workers->ended);
    pthread_barrier_wait(&workers->left);
    work->close(state);
    return NULL;
}

static inline void workers_print(const worker *members, int threads, double seconds, double cpu_seconds) {
    uint64_t pairs = 0;
    uint64_t warm_pairs = 0;
    for (int i = 0; i < threads; i++) {
        pairs += members[i].pairs;
        warm_pairs += members[i].warm_pairs;
    }
    printf("{\"pairs\": %" PRIu64 ", \"warm_pairs\": %" PRIu64, pairs, warm_pairs);
    printf(", \"seconds\": %.6f, \"cpu_seconds\": %.6f, \"per_thread\": [", seconds, cpu_seconds);
    for (int i = 0; i < threads; i++) {
        printf("%s%" PRIu64, i == 0 ? "" : ", ", members[i].pairs);
    }
    printf("]}\n");
}

static inline void workers_run_alone(struct workers *workers, worker *member) {
    const workers_work *work = workers->work;
    void *state = work->open(work->shared, 0);
    member->warm_pairs = workers_pairs_until(work, state, now_ns() + workers->duration_ns / 10);
    const double cpu_before = process_cpu_seconds();
    const int64_t start_ns = now_ns();
    member->pairs = workers_pairs_until(work, state, start_ns + workers->duration_ns);
    const double seconds = (double)(now_ns() - start_ns) / 1e9;
    const double cpu_seconds = process_cpu_seconds() - cpu_before;
    work->close(state);
    workers_print(member, 1, seconds, cpu_seconds);
}

static inline void workers_run_threads(struct workers *workers, worker *members) {
    const unsigned meeting = (unsigned)workers->threads + 1;
    pthread_barrier_init(&workers->ready, NULL, meeting);
    pthread_barrier_init(&workers->begun, NULL, meeting);
    pthread_barrier_init(&workers->ended, NULL, meeting);
    pthread_barrier_init(&workers->left, NULL, meeting);
    for (int i = 0; i < workers->threads; i++) {
        if (pthread_create(&members[i].thread, NULL, worker_run, &members[i]) != 0) {
            give_up("cannot start thread %d of %d", i + 1, workers->threads);
        }
    }
    pthread_barrier_wait(&workers->ready);
    const double cpu_before = process_cpu_seconds();
    const int64_t start_ns = now_ns();
    workers->deadline_ns = start_ns + workers->duration_ns;
    pthread_barrier_wait(&workers->begun);
    pthread_barrier_wait(&workers->ended);
    const double seconds = (double)(now_ns() - start_ns) / 1e9;
    const double cpu_seconds = process_cpu_seconds() - cpu_before;
    pthread_barrier_wait(&workers->left);
    for (int i = 0; i < workers->threads; i++) {
        pthread_join(members[i].thread, NULL);
    }
    workers_print(members, workers->threads, seconds, cpu_seconds);
}

/* Runs the threads and prints the result as one line of JSON. */
static inline void workers_run(const workers_work *work, int threads, double seconds) {
    if (threads < 1 || !(seconds > 0)) {
        give_up("expected at least one thread and some time, not %d threads and %g seconds", threads, seconds);
    }
    struct workers workers = {.work = work, .threads = threads, .duration_ns = (int64_t)(seconds * 1e9)};
    worker *members = calloc((size_t)threads, sizeof *members);
    if (members == NULL) {
        give_up("no memory for %d threads", threads);
    }
    for (int i = 0; i < threads; i++) {
        members[i].workers = &workers;
        members[i].number = i;
    }
    if (threads == 1) {
        workers_run_alone(&workers, members);
    } else {
        workers_run_threads(&workers, members);
    }
    free(members);
}

#endif
