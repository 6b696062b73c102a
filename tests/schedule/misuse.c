/* Calls with invalid arguments. Each must say which argument is wrong and what was expected.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "players_shared.h"
#include "redlatch_groups.h"
#include "schedule.h"

static void misuse_clients(void) {
    static const char *const urls[] = {"",
                                       "tcp://host",
                                       "redis://host:0",
                                       "redis://host:70000",
                                       "redis://host/x",
                                       "redis://host/1000001",
                                       "redis://a:b@:1",
                                       "redis://[::1",
                                       "redis://host?a=1",
                                       "redis://host?connect_timeout=x",
                                       "redis://host?connect_timeout=0",
                                       "unix://",
                                       "redis://%zz@host"};
    redlatch_client *client = NULL;
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        log_call(urls[i], redlatch_client_open(urls[i], NULL, &client));
    }
    log_call("no URL", redlatch_client_open(NULL, NULL, &client));
    log_call("no client_out", redlatch_client_open("unix:///s0", NULL, NULL));
    redlatch_client_options good;
    redlatch_client_options_init(&good, sizeof good);
    redlatch_client_options bad[14];
    for (int i = 0; i < 14; i++) {
        bad[i] = good;
    }
    bad[0].struct_size = 4;
    bad[1].watchdog_lease_ms = 29;
    bad[2].connect_timeout_ms = 0;
    bad[3].command_timeout_ms = -5;
    bad[4].dead_peer_timeout_ms = 0;
    bad[5].unreachable_timeout_ms = -2;
    bad[6].close_timeout_ms = -2;
    bad[7].claim_timeout_ms = -2;
    bad[8].linger_ms = -2;
    bad[9].lazy = 2;
    bad[10].database = 1000001;
    bad[11].language = 9;
    bad[12].name_prefix_size = 3;
    bad[13].fair_timeout_ms = 0;
    for (int i = 0; i < 14; i++) {
        log_call("client option", redlatch_client_open("unix:///s0", &bad[i], &client));
    }
}

/* Values at the bounds, and one below and above them. */
static void misuse_bounds(void) {
    static const int64_t bounds[] = {0, 1, 10, 30, 86400000, INT64_C(315360000000)};
    redlatch_client_options good;
    redlatch_client_options_init(&good, sizeof good);
    good.lazy = 1;
    for (int i = 0; i < 18; i++) {
        for (int64_t off = -1; off <= 1; off++) {
            redlatch_client_options options = good;
            int64_t *fields[] = {&options.watchdog_lease_ms, &options.command_timeout_ms, &options.linger_ms};
            *fields[i % 3] = bounds[i / 3] + off;
            redlatch_client *client = NULL;
            log_call("bound", redlatch_client_open("unix:///s0", &options, &client));
            redlatch_client_free(client);
        }
    }
    for (int32_t database = 999999; database <= 1000001; database++) {
        redlatch_client_options options = good;
        options.database = database;
        redlatch_client *client = NULL;
        log_call("database", redlatch_client_open("unix:///s0", &options, &client));
        redlatch_client_free(client);
    }
}

