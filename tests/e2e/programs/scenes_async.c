/* Asynchronous calls of a host that polls the event descriptor: grants, timeouts, cancelling, losses, cut connections.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "stage.h"
#include "witness.h"

static void basic(void) {
    redlatch_client *client = client_new();
    redlatch_lock *lock = lock_new(client, 1);
    const char *name = stage_name(1);
    int fd = event_fd_of(client);
    uint64_t owner = owner_new();
    OK(redlatch_lock_start_acquire(lock, owner, REDLATCH_LEASE_OF_LOCK, REDLATCH_FOREVER, 7));
    redlatch_event event = event_must(client, REDLATCH_EVENT_ACQUIRED, REDLATCH_OK, 7);
    MUST(event.owner == owner && event.serial != 0, "owner %llu", (unsigned long long)event.owner);
    MUST(strcmp(event.name, name) == 0 && event.name_size == strlen(name), "name %s", event.name);
    redlatch_hold hold = hold_of(lock, owner);
    MUST(hold.state == REDLATCH_HELD && hold.serial == event.serial, "state %d", hold.state);
    MUST(ask("HEXISTS %s %s", name, hold.owner) == 1, "owner %s", hold.owner);
    OK(redlatch_lock_start_extend(lock, owner, 60000, 8));
    event_must(client, REDLATCH_EVENT_EXTENDED, REDLATCH_OK, 8);
    MUST(ask("PTTL %s", name) > 50000, "the extension is not there");
    OK(redlatch_lock_start_acquire(lock, owner, REDLATCH_LEASE_OF_LOCK, 0, 9));
    event_must(client, REDLATCH_EVENT_ACQUIRED, REDLATCH_OK, 9);
    MUST(hold_of(lock, owner).count == 2, "no second level");
    OK(redlatch_lock_start_release(lock, owner, 10));
    OK(redlatch_lock_start_release(lock, owner, 11));
    event_must(client, REDLATCH_EVENT_RELEASED, REDLATCH_OK, 10);
    event_must(client, REDLATCH_EVENT_RELEASED, REDLATCH_OK, 11);
    MUST(ask("EXISTS %s", name) == 0, "still there");
    OK(redlatch_lock_start_release(lock, owner, 12));
    event_must(client, REDLATCH_EVENT_RELEASED, REDLATCH_NOT_OWNED, 12);
    OK(redlatch_lock_start_extend(lock, owner, 1000, 13));
    event_must(client, REDLATCH_EVENT_EXTENDED, REDLATCH_NOT_OWNED, 13);
    MUST(!is_readable(fd), "readable though nothing is left");
    redlatch_event none = {.struct_size = sizeof none};
    STATUS(redlatch_client_next_event(client, &none), REDLATCH_AGAIN);
    STATUS(redlatch_lock_start_acquire(lock, 0, REDLATCH_LEASE_OF_LOCK, 0, 1), REDLATCH_INVALID);
    redlatch_lock_free(lock);
    redlatch_client_free(client);
}

/* The host polls only when all is done: the events were kept, and the descriptor stays readable. */
static void late_host(void) {
    redlatch_client *client = client_new();
    redlatch_lock *lock = lock_new(client, 1);
    uint64_t owner = owner_new();
    OK(redlatch_lock_start_acquire(lock, owner, REDLATCH_LEASE_OF_LOCK, REDLATCH_FOREVER, 1));
    UNTIL(hold_of(lock, owner).state == REDLATCH_HELD);
    OK(redlatch_lock_start_release(lock, owner, 2));
    UNTIL(ask("EXISTS %s", stage_name(1)) == 0);
    int fd = event_fd_of(client); /* asked for after the first completion */
    MUST(is_readable(fd), "an event waits");
    event_must(client, REDLATCH_EVENT_ACQUIRED, REDLATCH_OK, 1);
    UNTIL(is_readable(fd));
    event_must(client, REDLATCH_EVENT_RELEASED, REDLATCH_OK, 2);
    MUST(!is_readable(fd), "readable though nothing is left");
    redlatch_lock_free(lock);
    redlatch_client_free(client);
}

