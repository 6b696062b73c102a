/* Pairs per second of a lock written by hand on OpenSSL and hiredis' formatter and parser; without --ca on the socket.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Both ways run the same code but for the calls that move bytes, so that their ratio is what TLS costs.
 */
#include "arguments.h"
#include "bare.h"
#include "workers.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

typedef struct stream_settings {
    int port;
    const char *ca; /* empty: no TLS */
    const char *acquire_path;
    const char *release_path;
} stream_settings;

/* Of the lock's connection only the descriptor is used. */
typedef struct stream_lock {
    bare_lock lock;
    redisReader *reader;
    SSL_CTX *tls_context;
    SSL *tls;
} stream_lock;

static void tls_open(stream_lock *stream, const char *ca) {
    stream->tls_context = SSL_CTX_new(TLS_client_method());
    if (stream->tls_context == NULL || SSL_CTX_load_verify_locations(stream->tls_context, ca, NULL) != 1) {
        give_up("cannot read the CA certificates in %s", ca);
    }
    SSL_CTX_set_verify(stream->tls_context, SSL_VERIFY_PEER, NULL);
    stream->tls = SSL_new(stream->tls_context);
    if (stream->tls == NULL || SSL_set_fd(stream->tls, stream->lock.context->fd) != 1 ||
        SSL_connect(stream->tls) != 1) {
        give_up("no TLS handshake: %s", ERR_reason_error_string(ERR_get_error()));
    }
}

static void send_all(const stream_lock *stream, const char *bytes, size_t size) {
    size_t sent = 0;
    while (sent < size) {
        const int count = stream->tls != NULL ? SSL_write(stream->tls, bytes + sent, (int)(size - sent))
                                              : (int)write(stream->lock.context->fd, bytes + sent, size - sent);
        if (count <= 0) {
            give_up("cannot write a command");
        }
        sent += (size_t)count;
    }
}

static redisReply *receive(const stream_lock *stream) {
    char bytes[4096];
    void *reply = NULL;
    while (redisReaderGetReply(stream->reader, &reply) == REDIS_OK && reply == NULL) {
        const int count = stream->tls != NULL ? SSL_read(stream->tls, bytes, sizeof bytes)
                                              : (int)read(stream->lock.context->fd, bytes, sizeof bytes);
        if (count <= 0) {
            give_up("the server closed the connection");
        }
        redisReaderFeed(stream->reader, bytes, (size_t)count);
    }
    return bare_checked(stream->lock.context, reply);
}

static redisReply *command(const stream_lock *stream, int count, const char **words) {
    char *bytes = NULL;
    const int size = (int)redisFormatCommandArgv(&bytes, count, words, NULL);
    if (size < 0) {
        give_up("no memory for a command");
    }
    send_all(stream, bytes, (size_t)size);
    redisFreeCommand(bytes);
    return receive(stream);
}

static void load_script(const stream_lock *stream, const char *path, char digest_out[41]) {
    char text[BARE_SCRIPT_SIZE];
    bare_read_script(path, text);
    const char *load[] = {"SCRIPT", "LOAD", text};
    bare_digest(command(stream, 3, load), path, digest_out);
}

static void *open_thread(void *shared, int number) {
    const stream_settings *settings = shared;
    stream_lock *stream = calloc(1, sizeof *stream);
    if (stream == NULL) {
        give_up("no memory for a thread's lock");
    }
    bare_lock *lock = &stream->lock;
    lock->context = bare_connect(settings->port);
    stream->reader = redisReaderCreate();
    if (settings->ca[0] != '\0') {
        tls_open(stream, settings->ca);
    }
    load_script(stream, settings->acquire_path, lock->acquire_digest);
    load_script(stream, settings->release_path, lock->release_digest);
    bare_lock_name(lock, "bench:stream", number);
    return stream;
}

static void pair(void *state) {
    const stream_lock *stream = state;
    const bare_lock *lock = &stream->lock;
    const char *acquire[] = {"EVALSHA", lock->acquire_digest, "1", lock->name, BARE_LEASE_MS, lock->owner};
    redisReply *acquired = command(stream, 6, acquire);
    if (acquired->type != REDIS_REPLY_NIL) {
        give_up("%s is held by somebody else", lock->name);
    }
    freeReplyObject(acquired);
    const char *release[] = {"EVALSHA", lock->release_digest, "2",        lock->name, lock->channel,
                             "0",       BARE_LEASE_MS,        lock->owner};
    redisReply *released = command(stream, 8, release);
    if (released->type != REDIS_REPLY_INTEGER || released->integer != 1) {
        give_up("%s was not held by %s when it was released", lock->name, lock->owner);
    }
    freeReplyObject(released);
}

static void close_thread(void *state) {
    stream_lock *stream = state;
    SSL_free(stream->tls);
    SSL_CTX_free(stream->tls_context);
    redisReaderFree(stream->reader);
    bare_lock_close(&stream->lock);
    free(stream);
}

int main(int argc, char **argv) {
    stream_settings settings = {
        .port = 6379, .ca = "", .acquire_path = "plain_acquire.lua", .release_path = "plain_release.lua"};
    double seconds = 1;
    const struct argument table[] = {
        {.name = "--port", .integer = &settings.port},
        {.name = "--ca", .text = &settings.ca},
        {.name = "--seconds", .number = &seconds},
        {.name = "--acquire", .text = &settings.acquire_path},
        {.name = "--release", .text = &settings.release_path},
    };
    ARGUMENTS_READ(argc, argv, table);
    const workers_work work = {.open = open_thread, .pair = pair, .close = close_thread, .shared = &settings};
    workers_run(&work, 1, seconds);
    return 0;
}
