/* Owner numbers; what happens when a thread ends or the process forks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "owners.h"

#include "client_lock.h"
#include "composite_holds.h"
#include "errors.h"
#include "outputs.h"

/* Each owner number has this mark, so that a number that the host made up, such as a small one or an address, is
 * invalid. Owner numbers are below 2^53, up to which all languages represent integers exactly. */
enum { MARK_AT = 40 };
static const uint64_t mark = UINT64_C(0x152) << MARK_AT;

static _Atomic uint64_t last_number;
static _Thread_local uint64_t thread_number;

/* Also held while an inherited client is set up anew, so that no child inherits one that is half set up. */
static pthread_mutex_t reopening = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t clients_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct client *clients;
static pthread_once_t at_fork_handlers = PTHREAD_ONCE_INIT;
static pthread_key_t thread_key;
static bool ready;

uint64_t owner_number_new(void) {
    return mark | (atomic_fetch_add(&last_number, 1) + 1);
}

int check_owner(const char *what, uint64_t owner) {
    uint64_t number = owner & ~mark;
    if (owner == 0 || ((owner & mark) == mark && number > 0 && number <= atomic_load(&last_number))) {
        return REDLATCH_OK;
    }
    return fail_with(REDLATCH_INVALID, "%s is %llu: expected a number that redlatch_owner_new issued in this process",
                     what, (unsigned long long)owner);
}

static void end_owner(uint64_t owner) {
    pthread_mutex_lock(&clients_mutex);
    for (struct client *client = clients; client; client = client->next) {
        client_lock(client);
        int64_t now = system_now();
        engine_owner_end(&client->engine, owner, now);
        client_finish_step(client, now);
        client_unlock(client);
    }
    pthread_mutex_unlock(&clients_mutex);
    composite_owner_end(owner);
}

static void at_thread_end(void *value) {
    (void)value;
    uint64_t owner = thread_number;
    thread_number = 0; /* if a later destructor acquires, it gets a new number, which ends as well */
    end_owner(owner);
}

/* During a fork the forking thread holds all mutexes, including those of the clients, so that no other thread is in the
 * middle of a change that the child would inherit. This is also the locking order: a thread that holds one of these
 * mutexes waits only for mutexes that are locked after it here. */
static void before_fork(void) {
    pthread_mutex_lock(&reopening);
    pthread_mutex_lock(&clients_mutex);
    for (struct client *client = clients; client; client = client->next) {
        pthread_mutex_lock(&client->mutex);
    }
    composite_before_fork();
    handles_before_fork();
    resolver_before_fork();
}

static void in_parent(void) {
    resolver_after_fork();
    handles_after_fork();
    composite_after_fork();
    for (struct client *client = clients; client; client = client->next) {
        pthread_mutex_unlock(&client->mutex);
    }
    pthread_mutex_unlock(&clients_mutex);
    pthread_mutex_unlock(&reopening);
}

/* The child's list of clients is empty until it makes the parent's clients its own (reopen.c). */
static void in_child(void) {
    for (struct client *client = clients; client; client = client->next) {
        client_forget_descriptors(client);
        pthread_mutex_unlock(&client->mutex);
    }
    clients = NULL;
    resolver_in_child();
    in_parent();
}

static void set_up(void) {
    ready = pthread_key_create(&thread_key, at_thread_end) == 0 &&
            system_at_fork(before_fork, in_parent, in_child) == 0;
}

int owners_set_up(void) {
    pthread_once(&at_fork_handlers, set_up);
    return ready ? REDLATCH_OK : fail_with(REDLATCH_SYSTEM, "no key for thread-specific data is left");
}

uint64_t owner_of_thread(void) {
    if (thread_number == 0) {
        uint64_t number = owner_number_new();
        if (!ready || pthread_setspecific(thread_key, &thread_number) != 0) {
            return 0;
        }
        thread_number = number;
    }
    return thread_number;
}

void owners_lock(void) {
    pthread_mutex_lock(&reopening);
}

void owners_unlock(void) {
    pthread_mutex_unlock(&reopening);
}

int owners_add_client(struct client *client) {
    int status = owners_set_up();
    if (status == REDLATCH_OK) {
        pthread_mutex_lock(&clients_mutex);
        client->next = clients;
        clients = client;
        pthread_mutex_unlock(&clients_mutex);
    }
    return status;
}

void owners_remove_client(struct client *client) {
    pthread_mutex_lock(&clients_mutex);
    struct client **link = &clients;
    while (*link && *link != client) {
        link = &(*link)->next;
    }
    if (*link) {
        *link = client->next;
    }
    pthread_mutex_unlock(&clients_mutex);
}

int redlatch_owner_new(uint64_t *owner_out) {
    if (!owner_out) {
        return fail_with(REDLATCH_INVALID, "owner_out is NULL: expected a pointer to set");
    }
    *owner_out = owner_number_new();
    return REDLATCH_OK;
}

int redlatch_owner_end(uint64_t owner) {
    if (owner == 0) {
        return fail_with(REDLATCH_INVALID, "owner is 0: expected a number that redlatch_owner_new issued");
    }
    int status = check_owner("owner", owner);
    if (status != REDLATCH_OK) {
        return status;
    }
    end_owner(owner);
    return REDLATCH_OK;
}