static void time_outs(void) {
    redlatch_client *other = client_new();
    redlatch_lock *theirs = lock_new(other, 1);
    OK(redlatch_lock_acquire(theirs, 0));
    redlatch_client *client = client_new();
    redlatch_lock *lock = lock_new(client, 1);
    event_fd_of(client);
    int64_t start = now_ms();
    OK(redlatch_lock_start_acquire(lock, owner_new(), REDLATCH_LEASE_OF_LOCK, 0, 1));
    event_must(client, REDLATCH_EVENT_ACQUIRED, REDLATCH_TIMEOUT, 1);
    MUST(now_ms() - start < SOON, "a try took %d ms", (int)(now_ms() - start));
    start = now_ms();
    OK(redlatch_lock_start_acquire(lock, owner_new(), REDLATCH_LEASE_OF_LOCK, 400, 2));
    OK(redlatch_lock_start_acquire(lock, owner_new(), REDLATCH_LEASE_OF_LOCK, 700, 3));
    OK(redlatch_lock_start_acquire(lock, owner_new(), REDLATCH_LEASE_OF_LOCK, 100, 4));
    event_must(client, REDLATCH_EVENT_ACQUIRED, REDLATCH_TIMEOUT, 4);
    int64_t first = now_ms() - start;
    event_must(client, REDLATCH_EVENT_ACQUIRED, REDLATCH_TIMEOUT, 2);
    event_must(client, REDLATCH_EVENT_ACQUIRED, REDLATCH_TIMEOUT, 3);
    int64_t last = now_ms() - start;
    MUST(first >= 100 && last >= 700 && last < 700 + SOON, "after %d and %d ms", (int)first, (int)last);
    MUST(stats_of(client).waiters == 0, "somebody is still queued");
    OK(redlatch_lock_release(theirs));
    sleep_ms(50);
    MUST(ask("EXISTS %s", stage_name(1)) == 0, "a waiter that gave up has the lock");
    redlatch_lock_free(lock);
    redlatch_lock_free(theirs);
    redlatch_client_free(client);
    redlatch_client_free(other);
}

/* Starts an acquire and cancels it. Returns whether that came before the reply, which the background thread may read
 * first. */
static bool is_cancelled_in_time(redlatch_client *client, redlatch_lock *lock, uint64_t owner) {
    OK(redlatch_lock_start_acquire(lock, owner, REDLATCH_LEASE_OF_LOCK, REDLATCH_FOREVER, 3));
    OK(redlatch_client_cancel(client, 3));
    redlatch_event event;
    OK(event_within(client, 5000, &event));
    MUST(event.kind == REDLATCH_EVENT_ACQUIRED && event.tag == 3, "kind %d", event.kind);
    if (event.status == REDLATCH_OK) {
        OK(redlatch_lock_release_as(lock, owner));
        return false;
    }
    STATUS(event.status, REDLATCH_CANCELLED);
    return true;
}

static void cancelling(void) {
    redlatch_client *other = client_new();
    redlatch_lock *theirs = lock_new(other, 1);
    OK(redlatch_lock_acquire(theirs, 0));
    redlatch_client *client = client_new();
    redlatch_lock *lock = lock_new(client, 1);
    event_fd_of(client);
    OK(redlatch_lock_start_acquire(lock, owner_new(), REDLATCH_LEASE_OF_LOCK, REDLATCH_FOREVER, 1));
    OK(redlatch_lock_start_acquire(lock, owner_new(), REDLATCH_LEASE_OF_LOCK, REDLATCH_FOREVER, 2));
    OK(redlatch_lock_start_acquire(lock, owner_new(), REDLATCH_LEASE_OF_LOCK, REDLATCH_FOREVER, 2));
    UNTIL(stats_of(client).waiters == 3 && stats_of(client).subscriptions == 1);
    OK(redlatch_client_cancel(client, 99)); /* no call has this tag */
    int64_t start = now_ms();
    OK(redlatch_client_cancel(client, 1)); /* the foremost */
    event_must(client, REDLATCH_EVENT_ACQUIRED, REDLATCH_CANCELLED, 1);
    OK(redlatch_client_cancel(client, 2)); /* both of that tag */
    event_must(client, REDLATCH_EVENT_ACQUIRED, REDLATCH_CANCELLED, 2);
    event_must(client, REDLATCH_EVENT_ACQUIRED, REDLATCH_CANCELLED, 2);
    MUST(now_ms() - start < SOON, "cancelling took %d ms", (int)(now_ms() - start));
    MUST(stats_of(client).waiters == 0, "somebody is still queued");
    /* Cancelled before the server has answered, and after it was granted. */
    uint64_t owner = owner_new();
    redlatch_lock *another = lock_new(client, 2);
    UNTIL(is_cancelled_in_time(client, another, owner));
    UNTIL(ask("EXISTS %s", stage_name(2)) == 0);
    OK(redlatch_lock_start_acquire(another, owner, REDLATCH_LEASE_OF_LOCK, REDLATCH_FOREVER, 4));
    UNTIL(hold_of(another, owner).state == REDLATCH_HELD);
    OK(redlatch_client_cancel(client, 4));
    event_must(client, REDLATCH_EVENT_ACQUIRED, REDLATCH_OK, 4);
    OK(redlatch_lock_release_as(another, owner));
    redlatch_lock_free(another);
    redlatch_lock_free(lock);
    redlatch_lock_free(theirs);
    redlatch_client_free(client);
    redlatch_client_free(other);
}

