/* What a round trip takes: PING to one server; or to several at once, until a majority of them has answered.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "arguments.h"
#include "bare.h"
#include "ports.h"
#include "samples.h"

#include <poll.h>

static void send_ping(redisContext *context) {
    redisAppendCommand(context, "PING");
    int written = 0;
    while (!written) {
        if (redisBufferWrite(context, &written) != REDIS_OK) {
            give_up("cannot write a PING: %s", context->errstr);
        }
    }
}

/* Waits for some answers, all that are there. How many; those that have answered are no longer polled. */
static int take_answers(redisContext **contexts, struct pollfd *polled, int count) {
    int taken = 0;
    poll(polled, (nfds_t)count, -1);
    for (int i = 0; i < count; i++) {
        if (polled[i].revents != 0) {
            void *reply = NULL;
            redisGetReply(contexts[i], &reply);
            freeReplyObject(bare_checked(contexts[i], reply));
            polled[i].fd = -1;
            taken++;
        }
    }
    return taken;
}

int main(int argc, char **argv) {
    int port = 0; /* the harness names a server to everybody; here the list counts */
    const char *list = "6379";
    double seconds = 1;
    const struct argument table[] = {
        {.name = "--port", .integer = &port},
        {.name = "--ports", .text = &list},
        {.name = "--seconds", .number = &seconds},
    };
    ARGUMENTS_READ(argc, argv, table);
    int ports[PORTS_MAX];
    redisContext *contexts[PORTS_MAX];
    const int count = ports_read("--ports", list, ports);
    for (int i = 0; i < count; i++) {
        contexts[i] = bare_connect(ports[i]);
    }

    samples round_trips = {.count = 0};
    const int64_t deadline_ns = now_ns() + (int64_t)(seconds * 1e9);
    for (int64_t start_ns = now_ns(); start_ns < deadline_ns; start_ns = now_ns()) {
        struct pollfd polled[PORTS_MAX];
        for (int i = 0; i < count; i++) {
            send_ping(contexts[i]);
            polled[i] = (struct pollfd){.fd = contexts[i]->fd, .events = POLLIN};
        }
        int answered = 0;
        while (answered <= count / 2) {
            answered += take_answers(contexts, polled, count);
        }
        samples_add(&round_trips, now_ns() - start_ns);
        while (answered < count) {
            answered += take_answers(contexts, polled, count);
        }
    }
    printf("{");
    samples_print("round_trip_us", &round_trips);
    printf("}\n");
    for (int i = 0; i < count; i++) {
        redisFree(contexts[i]);
    }
    return 0;
}
