/* An asynchronous host beside other callers: a host that never polls, an idle host, and a host that contends.
 * SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <string.h>

#include "stage.h"
#include "witness.h"

enum { WAITERS = 4, CALLERS = 16 };

struct behind {
    redlatch_lock *lock;
    int64_t since;
    atomic_llong first_after; /* ms until the first waiter behind the host was granted */
    atomic_int held;
};

static void wait_behind(void *shared, int number) {
    (void)number;
    struct behind *behind = shared;
    OK(redlatch_lock_acquire(behind->lock, 20000));
    if (atomic_fetch_add(&behind->held, 1) == 0) {
        atomic_store(&behind->first_after, now_ms() - behind->since);
    }
    OK(redlatch_lock_release(behind->lock));
}

/* The host's waiter is granted the lock, but the host collects no event: the hold is renewed until the claim timeout,
 * and then released. */
static void host_never_polls(void) {
    const int claim_ms = 2500;
    redlatch_client_options options = client_defaults();
    options.claim_timeout_ms = claim_ms;
    options.watchdog_lease_ms = 1800; /* ends before the claim timeout unless it is renewed */
    redlatch_client *client = client_with(&options);
    redlatch_lock *lock = lock_new(client, 1);
    int fd = event_fd_of(client);
    OK(redlatch_lock_acquire(lock, 0));
    uint64_t owner = owner_new();
    OK(redlatch_lock_start_acquire(lock, owner, REDLATCH_LEASE_OF_LOCK, REDLATCH_FOREVER, 1));
    UNTIL(stats_of(client).waiters == 1);
    struct behind behind = {.lock = lock};
    struct workers *workers = workers_start(WAITERS, wait_behind, &behind);
    UNTIL(stats_of(client).waiters == 1 + WAITERS);
    behind.since = now_ms();
    OK(redlatch_lock_release(lock)); /* passes to the foremost waiter, the host's */
    UNTIL(hold_of(lock, owner).state == REDLATCH_HELD);
    char wire_owner[REDLATCH_OWNER_SIZE];
    memcpy(wire_owner, hold_of(lock, owner).owner, sizeof wire_owner);
    for (;;) {
        bool kept = ask("HEXISTS %s %s", stage_name(1), wire_owner) == 1 && atomic_load(&behind.held) == 0;
        int state = hold_of(lock, owner).state;
        int64_t after = now_ms() - behind.since;
        if (after >= claim_ms) {
            break;
        }
        MUST(kept && state == REDLATCH_HELD, "%d ms after the grant it is lost, or somebody else holds", (int)after);
        sleep_ms(20);
    }
    workers_join(workers);
    long long after = atomic_load(&behind.first_after);
    MUST(after >= claim_ms && after < claim_ms + 2 * SOON, "those behind held after %lld ms", after);
    MUST(atomic_load(&behind.held) == WAITERS, "only %d held", atomic_load(&behind.held));
    MUST(is_readable(fd), "the event waits");
    event_must(client, REDLATCH_EVENT_ACQUIRED, REDLATCH_UNCLAIMED, 1);
    MUST(hold_of(lock, owner).state == REDLATCH_NOT_HELD, "it has it back");
    MUST(ask("EXISTS %s", stage_name(1)) == 0, "somebody still holds");
    redlatch_lock_free(lock);
    redlatch_client_free(client);
}

/* The same for a host that never asks for the event descriptor, without waiters behind. */
static void nobody_asks(void) {
    redlatch_client_options options = client_defaults();
    options.claim_timeout_ms = 300;
    redlatch_client *client = client_with(&options);
    redlatch_lock *lock = lock_new(client, 1);
    OK(redlatch_lock_start_acquire(lock, owner_new(), REDLATCH_LEASE_OF_LOCK, REDLATCH_FOREVER, 1));
    UNTIL(stats_of(client).acquired == 1);
    UNTIL(ask("EXISTS %s", stage_name(1)) == 0);
    redlatch_event event = {.struct_size = sizeof event};
    UNTIL(redlatch_client_next_event(client, &event) == REDLATCH_OK);
    STATUS(event.status, REDLATCH_UNCLAIMED);
    /* A grant that is collected in time is the host's to keep. */
    uint64_t owner = owner_new();
    for (int tries = 1;; tries++) {
        OK(redlatch_lock_start_acquire(lock, owner, REDLATCH_LEASE_OF_LOCK, REDLATCH_FOREVER, 2));
        OK(event_within(client, 5000, &event));
        if (event.status == REDLATCH_OK) {
            break;
        }
        STATUS(event.status, REDLATCH_UNCLAIMED); /* this thread stalled for longer than the claim timeout */
        MUST(tries < 5, "%d times not collected in time", tries);
    }
    sleep_ms(500);
    MUST(hold_of(lock, owner).state == REDLATCH_HELD, "it was given back all the same");
    OK(redlatch_lock_release_as(lock, owner));
    redlatch_lock_free(lock);
    redlatch_client_free(client);
}