enum { MANY = 1000 };

static void many_locks(void) {
    static redlatch_lock *locks[MANY];
    static uint64_t owners[MANY];
    static bool seen[2 * MANY];
    memset(seen, 0, sizeof seen);
    redlatch_client *client = client_new();
    event_fd_of(client);
    for (int i = 0; i < MANY; i++) {
        locks[i] = lock_new(client, i);
        owners[i] = owner_new();
        OK(redlatch_lock_start_acquire(locks[i], owners[i], REDLATCH_LEASE_OF_LOCK, REDLATCH_FOREVER, (uint64_t)i));
    }
    for (int done = 0; done < 2 * MANY; done++) {
        redlatch_event event;
        OK(event_within(client, 5000, &event));
        OK(event.status);
        MUST(event.tag < 2 * MANY && !seen[event.tag], "tag %llu twice", (unsigned long long)event.tag);
        seen[event.tag] = true;
        if (event.kind == REDLATCH_EVENT_ACQUIRED) {
            OK(redlatch_lock_start_release(locks[event.tag], owners[event.tag], event.tag + MANY));
        }
    }
    MUST(stats_of(client).held == 0, "something is still held");
    for (int i = 0; i < MANY; i++) {
        redlatch_lock_free(locks[i]);
    }
    redlatch_client_free(client);
}

/* Waiters of one lock are granted in the order of their calls. */
static void many_waiters(void) {
    enum { WAITERS = 300 };
    redlatch_client *client = client_new();
    redlatch_lock *lock = lock_new(client, 1);
    event_fd_of(client);
    uint64_t owners[WAITERS];
    for (uint64_t i = 0; i < WAITERS; i++) {
        owners[i] = owner_new();
        OK(redlatch_lock_start_acquire(lock, owners[i], REDLATCH_LEASE_OF_LOCK, REDLATCH_FOREVER, i));
    }
    for (uint64_t i = 0; i < WAITERS; i++) {
        event_must(client, REDLATCH_EVENT_ACQUIRED, REDLATCH_OK, i);
        OK(redlatch_lock_start_release(lock, owners[i], 1000 + i));
        redlatch_event event = event_must(client, REDLATCH_EVENT_RELEASED, REDLATCH_OK, 1000 + i);
        MUST(event.owner == owners[i], "another owner");
    }
    redlatch_lock_free(lock);
    redlatch_client_free(client);
}

static void must_lose(redlatch_client *client, uint64_t owner, int reason, int64_t within_ms) {
    redlatch_event event;
    int64_t start = now_ms();
    OK(event_within(client, 5000 * (SANITIZED ? 4 : 1), &event));
    MUST(event.kind == REDLATCH_EVENT_LOST && event.owner == owner && event.reason == reason, "kind %d, reason %d",
         event.kind, event.reason);
    MUST(now_ms() - start <= within_ms + SOON, "told after %d ms", (int)(now_ms() - start));
}

