/* A fair lock "a" and its waiters on the engine's rig.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fair_fixture.h"

#include <string.h>

void open_fair(void) {
    rig_open();
    rig.lock_kind = REDLATCH_FAIR;
}

void queued_on(enum pipeline_role pipeline, int64_t ttl_ms, const char *head) {
    struct reply elements[2] = {{.kind = REPLY_INTEGER, .integer = ttl_ms},
                                {.kind = REPLY_STRING, .text = head, .size = strlen(head)}};
    struct reply reply = {.kind = REPLY_ARRAY, .elements = elements, .count = 2};
    rig_reply(pipeline, &reply);
}

void queued(int64_t ttl_ms, const char *head) {
    queued_on(PIPELINE, ttl_ms, head);
}

void queue_up(struct call **waiters, uint64_t last) {
    for (uint64_t owner = 2; owner <= last; owner++) {
        waiters[owner] = rig_acquire("a", owner);
        rig_send(PIPELINE);
        queued(30000, "2");
    }
    rig_subscriptions();
    CHECK(rig_send(PIPELINE) == NULL); /* no recheck: this process holds the lock, so no message was missed */
}

void held_with_waiters(struct call **waiters, uint64_t last) {
    rig_grant("a", 1);
    queue_up(waiters, last);
}

void everybody_leaves(struct call **waiters, uint64_t last) {
    for (uint64_t owner = 2; owner <= last; owner++) {
        if (!waiters[owner]->done) {
            rig_abort(waiters[owner], REDLATCH_CANCELLED);
        }
    }
    while (rig_send(PIPELINE)) {
        rig_integer(PIPELINE, 0);
    }
    rig_drain_background();
    rig_end("a", 1);
    RIG_CLOSE();
}
