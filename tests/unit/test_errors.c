/* Names, texts and properties of status codes. The last error of each thread. Names as messages show them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "errors.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "redlatch.h"
#include "unit.h"

static const struct {
    const char *name;
    int status;
    bool retryable;
    bool ambiguous;
    const char *sentence;
} codes[] = {
    {"ok", REDLATCH_OK, false, false, "done"},
    {"timeout", REDLATCH_TIMEOUT, true, false, "not available before the timeout"},
    {"not_owned", REDLATCH_NOT_OWNED, false, false, "this owner does not hold the lock"},
    {"lost", REDLATCH_LOST, false, false, "the lock was held and has been lost"},
    {"cancelled", REDLATCH_CANCELLED, true, false, "the wait was cancelled"},
    {"again", REDLATCH_AGAIN, true, false, "not done yet; call again"},
    {"unclaimed", REDLATCH_UNCLAIMED, true, false, "granted, but its event was not collected in time; released"},
    {"already_held", REDLATCH_ALREADY_HELD, false, false, "the owner holds the lock already, which is not reentrant"},
    {"would_deadlock", REDLATCH_WOULD_DEADLOCK, false, false,
     "the owner holds the read lock; waiting for the write lock would deadlock"},
    {"not_found", REDLATCH_NOT_FOUND, true, false, "nobody made the semaphore"},
    {"invalid", REDLATCH_INVALID, false, false, "an argument is out of range"},
    {"closed", REDLATCH_CLOSED, false, false, "the client is closed"},
    {"forked", REDLATCH_FORKED, false, false, "it belongs to the parent process; open a client in this one"},
    {"bad_handle", REDLATCH_BAD_HANDLE, false, false, "the handle is NULL, freed or of another type"},
    {"unsupported", REDLATCH_UNSUPPORTED, false, false, "this version or the server does not support it"},
    {"in_use", REDLATCH_IN_USE, false, false, "in use by another call"},
    {"unreachable", REDLATCH_UNREACHABLE, true, false, "the server cannot be reached"},
    {"no_reply", REDLATCH_NO_REPLY, true, true, "the server did not answer in time"},
    {"protocol", REDLATCH_PROTOCOL, false, true, "the peer is not a Redis server"},
    {"server", REDLATCH_SERVER, false, true, "the server returned an error"},
    {"wrong_type", REDLATCH_WRONG_TYPE, false, false, "the key is not a lock of this kind"},
    {"read_only", REDLATCH_READ_ONLY, false, false, "the server is a read-only replica"},
    {"server_out_of_memory", REDLATCH_SERVER_OUT_OF_MEMORY, true, false, "the server is out of memory"},
    {"loading", REDLATCH_LOADING, true, false, "the server is loading its data"},
    {"server_busy", REDLATCH_SERVER_BUSY, true, false, "the server is busy running a script"},
    {"authentication", REDLATCH_AUTHENTICATION, false, false, "no or wrong user name, password or certificate"},
    {"no_permission", REDLATCH_NO_PERMISSION, false, false, "the server's access rules forbid it"},
    {"too_many_clients", REDLATCH_TOO_MANY_CLIENTS, true, false, "the server has too many clients"},
    {"not_writable", REDLATCH_NOT_WRITABLE, true, false, "the server does not accept writes for now"},
    {"not_replicated", REDLATCH_NOT_REPLICATED, true, true, "not acknowledged in time"},
    {"no_memory", REDLATCH_NO_MEMORY, true, false, "out of memory"},
    {"system", REDLATCH_SYSTEM, true, false, "a system call failed"},
    {"internal", REDLATCH_INTERNAL, false, false, "internal error: a bug in redlatch"},
};
enum { CODES = sizeof codes / sizeof codes[0] };

static void every_code_has_its_facts(void) {
    for (int i = 0; i < CODES; i++) {
        CHECK_STR(redlatch_status_name(codes[i].status), codes[i].name);
        CHECK_EQ_INT(redlatch_status_is_retryable(codes[i].status), codes[i].retryable);
        CHECK_EQ_INT(redlatch_status_is_ambiguous(codes[i].status), codes[i].ambiguous);
        CHECK_STR(redlatch_strerror(codes[i].status), codes[i].sentence);
        for (int k = 0; k < i; k++) {
            CHECK(strcmp(redlatch_strerror(codes[i].status), redlatch_strerror(codes[k].status)) != 0);
        }
    }
}

static bool is_code(int status) {
    for (int i = 0; i < CODES; i++) {
        if (codes[i].status == status) {
            return true;
        }
    }
    return false;
}

static void check_unknown(int status) {
    CHECK_STR(redlatch_status_name(status), "unknown");
    CHECK_STR(redlatch_strerror(status), "unknown status");
    CHECK_EQ_INT(redlatch_status_is_retryable(status), 0);
    CHECK_EQ_INT(redlatch_status_is_ambiguous(status), 0);
}

static void other_numbers_are_unknown(void) {
    for (int status = -1000; status <= 1000; status++) {
        if (!is_code(status)) {
            check_unknown(status);
        }
    }
    check_unknown(INT32_MIN);
    check_unknown(INT32_MAX);
}

static void every_reason_has_its_name(void) {
    static const char *const names[] = {"none", "expired", "missing", "max_hold", "abandoned"};
    for (int i = 0; i < (int)(sizeof names / sizeof names[0]); i++) {
        CHECK_STR(redlatch_reason_name(i), names[i]);
        for (int k = 0; k < i; k++) {
            CHECK(strcmp(reason_text(i), reason_text(k)) != 0);
        }
    }
    CHECK_STR(redlatch_reason_name(-1), "unknown");
    CHECK_STR(redlatch_reason_name((int)(sizeof names / sizeof names[0])), "unknown");
}

/* The reason belongs to the last failure. A failure between two swaps of the error text leaves it as it was. */
static void a_reason_is_kept_beside_the_words(void) {
    fail_with(REDLATCH_LOST, "gone");
    CHECK_EQ_INT(redlatch_last_reason(), REDLATCH_REASON_NONE);
    CHECK_EQ_INT(fail_for(REDLATCH_LOST, REDLATCH_REASON_EXPIRED), REDLATCH_LOST);
    CHECK_EQ_INT(redlatch_last_reason(), REDLATCH_REASON_EXPIRED);
    struct error_text kept = {.reason = REDLATCH_REASON_NONE};
    error_text_swap(&kept);
    fail_with(REDLATCH_TIMEOUT, "held");
    error_text_swap(&kept);
    CHECK_STR(kept.text, "held");
    CHECK_STR(redlatch_last_error(), "gone");
    CHECK_EQ_INT(redlatch_last_reason(), REDLATCH_REASON_EXPIRED);
    fail_plain(REDLATCH_INVALID);
    CHECK_EQ_INT(redlatch_last_reason(), REDLATCH_REASON_NONE);
}

