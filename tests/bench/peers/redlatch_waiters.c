/* Very many threads of one process waiting for one lock: what a waiter costs, and what passing the lock on costs.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The stacks lie in one area of our own, so that what they occupy can be told from what a waiter occupies. Two lines of
 * JSON: all threads wait (the harness looks at the server and says when to go on); all have had the lock once.
 */
#include "arguments.h"
#include "redlatch_peer.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum { TIMEOUT_SECONDS = 120 };

static redlatch_lock *hot_lock;
static atomic_int started;
static atomic_int inside;
static atomic_int_least64_t last_acquired_ns;
static pthread_mutex_t gate_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_opened = PTHREAD_COND_INITIALIZER;
static int gate_open;

static void *wait_for_lock(void *nothing) {
    (void)nothing;
    pthread_mutex_lock(&gate_mutex);
    atomic_fetch_add(&started, 1);
    while (!gate_open) {
        pthread_cond_wait(&gate_opened, &gate_mutex);
    }
    pthread_mutex_unlock(&gate_mutex);

    must(redlatch_lock_acquire(hot_lock, REDLATCH_FOREVER), "acquire of the hot lock");
    if (atomic_fetch_add(&inside, 1) != 0) {
        give_up("two threads hold the hot lock at once");
    }
    atomic_store(&last_acquired_ns, now_ns());
    atomic_fetch_sub(&inside, 1);
    must(redlatch_lock_release(hot_lock), "release of the hot lock");
    return NULL;
}

typedef struct stack_area {
    unsigned char *start;
    unsigned char *page_map; /* one byte for each page, for mincore */
    size_t stack_size;
    size_t size;
} stack_area;

static stack_area stack_area_make(int stacks, int stack_kib) {
    stack_area area = {.stack_size = (size_t)stack_kib * 1024, .size = (size_t)stacks * (size_t)stack_kib * 1024};
    area.start = mmap(NULL, area.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (area.start == MAP_FAILED) {
        give_up("cannot reserve %zu bytes for stacks", area.size);
    }
    madvise(area.start, area.size, MADV_NOHUGEPAGE);
    const size_t pages = area.size / (size_t)sysconf(_SC_PAGESIZE);
    area.page_map = malloc(pages);
    if (area.page_map == NULL) {
        give_up("no memory for the state of %zu pages", pages);
    }
    memset(area.page_map, 0, pages); /* resident before the counting begins */
    return area;
}

/* What the process occupies beside its threads' stacks. */
static int64_t resident_beside_stacks(const stack_area *area) {
    const size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    const size_t pages = area->size / page_size;
    if (mincore(area->start, area->size, area->page_map) != 0) {
        give_up("cannot find out what the stacks occupy");
    }
    int64_t resident_pages = 0;
    for (size_t page = 0; page < pages; page++) {
        resident_pages += area->page_map[page] & 1;
    }
    return resident_bytes() - resident_pages * (int64_t)page_size;
}

static pthread_t *start_threads(int count, const stack_area *area) {
    pthread_t *threads = calloc((size_t)count, sizeof *threads);
    if (threads == NULL) {
        give_up("no memory for %d threads", count);
    }
    for (int i = 0; i < count; i++) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstack(&attributes, area->start + (size_t)i * area->stack_size, area->stack_size);
        if (pthread_create(&threads[i], &attributes, wait_for_lock, NULL) != 0) {
            give_up("cannot start thread %d of %d: is there a limit on threads?", i + 1, count);
        }
        pthread_attr_destroy(&attributes);
    }
    for (int tries = 0; atomic_load(&started) < count; tries++) {
        if (tries == TIMEOUT_SECONDS * 100) {
            give_up("only %d of %d threads started in %d seconds", atomic_load(&started), count, TIMEOUT_SECONDS);
        }
        sleep_ns(10000000);
    }
    return threads;
}

static void open_gate_and_await(redlatch_client *client, int count) {
    pthread_mutex_lock(&gate_mutex);
    gate_open = 1;
    pthread_cond_broadcast(&gate_opened);
    pthread_mutex_unlock(&gate_mutex);
    for (int tries = 0; client_stats(client).waiters < (uint64_t)count; tries++) {
        if (tries == TIMEOUT_SECONDS * 100) {
            give_up("only %" PRIu64 " of %d threads wait after %d seconds", client_stats(client).waiters, count,
                    TIMEOUT_SECONDS);
        }
        sleep_ns(10000000);
    }
    sleep_ns(500000000); /* the last ones reach their sleep */
}

int main(int argc, char **argv) {
    int port = 6379;
    int count = 100;
    int stack_kib = 64;
    const struct argument table[] = {
        {.name = "--port", .integer = &port},
        {.name = "--waiters", .integer = &count},
        {.name = "--stack-kib", .integer = &stack_kib},
    };
    ARGUMENTS_READ(argc, argv, table);

    redlatch_client *client = client_open(port);
    hot_lock = lock_open(client, "bench:waiters");
    must(redlatch_lock_acquire(hot_lock, 0), "acquire of a free lock");
    const stack_area area = stack_area_make(count, stack_kib);
    pthread_t *threads = start_threads(count, &area);

    const int64_t resident_before = resident_beside_stacks(&area);
    open_gate_and_await(client, count);
    const int64_t resident_waiting = resident_beside_stacks(&area);
    printf("{\"waiters\": %" PRIu64 ", \"subscriptions\": %" PRIu64 ", \"bytes_per_waiter\": %.1f}\n",
           client_stats(client).waiters, client_stats(client).subscriptions,
           (double)(resident_waiting - resident_before) / count);
    wait_for_go();

    const redlatch_stats before = client_stats(client);
    const int64_t start_ns = now_ns();
    must(redlatch_lock_release(hot_lock), "release of the hot lock");
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
    const redlatch_stats after = client_stats(client);
    printf("{\"seconds\": %.6f, \"hand_overs\": %d, \"in_process\": %" PRIu64 ", \"scripts\": %" PRIu64 "}\n",
           (double)(atomic_load(&last_acquired_ns) - start_ns) / 1e9, count, after.hand_overs - before.hand_overs,
           after.scripts - before.scripts);
    wait_for_go();
    redlatch_lock_free(hot_lock);
    client_close(client);
    free(threads);
    free(area.page_map);
    return 0;
}
