/* The worker in C: threads that take their turns until the end.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   soak_worker URL,URL,URL HISTORY PLAN LABEL END      END in nanoseconds of CLOCK_MONOTONIC */
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <redlatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "soak_journal.h"
#include "soak_plan.h"
#include "soak_takers.h"
#include "soak_witness.h"

enum {
    RECHECK_US = 100000,   /* a long hold is queried this often */
    RETRY_US = 20000,      /* pause after a failure, when an immediate retry would fail, too */
    RESOLVED_US = 4000000, /* commands in progress end within this time */
    ID_SIZE = 96
};

static struct clients clients;
static struct plan plan;
static const char *label;
static int64_t the_end;

static void pause_for(int64_t microseconds) {
    struct timespec span = {microseconds / 1000000, microseconds % 1000000 * 1000};
    nanosleep(&span, NULL);
}

/* Stays in the hold and queries it from time to time. Acquires and releases the inner levels. */
static void stay(struct taker *taker, const char *id) {
    const struct turn *turn = taker->turn;
    for (int level = 1; taker->shape->again && level < turn->levels; level++) {
        if (!taker->shape->again(taker)) {
            say("lost", id, "%s", "");
        }
    }
    for (int64_t left = turn->hold_us; left > 0; left -= RECHECK_US) {
        pause_for(left < RECHECK_US ? left : RECHECK_US);
        if (left > RECHECK_US) {
            int64_t at = now_ns();
            int64_t safe = taker->shape->safe(taker);
            say_at(at, safe > 0 ? "still" : "lost", id, ",\"until\":%" PRId64, at + safe);
        }
    }
    if (taker->shape->leave_inner) {
        taker->shape->leave_inner(taker);
    }
}

/* After a grant: writes it to the history, holds it and releases it. */
static void enjoy(struct taker *taker) {
    int64_t got = now_ns();
    int64_t safe = taker->shape->safe(taker);
    char facts[300] = "";
    taker->shape->tell(taker, facts, sizeof facts);
    say_at(got, "got", taker->id, ",\"until\":%" PRId64 "%s", got + safe, facts);
    if (taker->shape->give) {
        struct sections sections;
        witness_enter(&sections, &plan, taker->turn, taker->id);
        stay(taker, taker->id);
        witness_leave(&sections);
        say("give", taker->id, "%s", "");
        int status = taker->shape->give(taker);
        say("gave", taker->id, ",\"why\":\"%s\"", redlatch_status_name(status));
    }
}

static void play(const struct turn *turn, const char *id) {
    const struct kind *kind = turn->kind;
    char name[NAME_SIZE + 24];
    snprintf(name, sizeof name, "%s", turn->name);
    if (kind->epoch_ms > 0) {
        snprintf(name, sizeof name, "%s:%" PRId64, turn->name, now_ns() / (kind->epoch_ms * 1000000));
    }
    struct taker taker = {.shape = shape_of(turn), .plan = &plan, .turn = turn, .name = name, .id = id, .permits = 1};
    int status = taker.shape->open(&taker, &clients);
    if (status != REDLATCH_OK) {
        give_up("%s of %s: %s", kind->name, name, redlatch_last_error());
    }
    if (!taker.shape->prepare || taker.shape->prepare(&taker)) {
        say("ask", id, ",\"kind\":\"%s\",\"name\":\"%s\",\"wait\":%" PRId64 ",\"lease\":%" PRId64 ",\"n\":%d",
            kind->name, name, turn->wait_ms, turn->lease_ms, taker.permits);
        status = taker.shape->take(&taker);
        if (status == REDLATCH_OK) {
            enjoy(&taker);
        } else {
            say("not", id, ",\"why\":\"%s\"", redlatch_status_name(status));
            pause_for(status == REDLATCH_TIMEOUT ? 0 : RETRY_US);
        }
    }
    taker.shape->close(&taker);
}

static void *work(void *number) {
    int thread = *(int *)number;
    const char *incarnation = strrchr(label, '.');
    int at = incarnation ? 37 * atoi(incarnation + 1) : 0; /* a new incarnation begins elsewhere in its plan */
    for (int turn = 0; now_ns() < the_end; turn++) {
        const struct turn *next = &plan.turn[thread][(at + turn) % plan.turns[thread]];
        char id[ID_SIZE];
        snprintf(id, sizeof id, "%s.%d.%d", label, thread, turn);
        play(next, id);
        pause_for(next->gap_us);
    }
    return NULL;
}

/* Opens a client for each URL. Cuts the text into pieces. */
static void open_clients(char *urls) {
    redlatch_client_options options;
    redlatch_client_options_init(&options, sizeof options);
    options.lazy = 1; /* a server may be down when a process is started in place of a killed one */
    options.watchdog_lease_ms = plan.lease_ms;
    options.fair_timeout_ms = plan.lease_ms;
    options.command_timeout_ms = plan.command_timeout_ms;
    char *rest = NULL;
    for (char *url = strtok_r(urls, ",", &rest); url; url = strtok_r(NULL, ",", &rest)) {
        if (clients.count == SERVERS_MAX) {
            give_up("more than %d servers", SERVERS_MAX);
        }
        if (redlatch_client_open(url, &options, &clients.of[clients.count++]) != REDLATCH_OK) {
            give_up("cannot open %s: %s", url, redlatch_last_error());
        }
    }
}

/* Counts the holds and waits that the clients still have. */
static void count_remains(uint64_t *held, uint64_t *waiters) {
    *held = *waiters = 0;
    for (int i = 0; i < clients.count; i++) {
        redlatch_stats stats = {.struct_size = sizeof stats};
        redlatch_client_stats(clients.of[i], &stats);
        *held += stats.held;
        *waiters += stats.waiters;
    }
}

static void close_clients(void) {
    uint64_t held = 0;
    uint64_t waiters = 0;
    count_remains(&held, &waiters);
    for (int64_t waited = 0; held + waiters > 0 && waited < RESOLVED_US; waited += RETRY_US) {
        pause_for(RETRY_US);
        count_remains(&held, &waiters);
    }
    for (int i = 0; i < clients.count; i++) {
        redlatch_client_free(clients.of[i]);
    }
    say("ended", "", ",\"held\":%" PRIu64 ",\"waiters\":%" PRIu64, held, waiters);
}

int main(int argc, char **argv) {
    if (argc != 6) {
        give_up("usage: soak_worker URL,URL,URL HISTORY PLAN LABEL END");
    }
    journal_open(argv[2]);
    plan_read(&plan, argv[3]);
    label = argv[4];
    the_end = strtoll(argv[5], NULL, 10);
    say("born", "", ",\"process\":\"%s\",\"language\":\"c\"", label);
    open_clients(argv[1]);
    pthread_t threads[THREADS_MAX];
    int numbers[THREADS_MAX];
    for (int i = 0; i < plan.threads; i++) {
        numbers[i] = i;
        if (pthread_create(&threads[i], NULL, work, &numbers[i]) != 0) {
            give_up("cannot start a thread");
        }
    }
    for (int i = 0; i < plan.threads; i++) {
        pthread_join(threads[i], NULL);
    }
    close_clients();
    plan_free(&plan);
    return 0;
}
