/* Lookups that do not end in time: the call fails at its timeout, and the lookup frees its memory when it ends.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <netdb.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"
#include "handles.h"
#include "redlatch.h"
#include "resolver.h"
#include "unit.h"

/* The linker redirects the core's calls to the __wrap functions. */
int __real_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **found);
int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **found);
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);
char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
void __real_free(void *memory);
void __wrap_free(void *memory);
void __real_system_wait(_Atomic uint32_t *word, uint32_t expected, int64_t until);
void __wrap_system_wait(_Atomic uint32_t *word, uint32_t expected, int64_t until);

bool __real_system_thread_start(pthread_t *thread_out, void *(*run)(void *), void *argument);
bool __wrap_system_thread_start(pthread_t *thread_out, void *(*run)(void *), void *argument);

static _Atomic int blocks;    /* blocks of memory not freed */
static _Atomic int requested; /* lookups begun */
static sem_t answers;         /* lookups that may end */
static _Atomic int answer = EAI_FAIL;
static _Atomic bool no_threads;

bool __wrap_system_thread_start(pthread_t *thread_out, void *(*run)(void *), void *argument) {
    return !atomic_load(&no_threads) && __real_system_thread_start(thread_out, run, argument);
}

int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **found) {
    if (hints->ai_flags & AI_NUMERICHOST) {
        return __real_getaddrinfo(host, port, hints, found);
    }
    atomic_fetch_add(&requested, 1);
    while (sem_wait(&answers) != 0) {
    }
    return atomic_load(&answer);
}

static void *counted(void *memory) {
    atomic_fetch_add(&blocks, memory != NULL);
    return memory;
}

void *__wrap_malloc(size_t size) {
    return counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size) {
    return counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *memory, size_t size) {
    void *moved = __real_realloc(memory, size);
    return memory ? moved : counted(moved);
}

char *__wrap_strdup(const char *text) {
    return counted(__real_strdup(text));
}

void __wrap_free(void *memory) {
    atomic_fetch_sub(&blocks, memory != NULL);
    __real_free(memory);
}

static _Atomic bool until_woken; /* if set, a wait that ends without a wake-up fails the test */
static _Atomic int waits;

void __wrap_system_wait(_Atomic uint32_t *word, uint32_t expected, int64_t until) {
    if (!atomic_load(&until_woken)) {
        __real_system_wait(word, expected, until);
        return;
    }
    int64_t now = system_now();
    CHECK(until > now); /* else the waiting thread would spin */
    atomic_fetch_add(&waits, 1);
    sem_post(&answers);
    __real_system_wait(word, expected, now + 20 * SECOND);
    CHECK(system_now() < now + 20 * SECOND);
}

static void wait_for_request(void) {
    for (int64_t until = system_now() + 20 * SECOND; atomic_load(&requested) == 0 && system_now() < until;) {
        usleep(1000);
    }
    CHECK(atomic_load(&requested) > 0);
}

/* The thread of a lookup frees its memory as it ends, which may be after the call. */
static void wait_for_blocks(int expected) {
    for (int64_t until = system_now() + 20 * SECOND; atomic_load(&blocks) != expected && system_now() < until;) {
        usleep(1000);
    }
    CHECK_EQ_INT(atomic_load(&blocks), expected);
}

static void the_end_of_a_lookup_wakes_who_waits(void) {
    static const _Atomic bool going_on = false;
    struct uri uri = {.host = (char[]){"a-name.invalid"}, .port = 6379};
    struct addresses found;
    struct lookup *lookup = NULL;
    int before = atomic_load(&blocks);
    atomic_store(&until_woken, true);
    CHECK_EQ_INT(resolve(&uri, &lookup, system_now() + 60 * SECOND, &going_on, &found), REDLATCH_UNREACHABLE);
    CHECK(lookup == NULL && atomic_load(&waits) >= 1);
    atomic_store(&until_woken, false);
    while (sem_trywait(&answers) == 0) {
    }
    atomic_store(&requested, 0);
    wait_for_blocks(before);
}

