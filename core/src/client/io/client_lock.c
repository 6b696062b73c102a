/* The client's mutex, the threads that are woken after it was dropped, and calls that enter and leave.
 * SPDX-License-Identifier: Apache-2.0 */
#include "client_lock.h"

void client_lock(struct client *client) {
    pthread_mutex_lock(&client->mutex);
}

/* Drops the mutex, then wakes. A futex may be on the stack of a caller that has returned: waking it wakes no thread. */
void client_unlock(struct client *client) {
    _Atomic uint32_t *wakes[WAKE_MAX];
    size_t count = client->wake_count;
    for (size_t i = 0; i < count; i++) {
        wakes[i] = client->wakes[i];
    }
    client->wake_count = 0;
    bool kick = client->background_kick;
    client->background_kick = false;
    struct system_signal signal = client->background_signal;
    pthread_mutex_unlock(&client->mutex);
    for (size_t i = 0; i < count; i++) {
        system_wake(wakes[i]);
    }
    if (kick) {
        system_signal(&signal);
    }
}

/* Marks a caller's futex. The caller is woken after the mutex was dropped. */
void client_wake(struct client *client, _Atomic uint32_t *futex) {
    if (atomic_fetch_or(futex, 1) & 1) {
        return; /* already woken */
    }
    if (client->wake_count == WAKE_MAX) {
        system_wake(client->wakes[--client->wake_count]);
    }
    client->wakes[client->wake_count++] = futex;
}

void client_kick_background(struct client *client) {
    if (client->background_started && client->background_wakes_at != 0) {
        client->background_wakes_at = 0;
        client->background_kick = true;
    }
}

int client_enter(struct client *client) {
    client_lock(client);
    if (atomic_load(&client->broken) || atomic_load(&client->closed)) {
        client_unlock(client);
        return client_status(client);
    }
    client->callers++;
    return REDLATCH_OK;
}

void client_leave(struct client *client) {
    client->callers--;
    client_unlock(client);
}
