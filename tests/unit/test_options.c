/* Option and answer structs of callers built with another version of the header, defaults, and the ranges of numbers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <limits.h>

#include "counted.h"
#include "lock.h"
#include "unit.h"

struct sample {
    uint32_t struct_size;
    int32_t one;
    int64_t two;
};

static void shorter_structs_leave_defaults(void) {
    struct sample options = {sizeof options, 1, 2};
    struct sample given = {8, 7, 9}; /* of a version that had no `two` */
    CHECK_EQ_INT(options_read(&options, sizeof options, &given, "sample"), REDLATCH_OK);
    CHECK_EQ_INT(options.one, 7);
    CHECK_EQ_INT(options.two, 2);
    given.struct_size = sizeof given;
    CHECK_EQ_INT(options_read(&options, sizeof options, &given, "sample"), REDLATCH_OK);
    CHECK_EQ_INT(options.two, 9);
}

static void longer_structs_must_be_zero_there(void) {
    struct {
        struct sample known;
        char later[5];
    } given = {.known = {sizeof given, 7, 9}};
    struct sample options = {sizeof options, 1, 2};
    CHECK_EQ_INT(options_read(&options, sizeof options, &given, "sample"), REDLATCH_OK);
    CHECK(options.one == 7 && options.two == 9);
    given.later[4] = 1;
    options = (struct sample){sizeof options, 1, 2};
    CHECK_EQ_INT(options_read(&options, sizeof options, &given, "sample"), REDLATCH_INVALID);
    CHECK_STR(redlatch_last_error(), "sample has a field that this version does not know (byte 20): expected zero");
    CHECK(options.one == 1 && options.two == 2);
}

static void impossible_sizes_are_refused(void) {
    static const uint32_t sizes[] = {0, 1, 4, 7, 4097, UINT32_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct sample options = {sizeof options, 1, 2};
        struct sample given = {sizes[i], 7, 9};
        char expected[100];
        snprintf(expected, sizeof expected, "sample.struct_size is %u: expected sizeof the struct", sizes[i]);
        CHECK_EQ_INT(options_read(&options, sizeof options, &given, "sample"), REDLATCH_INVALID);
        CHECK_STR(redlatch_last_error(), expected);
        CHECK(options.one == 1 && options.two == 2);
        CHECK_EQ_INT(answer_check(&given, "sample"), REDLATCH_INVALID);
        CHECK_EQ_INT(answer_write(&given, &options, sizeof options, "sample"), REDLATCH_INVALID);
        CHECK_STR(redlatch_last_error(), expected);
        CHECK(given.struct_size == sizes[i] && given.one == 7 && given.two == 9);
        redlatch_client_options *as_client = (redlatch_client_options *)(void *)&given;
        CHECK_EQ_INT(redlatch_client_options_init(as_client, sizes[i]), REDLATCH_INVALID);
        CHECK(strstr(redlatch_last_error(), "client options.struct_size is"));
        CHECK_EQ_INT(redlatch_lock_options_init((redlatch_lock_options *)(void *)&given, sizes[i]), REDLATCH_INVALID);
        CHECK(given.one == 7 && given.two == 9);
    }
}

static void answers_fit_the_caller(void) {
    const struct sample answer = {0, 5, 6};
    struct sample to = {8, 7, 9};
    CHECK_EQ_INT(answer_write(&to, &answer, sizeof answer, "sample"), REDLATCH_OK);
    CHECK(to.struct_size == 8 && to.one == 5 && to.two == 9); /* nothing is written behind the caller's struct */
    struct {
        struct sample known;
        unsigned char later[8];
        unsigned char behind;
    } larger = {{24, 7, 9}, {1, 2, 3, 4, 5, 6, 7, 8}, 42};
    CHECK_EQ_INT(answer_write(&larger, &answer, sizeof answer, "sample"), REDLATCH_OK);
    CHECK(larger.known.struct_size == 24 && larger.known.one == 5 && larger.known.two == 6);
    for (int i = 0; i < 8; i++) {
        CHECK_EQ_INT(larger.later[i], 0);
    }
    CHECK_EQ_INT(larger.behind, 42);
    CHECK_EQ_INT(answer_write(NULL, &answer, sizeof answer, "sample"), REDLATCH_INVALID);
    CHECK_STR(redlatch_last_error(), "sample is NULL: expected a struct to fill");
    CHECK_EQ_INT(answer_check(NULL, "sample"), REDLATCH_INVALID);
    CHECK_EQ_INT(answer_check(&to, "sample"), REDLATCH_OK);
}

