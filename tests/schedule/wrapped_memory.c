/* Allocations: makes one fail, and counts those that are not freed. They are found by address, since memory that a
 * shared library allocated may be freed here, too.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "schedule.h"
#include "wrapped.h"
#include "wrapped_system.h"

enum { BUCKETS = 1 << 14 };

struct allocation {
    const void *address;
    struct allocation *next;
};

static struct allocation *buckets[BUCKETS];
static long count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int until_failure; /* 0: none fails */
bool wrapped_memory_seeks;
long wrapped_memory_secrets;
static int spared; /* above 0: allocations of the servers and lines */

static struct allocation **bucket_of(const void *address) {
    return &buckets[((uintptr_t)address >> 4) % BUCKETS];
}

static void *enter(void *allocated) {
    struct allocation *allocation = allocated && spared == 0 ? __real_malloc(sizeof *allocation) : NULL;
    if (allocation) {
        __real_pthread_mutex_lock(&mutex);
        struct allocation **bucket = bucket_of(allocated);
        *allocation = (struct allocation){allocated, *bucket};
        *bucket = allocation;
        count++;
        __real_pthread_mutex_unlock(&mutex);
    }
    return allocated;
}

static void leave(const void *allocated) {
    __real_pthread_mutex_lock(&mutex);
    struct allocation **at = bucket_of(allocated);
    while (*at && (*at)->address != allocated) {
        at = &(*at)->next;
    }
    struct allocation *found = *at;
    if (found) {
        *at = found->next;
        count--;
    }
    __real_pthread_mutex_unlock(&mutex);
    __real_free(found);
}

void wrapped_memory_fail(int number) {
    until_failure = number;
}

bool wrapped_memory_has_failed(void) {
    return until_failure == 0;
}

void wrapped_memory_spare(bool spare) {
    spared += spare ? 1 : -1;
}

static bool fails(void) {
    bool failing = until_failure > 0 && spared == 0 && --until_failure == 0;
    if (failing) {
        trace("an allocation fails");
    }
    return failing;
}

long wrapped_memory_count(void) {
    __real_pthread_mutex_lock(&mutex);
    long now = count;
    __real_pthread_mutex_unlock(&mutex);
    return now;
}

/* Clears new memory while passwords are looked for, so that none that the servers left there is found. */
static void *cleared(void *allocated, size_t from) {
    if (allocated && wrapped_memory_seeks) {
        memset((char *)allocated + from, 0, malloc_usable_size(allocated) - from);
    }
    return allocated;
}

void *__wrap_malloc(size_t size) {
    return fails() ? NULL : enter(cleared(__real_malloc(size), 0));
}

void *__wrap_calloc(size_t number, size_t size) {
    return fails() ? NULL : enter(cleared(__real_calloc(number, size), 0));
}

void *__wrap_realloc(void *old, size_t size) {
    if (fails()) {
        return NULL;
    }
    leave(old);
    return enter(__real_realloc(old, size));
}

char *__wrap_strdup(const char *text) {
    return fails() ? NULL : enter(cleared(__real_strdup(text), strlen(text) + 1));
}

/* Every password of the tests ends with this. */
static const char SECRET[] = "-secret";

void __wrap_free(void *allocated) {
    bool seeks = allocated && wrapped_memory_seeks && spared == 0;
    if (seeks && memmem(allocated, malloc_usable_size(allocated), SECRET, strlen(SECRET))) {
        wrapped_memory_secrets++;
    }
    leave(allocated);
    __real_free(allocated);
}