struct busy {
    redlatch_client *client;
    atomic_bool enough;
    atomic_int rounds;
};

/* Half of the threads share one lock, the others have one each. */
static void be_busy(void *shared, int number) {
    struct busy *busy = shared;
    redlatch_lock *lock = lock_new(busy->client, number % 2 ? 1 : 10 + number);
    while (!atomic_load(&busy->enough)) {
        OK(redlatch_lock_acquire(lock, REDLATCH_FOREVER));
        OK(redlatch_lock_release(lock));
        atomic_fetch_add(&busy->rounds, 1);
    }
    redlatch_lock_free(lock);
}

/* Polls the descriptor and takes events, as an event loop does. Returns how often it was woken. */
static int serve(redlatch_client *client, int fd, int64_t until_ms, int completions_wanted, int *completions) {
    int wakes = 0;
    int64_t left;
    while ((left = until_ms - now_ms()) > 0 && (completions_wanted == 0 || *completions < completions_wanted)) {
        struct pollfd one = {fd, POLLIN, 0};
        if (poll(&one, 1, (int)left) != 1) {
            continue;
        }
        wakes++;
        redlatch_event event = {.struct_size = sizeof event};
        if (redlatch_client_next_event(client, &event) == REDLATCH_OK) {
            OK(event.status);
            (*completions)++;
        }
    }
    return wakes;
}

static void idle_host(void) {
    redlatch_client *client = client_new();
    int fd = event_fd_of(client);
    struct busy busy = {.client = client};
    struct workers *workers = workers_start(CALLERS, be_busy, &busy);
    UNTIL(atomic_load(&busy.rounds) > 100);
    uint64_t empty = stats_of(client).empty_polls;
    int completions = 0;
    int wakes = serve(client, fd, now_ms() + 1000, 0, &completions);
    MUST(wakes == 0 && completions == 0, "an idle host was woken %d times", wakes);
    redlatch_lock *own = lock_new(client, 2);
    uint64_t owner = owner_new();
    const int calls = 400;
    for (int i = 0; i < calls; i += 2) {
        OK(redlatch_lock_start_acquire(own, owner, REDLATCH_LEASE_OF_LOCK, REDLATCH_FOREVER, 1));
        serve(client, fd, now_ms() + 10000, i + 1, &completions);
        OK(redlatch_lock_start_release(own, owner, 2));
        serve(client, fd, now_ms() + 10000, i + 2, &completions);
    }
    wakes = serve(client, fd, now_ms() + 300, 0, &completions);
    MUST(completions == calls, "%d completions", completions);
    empty = stats_of(client).empty_polls - empty;
    MUST(empty <= (uint64_t)calls, "%d empty polls for %d completions", (int)empty, calls);
    MUST(wakes == 0, "woken %d times after all was done", wakes);
    atomic_store(&busy.enough, true);
    workers_join(workers);
    redlatch_lock_free(own);
    redlatch_client_free(client);
}

/* The host contends with the threads for one lock. */
static void host_in_the_crowd(void) {
    redlatch_client *client = client_new();
    int fd = event_fd_of(client);
    struct busy busy = {.client = client};
    struct workers *workers = workers_start(CALLERS, be_busy, &busy);
    redlatch_lock *lock = lock_new(client, 1);
    uint64_t owner = owner_new();
    UNTIL(atomic_load(&busy.rounds) > 100);
    uint64_t empty = stats_of(client).empty_polls;
    int completions = 0;
    const int calls = 100;
    for (int i = 0; i < calls; i += 2) {
        OK(redlatch_lock_start_acquire(lock, owner, REDLATCH_LEASE_OF_LOCK, REDLATCH_FOREVER, 1));
        serve(client, fd, now_ms() + 20000, i + 1, &completions);
        OK(redlatch_lock_start_release(lock, owner, 2));
        serve(client, fd, now_ms() + 20000, i + 2, &completions);
    }
    MUST(completions == calls, "%d completions", completions);
    empty = stats_of(client).empty_polls - empty;
    MUST(empty <= (uint64_t)calls, "%d empty polls for %d completions", (int)empty, calls);
    atomic_store(&busy.enough, true);
    workers_join(workers);
    redlatch_lock_free(lock);
    redlatch_client_free(client);
}

int main(int argc, char **argv) {
    static const struct scene scenes[] = {
        {"host_never_polls", host_never_polls},
        {"nobody_asks", nobody_asks},
        {"idle_host", idle_host},
        {"host_in_the_crowd", host_in_the_crowd},
    };
    return stage_main(argc, argv, scenes, sizeof scenes / sizeof scenes[0]);
}