static void defaults_of_a_client(void) {
    redlatch_client_options options;
    memset(&options, 0xee, sizeof options);
    CHECK_EQ_INT(redlatch_client_options_init(&options, sizeof options), REDLATCH_OK);
    CHECK_EQ_INT(options.struct_size, sizeof options);
    CHECK_EQ_INT(options.lazy, 0);
    CHECK_EQ_INT(options.watchdog_lease_ms, 30000);
    CHECK_EQ_INT(options.connect_timeout_ms, REDLATCH_DEFAULT);
    CHECK_EQ_INT(options.command_timeout_ms, REDLATCH_DEFAULT);
    CHECK_EQ_INT(options.dead_peer_timeout_ms, REDLATCH_DEFAULT);
    CHECK_EQ_INT(options.dns_interval_ms, REDLATCH_DEFAULT);
    CHECK_EQ_INT(options.unreachable_timeout_ms, 30000);
    CHECK_EQ_INT(options.close_timeout_ms, 1000);
    CHECK_EQ_INT(options.claim_timeout_ms, 30000);
    CHECK_EQ_INT(options.linger_ms, 3000);
    CHECK_EQ_INT(options.release_on_close, 1);
    CHECK_EQ_INT(options.busy_poll, 1);
    CHECK(!options.name_prefix && !options.username && !options.password);
    CHECK_EQ_INT(options.name_prefix_size, 0);
    CHECK_EQ_INT(options.database, REDLATCH_DEFAULT);
    CHECK_EQ_INT(options.language, REDLATCH_LANGUAGE_C);
    CHECK_EQ_INT(options.min_replicas, REDLATCH_DEFAULT);
    CHECK_EQ_INT(options.durable, REDLATCH_DEFAULT);
    CHECK_EQ_INT(options.replica_timeout_ms, REDLATCH_DEFAULT);
    CHECK(options.sharded_messages == NULL);
    CHECK_EQ_INT(redlatch_client_options_init(NULL, sizeof options), REDLATCH_INVALID);
    CHECK_STR(redlatch_last_error(), "client options is NULL: expected a struct to fill");
}

static void defaults_of_a_lock(void) {
    struct {
        redlatch_lock_options known;
        unsigned char later[8];
        unsigned char behind;
    } larger;
    memset(&larger, 0xee, sizeof larger);
    uint32_t size = sizeof larger.known + sizeof larger.later; /* as in a later version */
    CHECK_EQ_INT(redlatch_lock_options_init(&larger.known, size), REDLATCH_OK);
    CHECK_EQ_INT(larger.known.struct_size, size);
    CHECK_EQ_INT(larger.known.owner_mode, REDLATCH_OWNER_THREAD);
    CHECK_EQ_INT(larger.known.lease_ms, REDLATCH_RENEWED);
    CHECK_EQ_INT(larger.known.max_hold_ms, REDLATCH_FOREVER);
    CHECK_EQ_INT(larger.later[0], 0);
    CHECK_EQ_INT(larger.later[7], 0);
    CHECK_EQ_INT(larger.behind, 0xee);
    memset(&larger, 0xee, sizeof larger);
    CHECK_EQ_INT(redlatch_lock_options_init(&larger.known, 16), REDLATCH_OK); /* as in an earlier version */
    CHECK_EQ_INT(larger.known.lease_ms, REDLATCH_RENEWED);
    CHECK(larger.known.max_hold_ms != REDLATCH_FOREVER);
    CHECK_EQ_INT(redlatch_lock_options_init(NULL, 16), REDLATCH_INVALID);
}

