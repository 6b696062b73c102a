/* The witness: its server, and its connection.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "witness.h"

#include <hiredis.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stage.h"

static pid_t server;
static char folder[64];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static redisContext *context;
static pid_t context_of; /* a forked child opens its own connection */

static redisContext *connect_to(const char *url) {
    if (strncmp(url, "unix://", 7) == 0) {
        return redisConnectUnix(url + 7);
    }
    char host[100];
    int port = 0;
    MUST(sscanf(url, "redis://%99[^:/]:%d", host, &port) == 2, "%s", url);
    return redisConnect(host, port);
}

static void be_server(const char *socket_path) {
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (!freopen("/dev/null", "w", stdout)) {
        _exit(127);
    }
    execlp("redis-server", "redis-server", "--port", "0", "--save", "", "--unixsocket", socket_path, "--dir", folder,
           "--enable-debug-command", "yes", (char *)NULL);
    _exit(127);
}

/* The socket's file exists a moment before the server listens. */
static bool is_listening(const char *path) {
    redisContext *trial = redisConnectUnix(path);
    bool good = trial && !trial->err;
    if (trial) {
        redisFree(trial);
    }
    return good;
}

void witness_start_server(char *url_out, size_t size) {
    snprintf(folder, sizeof folder, "/tmp/redlatch-scenes-XXXXXX");
    MUST(mkdtemp(folder), "no folder");
    char path[100];
    snprintf(path, sizeof path, "%s/redis.sock", folder);
    snprintf(url_out, size, "unix://%s", path);
    server = fork();
    if (server == 0) {
        be_server(path);
    }
    MUST(server > 0, "no process");
    for (int i = 0; !is_listening(path); i++) {
        MUST(i < 1000, "the server did not start: is redis-server installed?");
        sleep_ms(5);
    }
}

void witness_end_server(void) {
    if (server > 0) {
        kill(server, SIGKILL);
        waitpid(server, NULL, 0);
        server = 0;
        char path[100];
        snprintf(path, sizeof path, "%s/redis.sock", folder);
        unlink(path);
        rmdir(folder);
    }
    if (context) {
        redisFree(context);
        context = NULL;
    }
}

/* Returns the reply to a command. The caller frees it. */
static redisReply *answer(const char *format, va_list arguments) {
    char text[1000];
    vsnprintf(text, sizeof text, format, arguments);
    pthread_mutex_lock(&mutex);
    if (!context || context_of != getpid()) {
        context = connect_to(stage_url());
        context_of = getpid();
        MUST(context && !context->err, "cannot reach the server");
    }
    redisReply *reply = redisCommand(context, text);
    pthread_mutex_unlock(&mutex);
    MUST(reply, "no answer to %s", text);
    return reply;
}

long long ask(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    redisReply *reply = answer(format, arguments);
    va_end(arguments);
    MUST(reply->type == REDIS_REPLY_INTEGER, "%s is answered with %s", format, reply->str ? reply->str : "no integer");
    long long number = reply->integer;
    freeReplyObject(reply);
    return number;
}

void tell(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    freeReplyObject(answer(format, arguments));
    va_end(arguments);
}

static redisReply *text_of(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    redisReply *reply = answer(format, arguments);
    va_end(arguments);
    MUST(reply->type == REDIS_REPLY_STRING, "%s", format);
    return reply;
}

long long info_number(const char *field) {
    redisReply *reply = text_of("INFO");
    char mark[80];
    snprintf(mark, sizeof mark, "\n%s:", field);
    const char *at = strstr(reply->str, mark);
    MUST(at, "INFO has no %s", field);
    long long number = strtoll(at + strlen(mark), NULL, 10);
    freeReplyObject(reply);
    return number;
}

int connections_of_redlatch(void) {
    redisReply *reply = text_of("CLIENT LIST");
    int count = 0;
    for (const char *at = reply->str; (at = strstr(at, " name=redlatch:")) != NULL; at++) {
        count++;
    }
    freeReplyObject(reply);
    return count;
}

void cut_all(void) {
    tell("CLIENT KILL TYPE normal SKIPME yes");
    tell("CLIENT KILL TYPE pubsub SKIPME yes");
}
