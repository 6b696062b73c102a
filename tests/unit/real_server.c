/* Starts redis-server and sends commands to it.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "real_server.h"

#include <hiredis.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[40] = "/tmp/redlatch-unit-XXXXXX";
static char path[60];
static char url[80];
static pid_t server;
static redisContext *context;

static void must(bool good, const char *what) {
    if (!good) {
        fprintf(stderr, "the test has no %s; is redis-server installed?\n", what);
        real_server_end();
        exit(1);
    }
}

static _Noreturn void be_server(void) {
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (freopen("/dev/null", "w", stdout)) {
        execlp("redis-server", "redis-server", "--port", "0", "--save", "", "--unixsocket", path, "--dir", folder,
               (char *)NULL);
    }
    _exit(127);
}

const char *real_server_start(void) {
    must(mkdtemp(folder) != NULL, "folder");
    snprintf(path, sizeof path, "%s/s", folder);
    snprintf(url, sizeof url, "unix://%s", path);
    server = fork();
    if (server == 0) {
        be_server();
    }
    must(server > 0, "process");
    context = redisConnectUnix(path);
    for (int i = 0; i < 1000 && context && context->err; i++) { /* it takes a moment until it listens */
        usleep(5000);
        redisFree(context);
        context = redisConnectUnix(path);
    }
    must(context && !context->err, "server");
    return url;
}

void real_server_end(void) {
    if (context) {
        redisFree(context);
        context = NULL;
    }
    if (server > 0) {
        kill(server, SIGKILL);
        waitpid(server, NULL, 0);
        server = 0;
        unlink(path);
        rmdir(folder);
    }
}

void real_server_put_hash(const char *name, size_t name_size) {
    redisReply *reply = redisCommand(context, "HSET %b field value", name, name_size);
    must(reply && reply->type == REDIS_REPLY_INTEGER && reply->integer == 1, "new hash on the server");
    freeReplyObject(reply);
}

long long real_server_keys(void) {
    redisReply *reply = redisCommand(context, "DBSIZE");
    must(reply && reply->type == REDIS_REPLY_INTEGER, "answer from the server");
    long long keys = reply->integer;
    freeReplyObject(reply);
    return keys;
}