static void ranges_of_durations(void) {
    CHECK_EQ_INT(check_duration("it", 1, 1, false), REDLATCH_OK);
    CHECK_EQ_INT(check_duration("it", DURATION_MAX_MS, 1, false), REDLATCH_OK);
    CHECK_EQ_INT(check_duration("it", REDLATCH_FOREVER, 0, true), REDLATCH_OK);
    CHECK_EQ_INT(check_duration("it", 0, 0, true), REDLATCH_OK);
    static const int64_t bad[] = {INT64_MIN, -3, -2, -1, 0, DURATION_MAX_MS + 1, INT64_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char expected[160];
        CHECK_EQ_INT(check_duration("it", bad[i], 1, false), REDLATCH_INVALID);
        snprintf(expected, sizeof expected, "it is %lld: expected 1 to 315360000000 milliseconds", (long long)bad[i]);
        CHECK_STR(redlatch_last_error(), expected);
    }
    CHECK_EQ_INT(check_duration("it", -2, 0, true), REDLATCH_INVALID);
    CHECK_STR(redlatch_last_error(), "it is -2: expected -1 (for ever) or 0 to 315360000000 milliseconds");
}

/* Opens a lazy client, which needs no server. */
static int open_lazily(const char *url, redlatch_client_options *options) {
    options->lazy = 1;
    redlatch_client *client = NULL;
    int status = redlatch_client_open(url, options, &client);
    CHECK((status == REDLATCH_OK) == (client != NULL));
    redlatch_client_free(client);
    return status;
}

static redlatch_client_options fresh(void) {
    redlatch_client_options options;
    CHECK_EQ_INT(redlatch_client_options_init(&options, sizeof options), REDLATCH_OK);
    return options;
}

static void check_refused(redlatch_client_options options, const char *words) {
    CHECK_EQ_INT(open_lazily("unix:///nowhere", &options), REDLATCH_INVALID);
    CHECK_STR(redlatch_last_error(), words);
}

static void labels_that_no_connection_can_have(void) {
    static const char *const rows[][2] = {
        {"", ""},
        {"two words", "two words"},
        {"tab\t", "tab."},
        {"\x7f", "."},
        {"gr\xc3\xbc\xc3\x9f", "gr...."},
        {"01234567890123456789012345678901234567890123456789012345678901234",
         "012345678901234567890123456789012345678901234567890123456..."},
    };
    redlatch_client_options options = fresh();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char words[200];
        snprintf(words, sizeof words, "label \"%s\": expected 1 to 64 visible ASCII characters, none of them a blank",
                 rows[i][1]);
        options.label = rows[i][0];
        check_refused(options, words);
    }
}

static void ranges_of_client_options(void) {
    redlatch_client_options options = fresh();
    CHECK_EQ_INT(open_lazily("unix:///nowhere", &options), REDLATCH_OK);
    options.database = 1000001;
    check_refused(options, "database is 1000001: expected 0 to 1000000");
    options.database = -1;
    check_refused(options, "database is -1: expected 0 to 1000000");
    options = fresh();
    options.watchdog_lease_ms = 29;
    check_refused(options, "watchdog_lease_ms is 29: expected 30 to 86400000 milliseconds");
    options.watchdog_lease_ms = 86400001;
    check_refused(options, "watchdog_lease_ms is 86400001: expected 30 to 86400000 milliseconds");
    options = fresh();
    options.busy_poll = 2;
    check_refused(options, "busy_poll is 2: expected 0 or 1");
    options = fresh();
    options.release_on_close = -1;
    check_refused(options, "release_on_close is -1: expected 0 or 1");
    options = fresh();
    options.language = 7;
    check_refused(options, "language is 7: expected one of enum redlatch_language");
    options = fresh();
    options.connect_timeout_ms = 0;
    check_refused(options, "connect_timeout_ms is 0: expected 1 to 315360000000 milliseconds");
    options = fresh();
    options.name_prefix_size = 5;
    check_refused(options, "name_prefix is NULL: expected name_prefix_size bytes");
    options.name_prefix = "";
    options.name_prefix_size = REDLATCH_NAME_SIZE_MAX;
    check_refused(options, "name_prefix has 65535 bytes: expected fewer than 65535");
    options = fresh();
    options.sentinel_password = "SECRET";
    check_refused(options, "sentinel_password is given: expected a redis+sentinel:// URL with it");
    options = fresh();
    options.struct_size = 4;
    check_refused(options, "client options.struct_size is 4: expected sizeof the struct");
    redlatch_client *client = NULL;
    CHECK_EQ_INT(redlatch_client_open("unix:///nowhere", NULL, NULL), REDLATCH_INVALID);
    CHECK_EQ_INT(redlatch_client_open("nowhere", NULL, &client), REDLATCH_INVALID);
    CHECK(client == NULL);
}