/* However often a name is looked up while DNS is silent, one thread waits for it. */
static void a_name_has_one_lookup(void) {
    static const _Atomic bool going_on = false;
    struct uri uri = {.host = (char[]){"a-name.invalid"}, .port = 6379};
    struct uri further = {.host = (char[]){"a-name.invalid"}, .port = 6380};
    struct addresses found;
    struct lookup *lookups[4] = {NULL};
    int before = atomic_load(&blocks);
    CHECK_EQ_INT(resolve(&uri, &lookups[0], 0, &going_on, &found), REDLATCH_AGAIN);
    lookup_drop(lookups[0]);
    for (int i = 1; i <= 2; i++) {
        CHECK_EQ_INT(resolve(&uri, &lookups[i], 0, &going_on, &found), REDLATCH_AGAIN);
    }
    CHECK_EQ_INT(atomic_load(&blocks), before + 1);
    CHECK_EQ_INT(resolve(&further, &lookups[3], 0, &going_on, &found), REDLATCH_AGAIN);
    CHECK_EQ_INT(atomic_load(&blocks), before + 2);
    lookup_drop(lookups[3]);
    sem_post(&answers);
    sem_post(&answers);
    for (int i = 1; i <= 2; i++) {
        CHECK_EQ_INT(resolve(&uri, &lookups[i], system_now() + 20 * SECOND, &going_on, &found), REDLATCH_UNREACHABLE);
    }
    wait_for_blocks(before);
    atomic_store(&requested, 0);
}