static void misuse_lock_options(redlatch_client *client) {
    redlatch_lock *lock = NULL;
    redlatch_lock_options good;
    redlatch_lock_options_init(&good, sizeof good);
    redlatch_lock_options bad[11];
    for (int i = 0; i < 11; i++) {
        bad[i] = good;
    }
    bad[0].struct_size = 3;
    bad[1].owner_mode = 7;
    bad[2].lease_ms = 0;
    bad[3].max_hold_ms = 0;
    bad[4].reentrant = 2;
    bad[5].token_from_time = 2;
    bad[6].key_template = "x{name}";
    bad[6].key_template_size = 7;
    bad[7].back_off_initial_ms = 0;
    bad[8].back_off_multiplier = 1001;
    bad[9].owner = 12345;
    bad[10].back_off_max_ms = 1;
    for (int i = 0; i < 11; i++) {
        int kind = i < 7 ? REDLATCH_MUTEX : REDLATCH_SPIN;
        lock = NULL;
        log_call("lock option", redlatch_lock_new(client, kind, "a", 1, &bad[i], &lock));
        redlatch_lock_free(lock);
    }
    log_call("kind", redlatch_lock_new(client, 77, "a", 1, NULL, &lock));
    log_call("kind", redlatch_lock_new(client, REDLATCH_GROUP, "a", 1, NULL, &lock));
    log_call("name", redlatch_lock_new(client, REDLATCH_MUTEX, "", 0, NULL, &lock));
    log_call("name", redlatch_lock_new(client, REDLATCH_MUTEX, NULL, 1, NULL, &lock));
    log_call("name", redlatch_lock_new(client, REDLATCH_MUTEX, "a", REDLATCH_NAME_SIZE_MAX + 1, NULL, &lock));
    log_call("lock_out", redlatch_lock_new(client, REDLATCH_MUTEX, "a", 1, NULL, NULL));
    log_call("client", redlatch_lock_new(NULL, REDLATCH_MUTEX, "a", 1, NULL, &lock));
    redlatch_value nothing = {NULL, 2};
    log_call("values", redlatch_group_lock_new(client, "g", 1, NULL, 1, NULL, &lock));
    log_call("values", redlatch_group_lock_new(client, "g", 1, &nothing, 0, NULL, &lock));
    log_call("values", redlatch_group_lock_new(client, "g", 1, &nothing, 1, NULL, &lock));
    static const redlatch_value value = {"x", 1};
    log_call("lock_out", redlatch_group_lock_new(client, "g", 1, &value, 1, NULL, NULL));
    log_call("client", redlatch_group_lock_new(NULL, "g", 1, &value, 1, NULL, &lock));
    log_call("name", redlatch_group_lock_new(client, "", 0, &value, 1, NULL, &lock));
    log_call("option", redlatch_group_lock_new(client, "g", 1, &value, 1, &bad[1], &lock));
    redlatch_lock_options template = good;
    template.key_template = "{name}";
    for (uint64_t size = REDLATCH_NAME_SIZE_MAX - 1; size <= REDLATCH_NAME_SIZE_MAX + 1; size++) {
        template.key_template_size = size == REDLATCH_NAME_SIZE_MAX + 1 ? size : 6;
        log_call("template", redlatch_lock_new(client, REDLATCH_PLAIN, "a", 1, &template, &lock));
        redlatch_lock_free(lock);
        lock = NULL;
    }
}

static void misuse_composites(const struct house *house) {
    redlatch_lock *lock = NULL;
    redlatch_lock *twice[] = {house->locks[0], house->locks[0]};
    redlatch_lock *two[] = {house->locks[0], NULL};
    log_call("members", redlatch_multi_lock_new(NULL, 2, NULL, &lock));
    log_call("members", redlatch_multi_lock_new(twice, 0, NULL, &lock));
    log_call("members", redlatch_multi_lock_new(twice, 2, NULL, &lock));
    log_call("members", redlatch_multi_lock_new(two, 2, NULL, &lock));
    log_call("members", redlatch_multi_lock_new(twice, 1, NULL, NULL));
}

static redlatch_lock *new_lock(redlatch_client *client, int kind, const char *name) {
    redlatch_lock *lock = NULL;
    redlatch_lock_new(client, kind, name, strlen(name), NULL, &lock);
    return lock;
}

