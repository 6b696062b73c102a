/* Bad input of every kind, and option structs of callers that were built with another version of the header.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stage.h"
#include "witness.h"

#define DECADE_MS (INT64_C(10) * 365 * 86400 * 1000)

/* Ends the program unless the call returns the status and the last error contains both texts. */
#define REFUSED(call, status, one, other) \
    do { \
        STATUS(call, status); \
        MUST(strstr(redlatch_last_error(), one) && strstr(redlatch_last_error(), other), "the words are: %s", \
             redlatch_last_error()); \
    } while (0)
#define INVALID(call, one, other) REFUSED(call, REDLATCH_INVALID, one, other)

static redlatch_client *client;
static redlatch_lock *lock;

static void begin(void) {
    client = client_new();
    lock = lock_new(client, 1);
}

static void end(void) {
    redlatch_lock_free(lock);
    redlatch_client_free(client);
}

static int new_named(const char *name, size_t size) {
    redlatch_lock *made = NULL;
    int status = redlatch_lock_new(client, REDLATCH_MUTEX, name, size, NULL, &made);
    redlatch_lock_free(made);
    return status;
}

static void names(void) {
    begin();
    char *longest = calloc(1, REDLATCH_NAME_SIZE_MAX + 1);
    MUST(longest, "no memory");
    memset(longest, 'n', REDLATCH_NAME_SIZE_MAX + 1);
    INVALID(new_named("", 0), "empty", "1 to 65535");
    INVALID(new_named(NULL, 5), "name", "1 to 65535");
    INVALID(new_named(longest, REDLATCH_NAME_SIZE_MAX + 1), "65536", "65535");
    OK(new_named(longest, REDLATCH_NAME_SIZE_MAX));
    redlatch_client_options options = client_defaults();
    options.name_prefix = "abc";
    options.name_prefix_size = 3;
    redlatch_client *prefixed = client_with(&options);
    redlatch_lock *made = NULL;
    INVALID(redlatch_lock_new(prefixed, REDLATCH_MUTEX, longest, REDLATCH_NAME_SIZE_MAX - 2, NULL, &made), "65536",
            "65535");
    OK(redlatch_lock_new(prefixed, REDLATCH_MUTEX, longest, REDLATCH_NAME_SIZE_MAX - 3, NULL, &made));
    OK(redlatch_lock_acquire(made, 0));
    OK(redlatch_lock_release(made));
    redlatch_lock_free(made);
    redlatch_client_free(prefixed);
    free(longest);
    /* Every byte is allowed in a name, NUL too. */
    static const char zero[] = "a\0b\r\n\xff";
    OK(redlatch_lock_new(client, REDLATCH_MUTEX, zero, sizeof zero - 1, NULL, &made));
    OK(redlatch_lock_acquire(made, 0));
    redlatch_lock_state state = {.struct_size = sizeof state};
    OK(redlatch_lock_query(made, &state));
    MUST(state.locked, "not locked");
    OK(redlatch_lock_release(made));
    redlatch_lock_free(made);
    INVALID(redlatch_lock_new(client, 77, "x", 1, NULL, &made), "77", "redlatch_kind");
    INVALID(redlatch_lock_new(client, REDLATCH_MUTEX, "x", 1, NULL, NULL), "lock_out", "expected");
    end();
}