static void ranges_of_a_back_off(void) {
    static const struct {
        int64_t initial_ms, max_ms;
        int32_t multiplier;
        const char *message; /* NULL: allowed */
    } cases[] = {
        {1, 1, 1, NULL},
        {3600000, 3600000, 1000, NULL},
        {0, 1, 1, "back_off is 0 to 1 ms: expected 1 ms or more, up to 3600000 ms"},
        {2, 1, 1, "back_off is 2 to 1 ms: expected 1 ms or more, up to 3600000 ms"},
        {1, 3600001, 1, "back_off is 1 to 3600001 ms: expected 1 ms or more, up to 3600000 ms"},
        {1, 1, 0, "back_off_multiplier is 0: expected 1 to 1000"},
        {1, 1, 1001, "back_off_multiplier is 1001: expected 1 to 1000"},
    };
    redlatch_lock_options options;
    CHECK_EQ_INT(redlatch_lock_options_init(&options, sizeof options), REDLATCH_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        redlatch_lock_options read;
        options.back_off_initial_ms = cases[i].initial_ms;
        options.back_off_max_ms = cases[i].max_ms;
        options.back_off_multiplier = cases[i].multiplier;
        int status = lock_options_of(REDLATCH_SPIN, &options, &read);
        CHECK_EQ_INT(status, cases[i].message ? REDLATCH_INVALID : REDLATCH_OK);
        if (cases[i].message) {
            CHECK_STR(redlatch_last_error(), cases[i].message);
        }
        CHECK_EQ_INT(lock_options_of(REDLATCH_MUTEX, &options, &read), REDLATCH_OK); /* a mutex does not poll */
    }
}

static void options_of_semaphores(void) {
    static const struct {
        bool permits;
        int32_t must_exist;
        int64_t limit, lease_ms;
        const char *message;
    } bad[] = {
        {false, 2, 0, REDLATCH_RENEWED, "must_exist is 2: expected 0 or 1"},
        {false, 0, -1, REDLATCH_RENEWED, "limit is -1: expected 0 to 2147483647"},
        {true, 1, 7, REDLATCH_RENEWED, "must_exist is 1 and limit is 7: expected one of them"},
        {false, 0, 0, 500, "lease_ms is 500: expected REDLATCH_RENEWED for a semaphore without leases"},
        {true, 0, 0, 0, "lease_ms is 0: expected 1 to 315360000000 milliseconds"},
    };
    redlatch_semaphore_options options;
    CHECK_EQ_INT(redlatch_semaphore_options_init(NULL, sizeof options), REDLATCH_INVALID);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        redlatch_semaphore_options read;
        CHECK_EQ_INT(redlatch_semaphore_options_init(&options, sizeof options), REDLATCH_OK);
        CHECK(options.must_exist == 0 && options.limit == 0 && options.lease_ms == REDLATCH_RENEWED);
        CHECK_EQ_INT(semaphore_options_of(&options, bad[i].permits, &read), REDLATCH_OK);
        options.must_exist = bad[i].must_exist;
        options.limit = bad[i].limit;
        options.lease_ms = bad[i].lease_ms;
        CHECK_EQ_INT(semaphore_options_of(&options, bad[i].permits, &read), REDLATCH_INVALID);
        CHECK_STR(redlatch_last_error(), bad[i].message);
    }
    CHECK_EQ_INT(semaphore_options_of(NULL, false, &options), REDLATCH_OK);
    CHECK_EQ_INT(options.lease_ms, REDLATCH_RENEWED);
}

int main(void) {
    RUN(shorter_structs_leave_defaults);
    RUN(longer_structs_must_be_zero_there);
    RUN(impossible_sizes_are_refused);
    RUN(answers_fit_the_caller);
    RUN(defaults_of_a_client);
    RUN(defaults_of_a_lock);
    RUN(ranges_of_durations);
    RUN(ranges_of_client_options);
    RUN(labels_that_no_connection_can_have);
    RUN(ranges_of_a_back_off);
    RUN(options_of_semaphores);
    return unit_done();
}
