/* Pairs per second of bare hiredis: one blocking connection and one lock for each thread.
 * SPDX-License-Identifier: Apache-2.0
 *
 * With --latch 1 a release also names an unlock latch and deletes it afterwards without waiting for the reply, as
 * Redisson's clients do.
 */
#include "arguments.h"
#include "bare.h"
#include "workers.h"

typedef struct pair_settings {
    int port;
    int latch;
    const char *acquire_path;
    const char *release_path;
} pair_settings;

typedef struct pair_thread {
    bare_lock lock;
    int number;
    uint64_t requests;
    int deletes_in_flight;
} pair_thread;

static void *open_thread(void *shared, int number) {
    const pair_settings *settings = shared;
    pair_thread *thread = calloc(1, sizeof *thread);
    if (thread == NULL) {
        give_up("no memory for a thread's lock");
    }
    char name[64];
    snprintf(name, sizeof name, "bench:pair:%d", number);
    bare_lock_open(&thread->lock, settings->port, name, number + 1, settings->acquire_path, settings->release_path);
    thread->number = number;
    return thread;
}

static void plain_pair(void *state) {
    pair_thread *thread = state;
    if (!bare_lock_try_acquire(&thread->lock)) {
        give_up("%s is held by somebody else", thread->lock.name);
    }
    bare_lock_release(&thread->lock);
}

/* Takes the reply of a DEL that was sent behind the release before; it stands in front of the next reply. */
static void collect_delete(pair_thread *thread) {
    if (thread->deletes_in_flight == 0) {
        return;
    }
    void *reply = NULL;
    redisGetReply(thread->lock.context, &reply);
    freeReplyObject(bare_checked(thread->lock.context, reply));
    thread->deletes_in_flight = 0;
}

static redisReply *next_reply(pair_thread *thread) {
    void *reply = NULL;
    redisGetReply(thread->lock.context, &reply);
    return bare_checked(thread->lock.context, reply);
}

static void latch_pair(void *state) {
    pair_thread *thread = state;
    bare_lock *lock = &thread->lock;
    const char *acquire[] = {"EVALSHA", lock->acquire_digest, "1", lock->name, BARE_LEASE_MS, lock->owner};
    redisAppendCommandArgv(lock->context, 6, acquire, NULL);
    collect_delete(thread);
    redisReply *acquired = next_reply(thread);
    if (acquired->type != REDIS_REPLY_NIL) {
        give_up("%s is held by somebody else", lock->name);
    }
    freeReplyObject(acquired);

    char latch[160];
    snprintf(latch, sizeof latch, "redisson_unlock_latch:{%s}:%016x%016" PRIx64, lock->name, (unsigned)thread->number,
             ++thread->requests);
    const char *release[] = {"EVALSHA", lock->release_digest, "3",         lock->name, lock->channel, latch,
                             "0",       BARE_LEASE_MS,        lock->owner, "PUBLISH",  "18000"};
    redisAppendCommandArgv(lock->context, 11, release, NULL);
    redisReply *released = next_reply(thread);
    if (released->type != REDIS_REPLY_INTEGER || released->integer != 1) {
        give_up("%s was not held by %s when it was released", lock->name, lock->owner);
    }
    freeReplyObject(released);

    const char *forget[] = {"DEL", latch};
    redisAppendCommandArgv(lock->context, 2, forget, NULL);
    int written = 0;
    while (!written) {
        if (redisBufferWrite(lock->context, &written) != REDIS_OK) {
            give_up("cannot write a DEL: %s", lock->context->errstr);
        }
    }
    thread->deletes_in_flight = 1;
}

static void close_thread(void *state) {
    pair_thread *thread = state;
    collect_delete(thread);
    bare_lock_close(&thread->lock);
    free(thread);
}

int main(int argc, char **argv) {
    pair_settings settings = {.port = 6379, .acquire_path = "plain_acquire.lua", .release_path = "plain_release.lua"};
    int threads = 1;
    double seconds = 1;
    const struct argument table[] = {
        {.name = "--port", .integer = &settings.port},
        {.name = "--threads", .integer = &threads},
        {.name = "--seconds", .number = &seconds},
        {.name = "--latch", .integer = &settings.latch},
        {.name = "--acquire", .text = &settings.acquire_path},
        {.name = "--release", .text = &settings.release_path},
    };
    ARGUMENTS_READ(argc, argv, table);
    const workers_work work = {
        .open = open_thread,
        .pair = settings.latch ? latch_pair : plain_pair,
        .close = close_thread,
        .shared = &settings,
    };
    workers_run(&work, threads, seconds);
    return 0;
}