/* Members that cannot be in one composite lock. */
static void misuse_members(void) {
    static const redlatch_value x = {"x", 1};
    static const redlatch_value y = {"y", 1};
    redlatch_client *clients[3] = {NULL};
    for (int i = 0; i < 3; i++) {
        log_call("open", redlatch_client_open(i == 2   ? "unix:///s0"
                                              : i == 1 ? "unix:///s1"
                                                       : "unix:///s0",
                                              NULL, &clients[i]));
    }
    redlatch_lock_options prefixed;
    redlatch_lock_options_init(&prefixed, sizeof prefixed);
    prefixed.owner_mode = REDLATCH_OWNER_HANDLE;
    redlatch_lock *of_handle = NULL;
    redlatch_lock_new(clients[0], REDLATCH_MUTEX, "handle", 6, &prefixed, &of_handle);
    redlatch_lock *groups[2] = {NULL};
    redlatch_group_lock_new(clients[0], "group", 5, &x, 1, NULL, &groups[0]);
    redlatch_group_lock_new(clients[0], "group", 5, &y, 1, NULL, &groups[1]);
    redlatch_lock *pairs[][3] = {
        {new_lock(clients[0], REDLATCH_MUTEX, "a"), new_lock(clients[0], REDLATCH_MUTEX, "a"), NULL},
        {new_lock(clients[0], REDLATCH_READ, "a"), new_lock(clients[0], REDLATCH_WRITE, "a"), NULL},
        {new_lock(clients[0], REDLATCH_MUTEX, "a"), new_lock(clients[0], REDLATCH_FAIR, "a"), NULL},
        {new_lock(clients[0], REDLATCH_SPIN, "a"), new_lock(clients[1], REDLATCH_SPIN, "b"), NULL},
        {new_lock(clients[0], REDLATCH_FAIR, "a"), new_lock(clients[1], REDLATCH_FAIR, "b"), NULL},
        {new_lock(clients[0], REDLATCH_MUTEX, "a"), new_lock(clients[2], REDLATCH_MUTEX, "a"),
         new_lock(clients[1], REDLATCH_MUTEX, "a")},
        {groups[0], groups[1], NULL},
        {new_lock(clients[0], REDLATCH_MUTEX, "a"), of_handle, NULL}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        redlatch_lock *whole = NULL;
        size_t count = pairs[i][2] ? 3 : 2;
        log_call("multi lock", redlatch_multi_lock_new(pairs[i], count, NULL, &whole));
        redlatch_lock *of_composite[] = {whole, pairs[i][0]};
        if (whole) {
            log_call("members", redlatch_multi_lock_new(of_composite, 2, NULL, &of_composite[1]));
            log_call("query", redlatch_lock_query(whole, NULL));
        }
        redlatch_lock_free(whole);
        for (int allow_few = 0; allow_few <= 2; allow_few++) {
            whole = NULL;
            log_call("redlock", redlatch_redlock_new(pairs[i], count, allow_few, NULL, &whole));
            redlatch_lock_free(whole);
        }
        for (size_t j = 0; j < count; j++) {
            redlatch_lock_free(pairs[i][j]);
        }
    }
    for (int i = 0; i < 3; i++) {
        redlatch_client_free(clients[i]);
    }
}

static void misuse_calls(const struct house *house) {
    redlatch_lock *lock = house->locks[0];
    redlatch_lock_state state = {.struct_size = 2};
    log_call("wait_ms", redlatch_lock_acquire(lock, -4));
    log_call("lease_ms", redlatch_lock_acquire_as(lock, 0, 0, 0, NULL));
    log_call("lease_ms", redlatch_lock_acquire_as(lock, 0, -9, 0, NULL));
    log_call("owner", redlatch_lock_acquire_as(lock, 99, REDLATCH_RENEWED, 0, NULL));
    log_call("wait_out", redlatch_lock_begin_acquire(lock, 0, REDLATCH_RENEWED, 0, NULL, NULL));
    log_call("owner", redlatch_lock_release_as(lock, 99));
    log_call("lease_ms", redlatch_lock_extend(lock, 0, 0));
    log_call("lock", redlatch_lock_release(NULL));
    log_call("state_out", redlatch_lock_query(lock, NULL));
    log_call("state_out", redlatch_lock_query(lock, &state));
    log_call("cancel_out", redlatch_cancel_new(NULL));
    log_call("cancel", redlatch_cancel_fire(NULL));
    log_call("owner", redlatch_lock_start_acquire(lock, 99, REDLATCH_RENEWED, 0, 1));
    log_call("fd_out", redlatch_client_event_fd(house->client, NULL));
    log_call("event_out", redlatch_client_next_event(house->client, NULL));
    log_call("owner_out", redlatch_owner_new(NULL));
    log_call("owner", redlatch_owner_end(0));
    log_call("owner", redlatch_owner_end(99));
    log_call("stats_out", redlatch_client_stats(house->client, NULL));
}