static void durations(void) {
    begin();
    static const int64_t bad_leases[] = {0, -3, -100, INT64_MIN, INT64_MAX, DECADE_MS + 1};
    for (size_t i = 0; i < sizeof bad_leases / sizeof bad_leases[0]; i++) {
        int64_t lease = bad_leases[i];
        char shown[40];
        snprintf(shown, sizeof shown, "%lld", (long long)lease);
        INVALID(redlatch_lock_acquire_as(lock, 0, lease, 0, NULL), shown, "lease_ms");
        INVALID(redlatch_lock_start_acquire(lock, 5, lease, 0, 1), shown, "lease_ms");
        INVALID(redlatch_lock_extend(lock, 0, lease), shown, "1 to ");
        INVALID(redlatch_lock_start_extend(lock, 5, lease, 1), shown, "1 to ");
        redlatch_lock_options options;
        OK(redlatch_lock_options_init(&options, sizeof options));
        options.lease_ms = lease;
        redlatch_lock *made = NULL;
        INVALID(redlatch_lock_new(client, REDLATCH_MUTEX, "x", 1, &options, &made), shown, "lease_ms");
        MUST(!made, "written on failure");
        options.lease_ms = REDLATCH_RENEWED;
        options.max_hold_ms = lease;
        INVALID(redlatch_lock_new(client, REDLATCH_MUTEX, "x", 1, &options, &made), shown, "max_hold_ms");
    }
    INVALID(redlatch_lock_acquire(lock, -2), "-2", "wait_ms");
    INVALID(redlatch_lock_acquire(lock, INT64_MAX), "9223372036854775807", "wait_ms");
    INVALID(redlatch_lock_acquire(lock, INT64_MIN), "-9223372036854775808", "wait_ms");
    INVALID(redlatch_lock_begin_acquire(lock, 0, 1000, 0, NULL, NULL), "wait_out", "expected");
    redlatch_cancel *cancel = NULL;
    OK(redlatch_cancel_new(&cancel));
    redlatch_wait *wait = NULL;
    OK(redlatch_lock_begin_acquire(lock, 0, 1000, 0, cancel, &wait));
    INVALID(redlatch_wait_continue(wait, -7, NULL), "-7", "max_block_ms");
    redlatch_wait_drop(wait);
    redlatch_cancel_free(cancel);
    INVALID(redlatch_lock_start_acquire(lock, 0, 1000, 0, 1), "owner is 0", "expected");
    INVALID(redlatch_owner_end(0), "owner is 0", "expected");
    OK(redlatch_lock_acquire_as(lock, 0, DECADE_MS, DECADE_MS, NULL));
    MUST(ask("PTTL %s", stage_name(1)) > DECADE_MS - 60000, "not the lease asked for");
    OK(redlatch_lock_release(lock));
    STATUS(redlatch_lock_acquire_as(lock, 0, 1, 0, NULL), REDLATCH_LOST); /* the lease ended before the reply */
    UNTIL(ask("EXISTS %s", stage_name(1)) == 0);
    end();
}

static void lists_that_are_missing(void) {
    begin();
    redlatch_lock *made = NULL;
    INVALID(redlatch_multi_lock_new(NULL, 2, NULL, &made), "members is NULL", "expected an array of 2 locks");
    INVALID(redlatch_redlock_new(NULL, 3, 0, NULL, &made), "members is NULL", "expected an array of 3 locks");
    INVALID(redlatch_multi_lock_new(&lock, 0, NULL, &made), "count is 0", "expected 1 to 100 members");
    INVALID(redlatch_group_lock_new(client, "g", 1, NULL, 2, NULL, &made), "values is NULL", "an array of 2 values");
    INVALID(redlatch_group_lock_new(client, "g", 1, NULL, 0, NULL, &made), "values are 0", "expected 1 to 10000");
    MUST(!made, "written on failure");
    end();
}

/* A name is a member by each of two clients of one server. Both have another member behind it in the order of names. */
static void member_of_two_clients(void) {
    begin();
    static const char *const names[] = {"twice", "with", "twice", "zoo"};
    redlatch_client *other = client_new();
    redlatch_lock *members[4];
    redlatch_lock *made = NULL;
    for (int i = 0; i < 4; i++) {
        redlatch_client *of = i < 2 ? client : other;
        OK(redlatch_lock_new(of, REDLATCH_MUTEX, names[i], strlen(names[i]), NULL, &members[i]));
    }
    INVALID(redlatch_multi_lock_new(members, 4, NULL, &made), "\"twice\" is a member twice", "expected each name once");
    MUST(!made, "written on failure");
    for (int i = 0; i < 4; i++) {
        redlatch_lock_free(members[i]);
    }
    redlatch_client_free(other);
    end();
}

struct number_field {
    const char *name;
    size_t offset;
    int64_t bad[3];
};

