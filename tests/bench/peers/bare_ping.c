/* What a round trip costs on this machine: PING with a blocking read, and PING looking at the socket all the time.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The difference is the price of a sleep and a wake-up, which decides how much looking before sleeping can gain.
 */
#include "arguments.h"
#include "bare.h"

#include <fcntl.h>

static void send_ping(redisContext *context) {
    static const char ping[] = "*1\r\n$4\r\nPING\r\n";
    if (write(context->fd, ping, sizeof ping - 1) != (ssize_t)(sizeof ping - 1)) {
        give_up("cannot write a PING");
    }
}

/* Reads "+PONG\r\n". On a socket that does not block, "nothing there yet" is tried again at once. */
static void receive_pong(redisContext *context) {
    char reply[7];
    size_t received = 0;
    while (received < sizeof reply) {
        const ssize_t size = read(context->fd, reply + received, sizeof reply - received);
        if (size > 0) {
            received += (size_t)size;
        } else if (size == 0 || errno != EAGAIN) {
            give_up("the connection broke during a PING");
        }
    }
}

static double microseconds_per_ping(redisContext *context, double seconds) {
    const int64_t start_ns = now_ns();
    const int64_t deadline_ns = start_ns + (int64_t)(seconds * 1e9);
    int pings = 0;
    while (now_ns() < deadline_ns) {
        send_ping(context);
        receive_pong(context);
        pings++;
    }
    return (double)(now_ns() - start_ns) / 1e3 / pings;
}

int main(int argc, char **argv) {
    int port = 6379;
    double seconds = 1;
    const struct argument table[] = {{.name = "--port", .integer = &port}, {.name = "--seconds", .number = &seconds}};
    ARGUMENTS_READ(argc, argv, table);

    redisContext *context = bare_connect(port);
    microseconds_per_ping(context, seconds / 10);
    const double blocking = microseconds_per_ping(context, seconds / 2);
    if (fcntl(context->fd, F_SETFL, fcntl(context->fd, F_GETFL) | O_NONBLOCK) != 0) {
        give_up("cannot make the socket non-blocking");
    }
    const double polling = microseconds_per_ping(context, seconds / 2);
    redisFree(context);
    printf("{\"blocking_us\": %.2f, \"looking_us\": %.2f}\n", blocking, polling);
    return 0;
}
