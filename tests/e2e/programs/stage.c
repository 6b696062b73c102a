/* Plays scenes by name; checks, threads and events for them.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "stage.h"

#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "witness.h"

enum { NAMES = 8 };

static char url[300];
static char prefix[200];
static const char *current = "";

_Noreturn void stage_fail(const char *file, int line, const char *condition, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s, at %s:%d: expected %s: ", current, file, line, condition);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    witness_end_server();
    _Exit(1);
}

void stage_status(const char *file, int line, const char *call, int status, int expected) {
    if (status != expected) {
        stage_fail(file, line, call, "got %s (%s), expected %s", redlatch_status_name(status), redlatch_last_error(),
                   redlatch_status_name(expected));
    }
}

const char *stage_url(void) {
    return url;
}

const char *stage_name(int number) {
    static _Thread_local char names[NAMES][300];
    char *name = names[number % NAMES];
    snprintf(name, sizeof names[0], "%s:%s:%d", prefix, current, number);
    return name;
}

int64_t now_ms(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

void sleep_ms(int64_t ms) {
    struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};
    while (nanosleep(&time, &time) != 0) {
    }
}

redlatch_client_options client_defaults(void) {
    redlatch_client_options options;
    OK(redlatch_client_options_init(&options, sizeof options));
    return options;
}

redlatch_client *client_with(const redlatch_client_options *options) {
    redlatch_client *client = NULL;
    OK(redlatch_client_open(url, options, &client));
    return client;
}

redlatch_client *client_new(void) {
    return client_with(NULL);
}

redlatch_lock *lock_new(redlatch_client *client, int number) {
    redlatch_lock *lock = NULL;
    const char *name = stage_name(number);
    OK(redlatch_lock_new(client, REDLATCH_MUTEX, name, strlen(name), NULL, &lock));
    return lock;
}

redlatch_stats stats_of(redlatch_client *client) {
    redlatch_stats stats = {.struct_size = sizeof stats};
    OK(redlatch_client_stats(client, &stats));
    return stats;
}

redlatch_hold hold_of(redlatch_lock *lock, uint64_t owner) {
    redlatch_hold hold = {.struct_size = sizeof hold};
    OK(redlatch_lock_hold_status(lock, owner, &hold));
    return hold;
}

uint64_t owner_new(void) {
    uint64_t owner;
    OK(redlatch_owner_new(&owner));
    return owner;
}

/* ----------------------------------------------------------------------------------------------------- threads -- */

struct member {
    pthread_t thread;
    void (*work)(void *, int);
    void *shared;
    int number;
};

struct workers {
    int count;
    struct member members[];
};

static void *be_member(void *argument) {
    struct member *member = argument;
    member->work(member->shared, member->number);
    return NULL;
}

struct workers *workers_start(int count, void (*work)(void *shared, int number), void *shared) {
    struct workers *workers = calloc(1, sizeof *workers + (size_t)count * sizeof workers->members[0]);
    MUST(workers, "no memory");
    workers->count = count;
    for (int i = 0; i < count; i++) {
        struct member *member = &workers->members[i];
        member->work = work;
        member->shared = shared;
        member->number = i;
        MUST(pthread_create(&member->thread, NULL, be_member, member) == 0, "no thread");
    }
    return workers;
}

void workers_join(struct workers *workers) {
    for (int i = 0; i < workers->count; i++) {
        pthread_join(workers->members[i].thread, NULL);
    }
    free(workers);
}

/* ------------------------------------------------------------------------------------------------------ events -- */

int event_fd_of(redlatch_client *client) {
    int fd = -1;
    OK(redlatch_client_event_fd(client, &fd));
    return fd;
}

static bool poll_one(int fd, int64_t wait_ms) {
    struct pollfd one = {fd, POLLIN, 0};
    return poll(&one, 1, (int)wait_ms) == 1;
}

bool is_readable(int fd) {
    return poll_one(fd, 0);
}

int event_within(redlatch_client *client, int64_t wait_ms, redlatch_event *event_out) {
    int fd = event_fd_of(client);
    int64_t until = now_ms() + wait_ms;
    int64_t left;
    while ((left = until - now_ms()) >= 0 && poll_one(fd, left)) {
        memset(event_out, 0, sizeof *event_out);
        event_out->struct_size = sizeof *event_out;
        int status = redlatch_client_next_event(client, event_out);
        if (status != REDLATCH_AGAIN) {
            OK(status);
            return status;
        }
    }
    return REDLATCH_AGAIN;
}

redlatch_event event_must(redlatch_client *client, int kind, int status, uint64_t tag) {
    redlatch_event event;
    OK(event_within(client, 5000 * (SANITIZED ? 4 : 1), &event));
    MUST(event.kind == kind && event.tag == tag, "kind %d, tag %llu, status %s", event.kind,
         (unsigned long long)event.tag, redlatch_status_name(event.status));
    STATUS(event.status, status);
    return event;
}

/* ------------------------------------------------------------------------------------------------------- calls -- */

static void play(const struct scene *scene) {
    current = scene->name;
    scene->play();
}

int stage_main(int argc, char **argv, const struct scene *scenes, size_t count) {
    if (argc == 4) {
        snprintf(url, sizeof url, "%s", argv[1]);
        snprintf(prefix, sizeof prefix, "%s", argv[3]);
        for (size_t i = 0; i < count; i++) {
            if (strcmp(scenes[i].name, argv[2]) == 0) {
                play(&scenes[i]);
                return 0;
            }
        }
        fprintf(stderr, "there is no scene called %s\n", argv[2]);
        return 2;
    }
    witness_start_server(url, sizeof url);
    snprintf(prefix, sizeof prefix, "scenes");
    for (size_t i = 0; i < count; i++) {
        int64_t start = now_ms();
        play(&scenes[i]);
        printf("%6.2f s  %s\n", (double)(now_ms() - start) / 1000.0, current);
        fflush(stdout);
    }
    witness_end_server();
    printf("%zu passed, 0 failed\n", count);
    return 0;
}