static void settings_of_kinds(void) {
    begin();
    redlatch_lock *made = NULL;
    redlatch_lock_options options;
    OK(redlatch_lock_options_init(&options, sizeof options));
    options.reentrant = 2;
    INVALID(redlatch_lock_new(client, REDLATCH_MUTEX, "x", 1, &options, &made), "reentrant is 2", "0 or 1");
    options.reentrant = 0;
    options.token_from_time = 1;
    INVALID(redlatch_lock_new(client, REDLATCH_MUTEX, "x", 1, &options, &made), "token_from_time is 1", "expected 0");
    options.token_from_time = -1;
    INVALID(redlatch_lock_new(client, REDLATCH_FENCED, "x", 1, &options, &made), "token_from_time is -1", "0 or 1");
    end();
}

static void client_options_out_of_range(void) {
    static const struct number_field fields[] = {
        {"watchdog_lease_ms", offsetof(redlatch_client_options, watchdog_lease_ms), {29, 86400001, -1}},
        {"connect_timeout_ms", offsetof(redlatch_client_options, connect_timeout_ms), {0, -1, DECADE_MS + 1}},
        {"command_timeout_ms", offsetof(redlatch_client_options, command_timeout_ms), {0, -2, INT64_MAX}},
        {"dead_peer_timeout_ms", offsetof(redlatch_client_options, dead_peer_timeout_ms), {9, -1, INT64_MIN}},
        {"unreachable_timeout_ms", offsetof(redlatch_client_options, unreachable_timeout_ms), {0, -1, INT64_MAX}},
        {"close_timeout_ms", offsetof(redlatch_client_options, close_timeout_ms), {-1, -5, INT64_MAX}},
        {"claim_timeout_ms", offsetof(redlatch_client_options, claim_timeout_ms), {0, -1, INT64_MAX}},
        {"linger_ms", offsetof(redlatch_client_options, linger_ms), {-1, INT64_MIN, INT64_MAX}},
        {"fair_timeout_ms", offsetof(redlatch_client_options, fair_timeout_ms), {99, -1, INT64_MAX}},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        for (int k = 0; k < 3; k++) {
            redlatch_client_options options = client_defaults();
            memcpy((char *)&options + fields[i].offset, &fields[i].bad[k], sizeof fields[i].bad[k]);
            char shown[40];
            snprintf(shown, sizeof shown, "is %lld", (long long)fields[i].bad[k]);
            redlatch_client *made = NULL;
            INVALID(redlatch_client_open(stage_url(), &options, &made), fields[i].name, shown);
            MUST(!made && strstr(redlatch_last_error(), "expected"), "%s", redlatch_last_error());
        }
    }
    redlatch_client *made = NULL;
    redlatch_client_options options = client_defaults();
    options.database = -1;
    INVALID(redlatch_client_open(stage_url(), &options, &made), "database", "-1");
    options = client_defaults();
    options.name_prefix_size = 4;
    INVALID(redlatch_client_open(stage_url(), &options, &made), "name_prefix", "NULL");
    options.name_prefix = "";
    options.name_prefix_size = UINT64_MAX;
    INVALID(redlatch_client_open(stage_url(), &options, &made), "name_prefix", "18446744073709551615");
    INVALID(redlatch_client_open(stage_url(), NULL, NULL), "client_out", "expected");
    INVALID(redlatch_client_options_init(NULL, sizeof options), "NULL", "expected");
    INVALID(redlatch_client_options_init(&options, 0), "struct_size is 0", "expected");
    INVALID(redlatch_lock_options_init(NULL, 8), "NULL", "expected");
    INVALID(redlatch_owner_new(NULL), "owner_out", "expected");
    INVALID(redlatch_cancel_new(NULL), "cancel_out", "expected");
    begin();
    redlatch_lock_options lock_options;
    redlatch_lock *lock_made = NULL;
    OK(redlatch_lock_options_init(&lock_options, sizeof lock_options));
    lock_options.owner_mode = 2;
    INVALID(redlatch_lock_new(client, REDLATCH_MUTEX, "x", 1, &lock_options, &lock_made), "owner_mode", "2");
    end();
}