static void misuse_counts(const struct house *house) {
    static const int64_t amounts[] = {0, -1, INT64_C(2147483648), INT64_C(-2147483648), 1001, 1};
    int64_t number = 0;
    uint64_t serial = 0;
    for (size_t i = 0; i < sizeof amounts / sizeof amounts[0]; i++) {
        log_call("permits", redlatch_semaphore_acquire(house->semaphore, amounts[i], 0, NULL));
        log_call("permits", redlatch_semaphore_release(house->semaphore, amounts[i]));
        log_call("permits", redlatch_semaphore_release_if_exists(house->semaphore, amounts[i], NULL));
        log_call("permits", redlatch_semaphore_start_acquire(house->semaphore, amounts[i], 0, 1));
        log_call("permits", redlatch_semaphore_start_release(house->semaphore, amounts[i], 1));
        log_call("permits", redlatch_semaphore_start_release_if_exists(house->semaphore, amounts[i], 1));
        log_call("permits", redlatch_semaphore_start_try_set_permits(house->semaphore, amounts[i], -7, 1));
        log_call("permits", redlatch_semaphore_add_permits(house->semaphore, amounts[i]));
        log_call("permits",
                 redlatch_permit_semaphore_acquire(house->permits, amounts[i], REDLATCH_RENEWED, 0, NULL, &serial));
        log_call("permits", redlatch_permit_semaphore_try_set_permits(house->permits, amounts[i], NULL));
        log_call("permits", redlatch_semaphore_try_set_permits(house->semaphore, amounts[i], 0, NULL));
        log_call("permits", redlatch_permit_semaphore_set_permits(house->permits, amounts[i]));
        log_call("permits", redlatch_permit_semaphore_add_permits(house->permits, amounts[i]));
        log_call("count", redlatch_latch_try_set_count(house->latch, amounts[i], NULL));
    }
    log_call("acquire for ever", redlatch_semaphore_acquire(house->semaphore, 1, REDLATCH_FOREVER, NULL));
    log_call("ttl_ms", redlatch_semaphore_try_set_permits(house->semaphore, 1, -7, NULL));
    log_call("available_out", redlatch_semaphore_available(house->semaphore, NULL));
    log_call("count_out", redlatch_latch_count(house->latch, NULL));
    log_call("id", redlatch_permit_semaphore_release(house->permits, "x"));
    log_call("id", redlatch_permit_semaphore_release(house->permits, NULL));
    log_call("id", redlatch_permit_semaphore_lease_of(house->permits, "00000000000000000000000000000000", &number));
    redlatch_semaphore *semaphore = NULL;
    redlatch_permit_semaphore *permits = NULL;
    redlatch_latch *latch = NULL;
    redlatch_wait *wait = NULL;
    log_call("client", redlatch_semaphore_new(NULL, "a", 1, NULL, &semaphore));
    log_call("client", redlatch_permit_semaphore_new(NULL, "a", 1, NULL, &permits));
    log_call("client", redlatch_latch_new(NULL, "a", 1, &latch));
    log_call("name", redlatch_semaphore_new(house->client, "", 0, NULL, &semaphore));
    log_call("name", redlatch_permit_semaphore_new(house->client, "", 0, NULL, &permits));
    log_call("name", redlatch_latch_new(house->client, "", 0, &latch));
    log_call("semaphore_out", redlatch_semaphore_new(house->client, "a", 1, NULL, NULL));
    log_call("permits_out", redlatch_permit_semaphore_new(house->client, "a", 1, NULL, NULL));
    log_call("latch_out", redlatch_latch_new(house->client, "a", 1, NULL));
    redlatch_semaphore_free(NULL);
    redlatch_permit_semaphore_free(NULL);
    redlatch_latch_free(NULL);
    log_call("wait_ms", redlatch_semaphore_acquire(house->semaphore, 1, -8, NULL));
    log_call("wait_ms", redlatch_semaphore_begin_acquire(house->semaphore, 1, -8, NULL, &wait));
    log_call("permits", redlatch_semaphore_begin_acquire(house->semaphore, -1, 0, NULL, &wait));
    log_call("wait_out", redlatch_semaphore_begin_acquire(house->semaphore, 1, 0, NULL, NULL));
    log_call("wait_ms", redlatch_permit_semaphore_acquire(house->permits, 1, REDLATCH_RENEWED, -8, NULL, &serial));
    log_call("lease_ms", redlatch_permit_semaphore_begin_acquire(house->permits, 1, -9, 0, NULL, &wait));
    log_call("wait_ms", redlatch_latch_wait(house->latch, -8, NULL));
    log_call("wait_ms", redlatch_latch_begin_wait(house->latch, -8, NULL, &wait));
    log_call("latch", redlatch_latch_wait(NULL, 0, NULL));
    log_call("latch", redlatch_latch_begin_wait(NULL, 0, NULL, &wait));
    log_call("permits", redlatch_permit_semaphore_acquired(NULL, &number));
    log_call("semaphore", redlatch_semaphore_available(NULL, &number));
    log_call("wait_ms", redlatch_semaphore_start_acquire(house->semaphore, 1, -8, 1));
    log_call("wait_ms", redlatch_latch_start_wait(house->latch, -8, 1));
    log_call("serial_out", redlatch_permit_semaphore_acquire(house->permits, 1, REDLATCH_RENEWED, 0, NULL, NULL));
    log_call("semaphore", redlatch_semaphore_release(NULL, 1));
    log_call("latch", redlatch_latch_count_down(NULL));
}