/* A forked child has none of the threads that look names up for its parent. */
static void a_child_shares_no_lookup_of_its_parent(void) {
    static const _Atomic bool going_on = false;
    struct uri uri = {.host = (char[]){"a-name.invalid"}, .port = 6379};
    struct addresses found;
    struct lookup *lookup = NULL;
    int before = atomic_load(&blocks);
    CHECK_EQ_INT(resolve(&uri, &lookup, 0, &going_on, &found), REDLATCH_AGAIN);
    pid_t child = fork();
    if (child == 0) {
        atomic_store(&no_threads, true);
        lookup = NULL;
        _exit(resolve(&uri, &lookup, 0, &going_on, &found) == REDLATCH_SYSTEM ? 0 : 1);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    lookup_drop(lookup);
    sem_post(&answers);
    wait_for_blocks(before);
    atomic_store(&requested, 0);
}

/* Makes a call on a new client that reaches no server, and frees the client. */
static void call_in_vain(const char *url) {
    redlatch_client_options options;
    redlatch_client_options_init(&options, sizeof options);
    options.lazy = 1;
    options.connect_timeout_ms = 20;
    redlatch_client *client = NULL;
    CHECK_EQ_INT(redlatch_client_open(url, &options, &client), REDLATCH_OK);
    redlatch_lock *lock = NULL;
    CHECK_EQ_INT(redlatch_lock_new(client, REDLATCH_MUTEX, "orders", 6, NULL, &lock), REDLATCH_OK);
    redlatch_lock_state state = {.struct_size = sizeof state};
    CHECK_EQ_INT(redlatch_lock_query(lock, &state), REDLATCH_UNREACHABLE);
    redlatch_lock_free(lock);
    redlatch_client_close(client);
    redlatch_client_free(client);
}

static void a_late_lookup_is_freed_when_it_ends(void) {
    call_in_vain("redis://127.0.0.1:1");
    int kept = atomic_load(&blocks); /* the stubs of freed handles */
    CHECK_EQ_INT(atomic_load(&requested), 0);
    call_in_vain("redis://a-name.invalid:6379");
    wait_for_request();
    CHECK(atomic_load(&blocks) > 2 * kept); /* the thread of the lookup still has its memory */
    for (int i = 0; i < atomic_load(&requested); i++) {
        sem_post(&answers);
    }
    wait_for_blocks(2 * kept);
}

/* A search goes on to the next sentinel when the lookup of a name does not end in time or finds no address. */
static void a_search_does_not_wait_for_a_name(void) {
    static const _Atomic bool going_on = false;
    static struct search search;
    const int64_t start = 1000 * SECOND;
    struct uri uri;
    char why[400];
    int before = atomic_load(&blocks);
    CHECK_EQ_INT(uri_parse("redis+sentinel://a-name.invalid:1,b-name.invalid:2/s", &uri, why, sizeof why), REDLATCH_OK);
    struct connection_settings settings = {.uri = &uri, .connect_timeout = 4 * SECOND};
    search_init(&search, &uri, NULL, &settings, NULL, &going_on);
    search_begin(&search, start);
    CHECK_EQ_INT(search_step(&search, start), REDLATCH_AGAIN);
    CHECK_EQ_INT(search_next_time(&search, start), start + 10 * MILLISECOND);
    CHECK_EQ_INT(search_step(&search, start + SECOND - 1), REDLATCH_AGAIN);
    CHECK_EQ_INT(search.discovery.tried, 0);
    CHECK_EQ_INT(search_step(&search, start + SECOND), REDLATCH_AGAIN);
    CHECK_EQ_INT(search.discovery.tried, 1);
    CHECK_STR(search.discovery.why, "a-name.invalid:1: the host name was not resolved in time");
    sem_post(&answers);
    sem_post(&answers);
    int status = REDLATCH_AGAIN;
    for (int64_t until = system_now() + 20 * SECOND; status == REDLATCH_AGAIN && system_now() < until;) {
        usleep(1000);
        status = search_step(&search, start + SECOND);
    }
    CHECK_EQ_INT(status, REDLATCH_UNREACHABLE);
    CHECK_STR(search.discovery.why, "b-name.invalid:2: the host name has no address");
    search_close(&search);
    uri_free(&uri);
    wait_for_blocks(before);
}

/* Nor does the listener. It begins another lookup after 250 ms. */
static void a_listener_does_not_wait_for_a_name(void) {
    const int64_t start = 1000 * SECOND;
    redlatch_client_options options;
    redlatch_client *handle = NULL;
    redlatch_client_options_init(&options, sizeof options);
    options.lazy = 1;
    CHECK_EQ_INT(redlatch_client_open("redis+sentinel://a-name.invalid:1/s", &options, &handle), REDLATCH_OK);
    struct client *client = handle->client;
    client->engine.stats.held = 1;
    CHECK(endpoint_set(&client->node.current.endpoint, "h", 1, 1));
    listener_step(client, start);
    CHECK_EQ_INT(listener_next_time(client), start + 20 * MILLISECOND);
    CHECK_EQ_INT(client->listener->next, 0);
    sem_post(&answers);
    int64_t now = start;
    for (int64_t until = system_now() + 20 * SECOND; client->listener->next == 0 && system_now() < until;) {
        usleep(1000);
        now += 20 * MILLISECOND;
        listener_step(client, now);
    }
    CHECK_EQ_INT(client->listener->next, 1);
    CHECK_EQ_INT(listener_next_time(client), now + SECOND / 4);
    int before = atomic_load(&blocks);
    listener_step(client, now + SECOND / 4); /* looks up again */
    CHECK_EQ_INT(listener_next_time(client), now + SECOND / 4 + 20 * MILLISECOND);
    CHECK(atomic_load(&blocks) > before);
    listener_close(client); /* while the lookup is under way */
    sem_post(&answers);
    wait_for_blocks(before);
    client->engine.stats.held = 0;
    redlatch_client_free(handle);
}

/* Opens a client whose host name cannot be resolved, and checks the error text. */
static void check_message(int64_t connect_timeout_ms, int status, const char *expected) {
    redlatch_client_options options;
    redlatch_client *client = NULL;
    redlatch_client_options_init(&options, sizeof options);
    options.connect_timeout_ms = connect_timeout_ms;
    CHECK_EQ_INT(redlatch_client_open("redis://a-name.invalid:6379", &options, &client), status);
    CHECK_STR(redlatch_last_error(), expected);
}

static void messages(void) {
    int before = atomic_load(&blocks);
    check_message(20, REDLATCH_UNREACHABLE, "a-name.invalid:6379: the host name was not resolved in time");
    sem_post(&answers);
    wait_for_blocks(before + 1); /* the stub of a freed handle */
    sem_post(&answers);
    check_message(20000, REDLATCH_UNREACHABLE, "a-name.invalid:6379: the host name has no address");
    atomic_store(&answer, EAI_MEMORY);
    sem_post(&answers);
    check_message(20000, REDLATCH_NO_MEMORY, "a-name.invalid:6379: no memory to resolve the host name");
    atomic_store(&no_threads, true);
    check_message(20000, REDLATCH_SYSTEM,
                  "a-name.invalid:6379: no thread can be started: expected one that resolves the host name");
    atomic_store(&no_threads, false);
    atomic_store(&answer, EAI_FAIL);
}

int main(void) {
    sem_init(&answers, 0, 0);
    RUN(the_end_of_a_lookup_wakes_who_waits);
    RUN(a_name_has_one_lookup);
    RUN(a_late_lookup_is_freed_when_it_ends);
    RUN(a_child_shares_no_lookup_of_its_parent); /* a client has set the fork handlers up */
    RUN(a_search_does_not_wait_for_a_name);
    RUN(a_listener_does_not_wait_for_a_name);
    RUN(messages);
    return unit_done();
}