/* Numbers that were never issued are refused as owners: small numbers, addresses, a number not yet issued. None of them
 * names the thread that holds the lock. */
static void owners_that_were_made_up(void) {
    begin();
    uint64_t issued;
    OK(redlatch_owner_new(&issued));
    OK(redlatch_lock_acquire(lock, 0));
    const uint64_t bad[] = {1, 2, 3, (uint64_t)(uintptr_t)&issued, issued + 1000000, UINT64_MAX, UINT64_C(1) << 63 | 1};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char shown[40];
        snprintf(shown, sizeof shown, "owner is %llu", (unsigned long long)bad[i]);
        redlatch_hold hold = {.struct_size = sizeof hold};
        INVALID(redlatch_lock_acquire_as(lock, bad[i], 1000, 0, NULL), shown, "redlatch_owner_new");
        INVALID(redlatch_lock_release_as(lock, bad[i]), shown, "redlatch_owner_new");
        INVALID(redlatch_lock_extend(lock, bad[i], 1000), shown, "redlatch_owner_new");
        INVALID(redlatch_lock_leave(lock, bad[i]), shown, "redlatch_owner_new");
        INVALID(redlatch_lock_hold_status(lock, bad[i], &hold), shown, "redlatch_owner_new");
        INVALID(redlatch_lock_start_acquire(lock, bad[i], 1000, 0, 1), shown, "redlatch_owner_new");
        INVALID(redlatch_lock_start_release(lock, bad[i], 1), shown, "redlatch_owner_new");
        INVALID(redlatch_lock_start_extend(lock, bad[i], 1000, 1), shown, "redlatch_owner_new");
        INVALID(redlatch_owner_end(bad[i]), shown, "redlatch_owner_new");
        redlatch_lock_options options;
        redlatch_lock *made = NULL;
        OK(redlatch_lock_options_init(&options, sizeof options));
        options.owner_mode = REDLATCH_OWNER_HANDLE;
        options.owner = bad[i];
        INVALID(redlatch_lock_new(client, REDLATCH_MUTEX, "x", 1, &options, &made), shown, "redlatch_owner_new");
    }
    STATUS(redlatch_lock_acquire_as(lock, issued, 1000, 0, NULL), REDLATCH_TIMEOUT);
    OK(redlatch_lock_release(lock));
    end();
}