static void losses(void) {
    redlatch_client_options options = client_defaults();
    options.watchdog_lease_ms = 1500;
    redlatch_client *client = client_with(&options);
    redlatch_lock *lock = lock_new(client, 1);
    event_fd_of(client);
    uint64_t owner = owner_new();
    OK(redlatch_lock_start_acquire(lock, owner, 600, REDLATCH_FOREVER, 1));
    redlatch_event event = event_must(client, REDLATCH_EVENT_ACQUIRED, REDLATCH_OK, 1);
    uint64_t serial = event.serial;
    must_lose(client, owner, REDLATCH_REASON_EXPIRED, 600);
    redlatch_hold hold = hold_of(lock, owner);
    MUST(hold.state == REDLATCH_GONE && hold.serial == serial && hold.remaining_ms == 0, "state %d", hold.state);
    OK(redlatch_lock_start_release(lock, owner, 2));
    event = event_must(client, REDLATCH_EVENT_RELEASED, REDLATCH_LOST, 2);
    MUST(event.serial == serial, "another hold");
    OK(redlatch_lock_start_acquire(lock, owner, REDLATCH_RENEWED, REDLATCH_FOREVER, 3));
    event_must(client, REDLATCH_EVENT_ACQUIRED, REDLATCH_OK, 3);
    tell("DEL %s", stage_name(1));
    must_lose(client, owner, REDLATCH_REASON_MISSING, 500);
    OK(redlatch_lock_start_release(lock, owner, 4));
    event_must(client, REDLATCH_EVENT_RELEASED, REDLATCH_LOST, 4);
    OK(redlatch_lock_start_acquire(lock, owner, REDLATCH_RENEWED, REDLATCH_FOREVER, 5));
    event_must(client, REDLATCH_EVENT_ACQUIRED, REDLATCH_OK, 5);
    OK(redlatch_owner_end(owner));
    OK(event_within(client, 5000, &event));
    MUST(event.kind == REDLATCH_EVENT_ABANDONED && event.owner == owner, "kind %d", event.kind);
    redlatch_lock_free(lock);
    redlatch_client_free(client);
}

/* The server answers no renewal until more than half of the lease is over. */
static void late_renewal(void) {
    redlatch_client_options options = client_defaults();
    options.watchdog_lease_ms = 3000;
    redlatch_client *client = client_with(&options);
    redlatch_lock *lock = lock_new(client, 1);
    event_fd_of(client);
    uint64_t owner = owner_new();
    OK(redlatch_lock_start_acquire(lock, owner, REDLATCH_RENEWED, REDLATCH_FOREVER, 1));
    uint64_t serial = event_must(client, REDLATCH_EVENT_ACQUIRED, REDLATCH_OK, 1).serial;
    tell("CLIENT PAUSE 2000 ALL");
    redlatch_event event = event_must(client, REDLATCH_EVENT_RENEWED_LATE, REDLATCH_OK, 0);
    MUST(event.owner == owner && event.serial == serial, "of another hold");
    MUST(event.number > 1500 && event.number < 3000, "%d ms after the renewal before", (int)event.number);
    OK(redlatch_lock_start_release(lock, owner, 2));
    event_must(client, REDLATCH_EVENT_RELEASED, REDLATCH_OK, 2);
    redlatch_lock_free(lock);
    redlatch_client_free(client);
}

struct saw {
    atomic_bool enough;
};

static void cut_on_and_on(void *shared, int number) {
    (void)number;
    struct saw *saw = shared;
    for (int i = 0; !atomic_load(&saw->enough); i++) {
        cut_all();
        sleep_ms(i % 4 == 3 ? 60 : 7); /* a call completes in a longer pause on a slow machine, too */
    }
}

/* The connection breaks again and again. Every call completes, and the server's key agrees with its result. */
static void cut(void) {
    redlatch_client *client = client_new();
    redlatch_lock *lock = lock_new(client, 1);
    event_fd_of(client);
    uint64_t owner = owner_new();
    struct saw saw = {false};
    struct workers *workers = workers_start(1, cut_on_and_on, &saw);
    for (uint64_t i = 0; stats_of(client).reconnects < 50; i++) {
        OK(redlatch_lock_start_acquire(lock, owner, REDLATCH_LEASE_OF_LOCK, REDLATCH_FOREVER, i));
        event_must(client, REDLATCH_EVENT_ACQUIRED, REDLATCH_OK, i);
        MUST(ask("HEXISTS %s %s", stage_name(1), hold_of(lock, owner).owner) == 1, "it is not held");
        OK(redlatch_lock_start_release(lock, owner, i));
        event_must(client, REDLATCH_EVENT_RELEASED, REDLATCH_OK, i);
        MUST(ask("EXISTS %s", stage_name(1)) == 0, "it is still held");
    }
    atomic_store(&saw.enough, true);
    workers_join(workers);
    redlatch_lock_free(lock);
    redlatch_client_free(client);
}