static void misuse_reports(const struct house *house) {
    redlatch_report *report = NULL;
    redlatch_scan *scan = NULL;
    log_call("report_out", redlatch_client_inspect(house->client, "a", 1, NULL, NULL));
    log_call("name", redlatch_client_inspect(house->client, "", 0, NULL, &report));
    log_call("pattern", redlatch_scan_new(house->client, NULL, 2, &scan));
    log_call("pattern", redlatch_scan_new(house->client, "x", 1 << 20, &scan));
    log_call("scan_out", redlatch_scan_new(house->client, "x", 1, NULL));
    log_call("wait_ms", redlatch_client_wait_free(house->client, "a", 1, -8, NULL));
    log_call("wait_ms", redlatch_client_wait_lost(house->client, -8, NULL));
    log_call("wait_ms", redlatch_client_start_wait_free(house->client, "a", 1, -8, 1));
    redlatch_wait *wait = NULL;
    log_call("wait_ms", redlatch_client_begin_wait_free(house->client, "a", 1, -8, NULL, &wait));
    log_call("wait", redlatch_wait_continue(NULL, 0, NULL));
    if (log_call("scan", redlatch_scan_new(house->client, "*", 1, &scan)) == REDLATCH_OK) {
        log_call("report_out", redlatch_scan_next(scan, NULL));
        log_call("next", redlatch_scan_start_next(scan, 7));
        log_call("next", redlatch_scan_next(scan, &report));
        redlatch_scan_free(scan);
    }
    if (log_call("inspect", redlatch_client_inspect(house->client, "a", 1, NULL, &report)) == REDLATCH_OK) {
        redlatch_party party = {.struct_size = sizeof party};
        log_call("index", redlatch_report_party(report, 0, &party));
        log_call("facts_out", redlatch_report_facts(report, NULL));
        redlatch_report_free(report);
    }
}

/* Long names and names of any bytes, as error texts show them. */
static void misuse_names(redlatch_client *client) {
    static const size_t sizes[] = {39, 40, 41, 59, 60, 61, 62, 63, 64, 65, 99, 100, 101, 127, 128, 200};
    char name[200];
    for (size_t i = 0; i < sizeof name; i++) {
        name[i] = (char)(i % 7 == 0 ? i : 'a' + i % 26);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        redlatch_lock *lock = NULL;
        if (log_call("long name", redlatch_lock_new(client, REDLATCH_MUTEX, name, sizes[i], NULL, &lock)) ==
            REDLATCH_OK) {
            log_call("release", redlatch_lock_release(lock));
            redlatch_lock_free(lock);
        }
    }
}

void misuse_all(const struct house *house) {
    misuse_clients();
    misuse_bounds();
    misuse_lock_options(house->client);
    misuse_composites(house);
    misuse_members();
    misuse_calls(house);
    misuse_counts(house);
    misuse_reports(house);
    misuse_names(house->client);
    wrong_kinds();
}
