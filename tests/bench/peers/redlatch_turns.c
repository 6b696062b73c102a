/* Turns of one lock across failovers: for each line that is read, when the turns stopped and when they went on.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A turn is an acquire that waits for as long as it takes, and a release, which may find that the hold is lost with the
 * old master. Times are those of the monotonic clock, which the harness reads, too.
 */
#include "arguments.h"
#include "redlatch_peer.h"

#include <inttypes.h>

enum { BETWEEN_TURNS_NS = 2000000, LONG_GAP_NS = 300000000 };

/* Takes turns until there was none for long; prints when the last one before that began, and the first one after it. */
static void turns_until_gap(redlatch_lock *lock) {
    int64_t before_ns = now_ns();
    for (;;) {
        must(redlatch_lock_acquire(lock, REDLATCH_FOREVER), "acquire");
        const int64_t granted_ns = now_ns();
        const int released = redlatch_lock_release(lock);
        if (released != REDLATCH_LOST && !redlatch_status_is_retryable(released)) {
            must(released, "release");
        }
        if (granted_ns - before_ns > LONG_GAP_NS) {
            printf("{\"before_ns\": %" PRId64 ", \"granted_ns\": %" PRId64 "}\n", before_ns, granted_ns);
            return;
        }
        before_ns = granted_ns;
        sleep_ns(BETWEEN_TURNS_NS);
    }
}

int main(int argc, char **argv) {
    int port = 0; /* the harness names a server to everybody; here the URL counts */
    const char *url = "redis://127.0.0.1:6379/0";
    const struct argument table[] = {{.name = "--port", .integer = &port}, {.name = "--url", .text = &url}};
    ARGUMENTS_READ(argc, argv, table);
    redlatch_client *client = client_open_url(url);
    redlatch_lock *lock = lock_open(client, "bench:turns");
    for (;;) {
        wait_for_go();
        turns_until_gap(lock);
    }
}