/* The connections break while an acquire, an extension and a release are in flight. */
static void cut_under_way(void) {
    redlatch_client *client = client_new();
    redlatch_lock *lock = lock_new(client, 1);
    redlatch_lock *free_one = lock_new(client, 2);
    event_fd_of(client);
    uint64_t owner = owner_new();
    uint64_t other = owner_new();
    OK(redlatch_lock_start_acquire(lock, owner, REDLATCH_LEASE_OF_LOCK, 0, 1));
    event_must(client, REDLATCH_EVENT_ACQUIRED, REDLATCH_OK, 1);
    tell("CLIENT PAUSE 300 WRITE"); /* the next commands get no reply */
    OK(redlatch_lock_start_extend(lock, owner, 40000, 2));
    OK(redlatch_lock_start_acquire(free_one, other, REDLATCH_LEASE_OF_LOCK, REDLATCH_FOREVER, 3));
    sleep_ms(100);
    cut_all();
    uint64_t tags = 0;
    for (int i = 0; i < 2; i++) { /* in either order */
        redlatch_event event;
        OK(event_within(client, 10000, &event));
        OK(event.status);
        tags = tags * 10 + event.tag;
    }
    MUST(tags == 23 || tags == 32, "%d", (int)tags);
    tell("CLIENT PAUSE 300 WRITE");
    OK(redlatch_lock_start_release(lock, owner, 4));
    sleep_ms(100);
    cut_all();
    event_must(client, REDLATCH_EVENT_RELEASED, REDLATCH_OK, 4);
    MUST(ask("EXISTS %s", stage_name(1)) == 0, "it is still held");
    MUST(ask("EXISTS %s", stage_name(2)) == 1, "it is not held");
    redlatch_lock_free(free_one);
    redlatch_lock_free(lock);
    redlatch_client_free(client);
}

/* Blocking and asynchronous calls of several owners of one client exclude each other. */
struct mixed {
    redlatch_lock *lock;
    atomic_int inside;
    atomic_int rounds;
};

static void enter_and_leave(struct mixed *mixed) {
    MUST(atomic_fetch_add(&mixed->inside, 1) == 0, "two inside");
    atomic_fetch_add(&mixed->rounds, 1);
    atomic_fetch_sub(&mixed->inside, 1);
}

static void take_turns(void *shared, int number) {
    (void)number;
    struct mixed *mixed = shared;
    for (int i = 0; i < 100; i++) {
        OK(redlatch_lock_acquire(mixed->lock, REDLATCH_FOREVER));
        enter_and_leave(mixed);
        OK(redlatch_lock_release(mixed->lock));
    }
}

static void mixed_callers(void) {
    redlatch_client *client = client_new();
    struct mixed mixed = {.lock = lock_new(client, 1)};
    event_fd_of(client);
    struct workers *workers = workers_start(4, take_turns, &mixed);
    uint64_t owner = owner_new();
    for (uint64_t i = 0; i < 100; i++) {
        OK(redlatch_lock_start_acquire(mixed.lock, owner, REDLATCH_LEASE_OF_LOCK, REDLATCH_FOREVER, i));
        event_must(client, REDLATCH_EVENT_ACQUIRED, REDLATCH_OK, i);
        enter_and_leave(&mixed);
        OK(redlatch_lock_start_release(mixed.lock, owner, i));
        event_must(client, REDLATCH_EVENT_RELEASED, REDLATCH_OK, i);
    }
    workers_join(workers);
    MUST(atomic_load(&mixed.rounds) == 500, "%d rounds", atomic_load(&mixed.rounds));
    redlatch_lock_free(mixed.lock);
    redlatch_client_free(client);
}

int main(int argc, char **argv) {
    static const struct scene scenes[] = {
        {"basic", basic},
        {"late_host", late_host},
        {"time_outs", time_outs},
        {"cancelling", cancelling},
        {"many_locks", many_locks},
        {"many_waiters", many_waiters},
        {"losses", losses},
        {"late_renewal", late_renewal},
        {"cut", cut},
        {"cut_under_way", cut_under_way},
        {"mixed_callers", mixed_callers},
    };
    return stage_main(argc, argv, scenes, sizeof scenes / sizeof scenes[0]);
}
