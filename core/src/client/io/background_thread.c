/* Starts the background thread when it is first needed, and ends it when its client is closed. The thread runs
 * client->background_main, which is background_run (background.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include "background_thread.h"

#include "client_lock.h"

/* Starts the background thread if it does not run yet. Returns false if the system refuses. With the mutex. */
bool background_start(struct client *client) {
    if (client->background_started) {
        return true;
    }
    if (client->background_alarm < 0) {
        client->background_alarm = system_alarm_new();
    }
    client->background_started = system_thread_start(&client->background_thread, client->background_main, client);
    return client->background_started;
}

/* Waits until the background thread of a client that is stopping has ended. Without the mutex. */
void background_stop(struct client *client) {
    client_lock(client);
    bool started = client->background_started;
    client->background_started = false;
    client_unlock(client);
    if (started) {
        system_signal(&client->background_signal);
        pthread_join(client->background_thread, NULL);
    }
}