static void handles(void) {
    begin();
    redlatch_event event = {.struct_size = sizeof event};
    redlatch_hold hold = {.struct_size = sizeof hold};
    redlatch_lock_state state = {.struct_size = sizeof state};
    redlatch_stats stats = {.struct_size = sizeof stats};
    redlatch_lock *freed = lock_new(client, 2);
    redlatch_lock_free(freed);
    redlatch_client *freed_client = client_new();
    redlatch_client_free(freed_client);
    redlatch_cancel *freed_cancel = NULL;
    OK(redlatch_cancel_new(&freed_cancel));
    redlatch_cancel_free(freed_cancel);
    redlatch_lock *bad_locks[] = {NULL, freed, (redlatch_lock *)(void *)client};
    redlatch_client *bad_clients[] = {NULL, freed_client, (redlatch_client *)(void *)lock};
    for (int i = 0; i < 3; i++) {
        const char *word = i == 0 ? "NULL" : "freed";
        redlatch_lock *made = NULL;
        int fd;
        REFUSED(redlatch_lock_acquire(bad_locks[i], 0), REDLATCH_BAD_HANDLE, "lock is", word);
        REFUSED(redlatch_lock_release(bad_locks[i]), REDLATCH_BAD_HANDLE, "lock is", word);
        REFUSED(redlatch_lock_extend(bad_locks[i], 0, 1), REDLATCH_BAD_HANDLE, "lock is", word);
        REFUSED(redlatch_lock_leave(bad_locks[i], 0), REDLATCH_BAD_HANDLE, "lock is", word);
        REFUSED(redlatch_lock_hold_status(bad_locks[i], 0, &hold), REDLATCH_BAD_HANDLE, "lock is", word);
        REFUSED(redlatch_lock_query(bad_locks[i], &state), REDLATCH_BAD_HANDLE, "lock is", word);
        REFUSED(redlatch_lock_force_release(bad_locks[i], NULL), REDLATCH_BAD_HANDLE, "lock is", word);
        REFUSED(redlatch_lock_start_acquire(bad_locks[i], 1, 1, 0, 1), REDLATCH_BAD_HANDLE, "lock is", word);
        REFUSED(redlatch_lock_start_release(bad_locks[i], 1, 1), REDLATCH_BAD_HANDLE, "lock is", word);
        REFUSED(redlatch_lock_start_extend(bad_locks[i], 1, 1, 1), REDLATCH_BAD_HANDLE, "lock is", word);
        REFUSED(redlatch_lock_new(bad_clients[i], REDLATCH_MUTEX, "x", 1, NULL, &made), REDLATCH_BAD_HANDLE,
                "client is", word);
        REFUSED(redlatch_client_close(bad_clients[i]), REDLATCH_BAD_HANDLE, "client is", word);
        REFUSED(redlatch_client_stats(bad_clients[i], &stats), REDLATCH_BAD_HANDLE, "client is", word);
        REFUSED(redlatch_client_event_fd(bad_clients[i], &fd), REDLATCH_BAD_HANDLE, "client is", word);
        REFUSED(redlatch_client_next_event(bad_clients[i], &event), REDLATCH_BAD_HANDLE, "client is", word);
        REFUSED(redlatch_client_wait_lost(bad_clients[i], 0, &event), REDLATCH_BAD_HANDLE, "client is", word);
        REFUSED(redlatch_client_cancel(bad_clients[i], 0), REDLATCH_BAD_HANDLE, "client is", word);
        MUST(redlatch_client_uuid(bad_clients[i]) == NULL, "a uuid of no client");
        redlatch_lock_free(bad_locks[i]);     /* a second free does nothing */
        redlatch_client_free(bad_clients[i]); /* nor does freeing a handle of another kind */
    }
    STATUS(redlatch_cancel_fire(NULL), REDLATCH_BAD_HANDLE);
    STATUS(redlatch_cancel_fire(freed_cancel), REDLATCH_BAD_HANDLE);
    REFUSED(redlatch_lock_acquire_as(lock, 0, 1, 0, freed_cancel), REDLATCH_BAD_HANDLE, "cancel is", "freed");
    redlatch_cancel_free(freed_cancel);
    INVALID(redlatch_lock_hold_status(lock, 0, NULL), "hold_out", "NULL");
    INVALID(redlatch_lock_query(lock, NULL), "state_out", "NULL");
    INVALID(redlatch_client_stats(client, NULL), "stats_out", "NULL");
    INVALID(redlatch_client_event_fd(client, NULL), "fd_out", "NULL");
    INVALID(redlatch_client_next_event(client, NULL), "event_out", "NULL");
    INVALID(redlatch_client_wait_lost(client, 0, NULL), "event_out", "NULL");
    INVALID(redlatch_client_wait_lost(client, -9, &event), "wait_ms", "-9");
    hold.struct_size = 3;
    INVALID(redlatch_lock_hold_status(lock, 0, &hold), "struct_size is 3", "expected");
    OK(redlatch_lock_acquire(lock, 0));
    OK(redlatch_lock_release(lock)); /* valid handles still work */
    end();
}