static void a_failure_is_kept_in_words(void) {
    CHECK_STR(redlatch_last_error(), ""); /* before the first one */
    CHECK_EQ_INT(fail_with(REDLATCH_LOST, "%s is %d", "it", 5), REDLATCH_LOST);
    CHECK_STR(redlatch_last_error(), "it is 5");
    CHECK_EQ_INT(fail_plain(REDLATCH_IN_USE), REDLATCH_IN_USE);
    CHECK_STR(redlatch_last_error(), redlatch_strerror(REDLATCH_IN_USE));
    char longest[2000];
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    fail_with(REDLATCH_INVALID, "%s", longest);
    size_t size = strlen(redlatch_last_error());
    CHECK(size >= 400 && size < sizeof longest && memcmp(redlatch_last_error(), longest, size) == 0);
}

static void *fail_elsewhere(void *unused) {
    (void)unused;
    CHECK_STR(redlatch_last_error(), "");
    fail_with(REDLATCH_LOST, "elsewhere");
    CHECK_STR(redlatch_last_error(), "elsewhere");
    return NULL;
}

static void each_thread_has_its_own(void) {
    fail_with(REDLATCH_LOST, "here");
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, fail_elsewhere, NULL) == 0);
    pthread_join(thread, NULL);
    CHECK_STR(redlatch_last_error(), "here");
}

static void names_are_printable_and_short(void) {
    char text[64];
    CHECK_STR(shown_name("", 0, text), "");
    CHECK_STR(shown_name("orders:42", 9, text), "orders:42");
    CHECK_STR(shown_name("a\0b\n\x7f\xff ~", 8, text), "a.b... ~");
    char name[61];
    memset(name, 'n', sizeof name);
    CHECK_EQ_INT(strlen(shown_name(name, 59, text)), 59);
    CHECK(strchr(text, '.') == NULL);
    CHECK_EQ_INT(strlen(shown_name(name, 60, text)), 60);
    CHECK(strchr(text, '.') == NULL); /* the longest name that is shown whole */
    CHECK_EQ_INT(strlen(shown_name(name, 61, text)), 60);
    CHECK_STR(text + 57, "...");
    char *large = calloc(1, 65535);
    CHECK_EQ_INT(strlen(shown_name(large, 65535, text)), 60);
    free(large);
}

int main(void) {
    RUN(a_failure_is_kept_in_words);
    RUN(every_reason_has_its_name);
    RUN(a_reason_is_kept_beside_the_words);
    RUN(every_code_has_its_facts);
    RUN(other_numbers_are_unknown);
    RUN(each_thread_has_its_own);
    RUN(names_are_printable_and_short);
    return unit_done();
}
