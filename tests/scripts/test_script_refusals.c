/* The error replies that scripts make themselves. Each begins with the code that decides its status (error_reply.h),
 * and says which key holds what, for readers of a server's traffic.
 * SPDX-License-Identifier: Apache-2.0 */
#include "scripts_embedded.h"

#include <stdbool.h>

#include "unit.h"

static const char *const refusals[] = {
    "'WRONGTYPE the counter of tokens holds no number'",
    "'WRONGTYPE the key has no TTL, which a lock has'",
    "'WRONGTYPE the key holds no number'",
    "'WRONGTYPE the key is no group of locks'",
    "'WRONGTYPE the key is no lock of this kind'",
    "'WRONGTYPE the key is no read-write lock'",
    "'WRONGTYPE the key of the leases holds something else'",
    "'WRONGTYPE the queue holds something else than waiters'",
    "'WRONGTYPE the time-outs hold something else than waiters'",
    "\"NOPERM this user has no permissions to run '\" .. command .. \"' on a key\"",
};
enum { REFUSALS = sizeof refusals / sizeof refusals[0] };

static bool seen[REFUSALS];

static bool is_known(const char *text) {
    for (int i = 0; i < REFUSALS; i++) {
        size_t size = strlen(refusals[i]);
        if (strncmp(text, refusals[i], size) == 0 && text[size] == ')') {
            seen[i] = true;
            return true;
        }
    }
    return strncmp(text, "tostring(", 9) == 0; /* an error that a part of the script passes on */
}

static void every_error_reply_is_one_of_these(void) {
    static const char begin[] = "redis.error_reply(";
    for (int id = 0; id < SCRIPT_COUNT; id++) {
        const char *at = scripts_embedded[id].text;
        while ((at = strstr(at, begin)) != NULL) {
            at += sizeof begin - 1;
            CHECK(is_known(at));
        }
    }
    for (int i = 0; i < REFUSALS; i++) {
        CHECK(seen[i]);
    }
}

int main(void) {
    RUN(every_error_reply_is_one_of_these);
    return unit_done();
}