/* The structs of a caller with an older header have fewer fields, those of a caller with a newer header more. */
static void struct_sizes(void) {
    begin();
    struct {
        redlatch_client_options known;
        int64_t later[4];
    } longer;
    memset(&longer, 0xee, sizeof longer);
    OK(redlatch_client_options_init(&longer.known, sizeof longer));
    MUST(longer.known.struct_size == sizeof longer && longer.later[0] == 0 && longer.later[3] == 0, "not filled");
    redlatch_client *made = client_with(&longer.known);
    redlatch_client_free(made);
    longer.later[2] = 1;
    made = NULL;
    INVALID(redlatch_client_open(stage_url(), &longer.known, &made), "does not know", "zero");
    /* Only the fields up to the lease. The memory behind them is the caller's, and is neither read nor written. */
    redlatch_client_options shorter;
    memset(&shorter, 0xee, sizeof shorter);
    uint32_t size = offsetof(redlatch_client_options, connect_timeout_ms);
    OK(redlatch_client_options_init(&shorter, size));
    MUST(shorter.struct_size == size && shorter.watchdog_lease_ms == 30000, "not filled");
    MUST((uint64_t)shorter.connect_timeout_ms == UINT64_C(0xeeeeeeeeeeeeeeee), "written beyond its size");
    made = client_with(&shorter);
    redlatch_client_free(made);
    struct {
        redlatch_hold known;
        char later[64];
    } hold;
    memset(&hold, 0xee, sizeof hold);
    hold.known.struct_size = sizeof hold;
    OK(redlatch_lock_acquire(lock, 0));
    OK(redlatch_lock_hold_status(lock, 0, &hold.known));
    MUST(hold.known.struct_size == sizeof hold && hold.known.count == 1 && hold.later[0] == 0 && hold.later[63] == 0,
         "not filled");
    memset(&hold, 0xee, sizeof hold);
    hold.known.struct_size = offsetof(redlatch_hold, remaining_ms);
    OK(redlatch_lock_hold_status(lock, 0, &hold.known));
    MUST(hold.known.state == REDLATCH_HELD && hold.known.count == 1, "not filled");
    MUST((uint64_t)hold.known.remaining_ms == UINT64_C(0xeeeeeeeeeeeeeeee), "written beyond its size");
    redlatch_event event;
    memset(&event, 0xee, sizeof event);
    event.struct_size = offsetof(redlatch_event, tag);
    uint64_t owner;
    OK(redlatch_owner_new(&owner));
    OK(redlatch_lock_start_release(lock, owner, 1));
    UNTIL(redlatch_client_next_event(client, &event) == REDLATCH_OK);
    MUST(event.status == REDLATCH_NOT_OWNED && event.kind == REDLATCH_EVENT_RELEASED, "status %d", event.status);
    MUST(event.tag == UINT64_C(0xeeeeeeeeeeeeeeee), "written beyond its size");
    OK(redlatch_lock_release(lock));
    redlatch_lock_options lock_options;
    memset(&lock_options, 0xee, sizeof lock_options);
    OK(redlatch_lock_options_init(&lock_options, 8));
    redlatch_lock *another = NULL;
    OK(redlatch_lock_new(client, REDLATCH_MUTEX, "x", 1, &lock_options, &another));
    redlatch_lock_free(another);
    end();
}

/* A lazy client opens although no server listens. Its calls fail, and their error texts name the address. */
static void lazy(void) {
    redlatch_client_options options = client_defaults();
    options.lazy = 1;
    options.command_timeout_ms = 300;
    redlatch_client *made = NULL;
    OK(redlatch_client_open("unix:///nowhere/at/all.sock", &options, &made));
    redlatch_lock *one = lock_new(made, 1);
    REFUSED(redlatch_lock_acquire(one, 0), REDLATCH_UNREACHABLE, "acquire", "/nowhere/at/all.sock");
    REFUSED(redlatch_lock_acquire(one, 200), REDLATCH_UNREACHABLE, "acquire", "/nowhere/at/all.sock");
    redlatch_lock_free(one);
    redlatch_client_free(made);
}

int main(int argc, char **argv) {
    static const struct scene scenes[] = {
        {"names", names},
        {"durations", durations},
        {"lists_that_are_missing", lists_that_are_missing},
        {"member_of_two_clients", member_of_two_clients},
        {"settings_of_kinds", settings_of_kinds},
        {"owners_that_were_made_up", owners_that_were_made_up},
        {"handles", handles},
        {"struct_sizes", struct_sizes},
        {"client_options", client_options_out_of_range},
        {"lazy", lazy},
    };
    return stage_main(argc, argv, scenes, sizeof scenes / sizeof scenes[0]);
}
