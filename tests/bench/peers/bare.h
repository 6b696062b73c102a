/* A lock as somebody would write it with hiredis alone: one blocking connection, two scripts by their digests.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The peer that redlatch is measured against does the same work on the server: same key, same lease, same message.
 */
#ifndef BENCH_BARE_H
#define BENCH_BARE_H

#include "measure.h"

#include <hiredis.h>
#include <string.h>

#define BARE_LEASE_MS "30000"
#define BARE_UUID "00000000-0000-4000-8000-000000000000"

typedef struct bare_lock {
    redisContext *context;
    char acquire_digest[41];
    char release_digest[41];
    char name[64];
    char channel[96];
    char owner[64];
} bare_lock;

static inline redisContext *bare_connect(int port) {
    redisContext *context = redisConnect("127.0.0.1", port);
    if (context == NULL || context->err != 0) {
        give_up("cannot connect to 127.0.0.1:%d: %s", port, context == NULL ? "no memory" : context->errstr);
    }
    return context;
}

/* Passes a reply on, or gives up if it is an error or did not come. */
static inline redisReply *bare_checked(redisContext *context, void *result) {
    redisReply *reply = result;
    if (reply == NULL) {
        give_up("no reply from the server: %s", context->errstr);
    }
    if (reply->type == REDIS_REPLY_ERROR) {
        give_up("the server answered: %s", reply->str);
    }
    return reply;
}

#define BARE_SCRIPT_SIZE 8192

/* Reads a script, and how long it is. */
static inline size_t bare_read_script(const char *path, char text[BARE_SCRIPT_SIZE]) {
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        give_up("cannot open the script %s", path);
    }
    const size_t size = fread(text, 1, BARE_SCRIPT_SIZE, file);
    fclose(file);
    if (size == BARE_SCRIPT_SIZE) {
        give_up("the script %s is longer than %d bytes", path, BARE_SCRIPT_SIZE - 1);
    }
    text[size] = '\0';
    return size;
}

/* Takes the digest from the reply to SCRIPT LOAD. */
static inline void bare_digest(redisReply *reply, const char *path, char digest_out[41]) {
    if (reply->type != REDIS_REPLY_STRING || reply->len != 40) {
        give_up("SCRIPT LOAD of %s did not answer with a digest", path);
    }
    memcpy(digest_out, reply->str, 41);
    freeReplyObject(reply);
}

static inline void bare_load_script(redisContext *context, const char *path, char digest_out[41]) {
    char text[BARE_SCRIPT_SIZE];
    const size_t size = bare_read_script(path, text);
    bare_digest(bare_checked(context, redisCommand(context, "SCRIPT LOAD %b", text, size)), path, digest_out);
}

static inline void bare_lock_name(bare_lock *lock, const char *name, int owner_number) {
    snprintf(lock->name, sizeof lock->name, "%s", name);
    snprintf(lock->channel, sizeof lock->channel, "redisson_lock__channel:{%s}", lock->name);
    snprintf(lock->owner, sizeof lock->owner, BARE_UUID ":%d", owner_number);
}

static inline void bare_lock_open(bare_lock *lock, int port, const char *name, int owner_number,
                                  const char *acquire_path, const char *release_path) {
    lock->context = bare_connect(port);
    bare_load_script(lock->context, acquire_path, lock->acquire_digest);
    bare_load_script(lock->context, release_path, lock->release_digest);
    bare_lock_name(lock, name, owner_number);
}

/* 1 if the owner has the lock now, 0 if somebody else has it. */
static inline int bare_lock_try_acquire(bare_lock *lock) {
    const char *command[] = {"EVALSHA", lock->acquire_digest, "1", lock->name, BARE_LEASE_MS, lock->owner};
    redisReply *reply = bare_checked(lock->context, redisCommandArgv(lock->context, 6, command, NULL));
    const int acquired = reply->type == REDIS_REPLY_NIL;
    freeReplyObject(reply);
    return acquired;
}

static inline void bare_lock_release(bare_lock *lock) {
    const char *command[] = {"EVALSHA", lock->release_digest, "2",        lock->name, lock->channel,
                             "0",       BARE_LEASE_MS,        lock->owner};
    redisReply *reply = bare_checked(lock->context, redisCommandArgv(lock->context, 8, command, NULL));
    if (reply->type != REDIS_REPLY_INTEGER || reply->integer != 1) {
        give_up("%s was not held by %s when it was released", lock->name, lock->owner);
    }
    freeReplyObject(reply);
}

static inline void bare_lock_close(bare_lock *lock) {
    redisFree(lock->context);
}

#endif
