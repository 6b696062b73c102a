/* The keeper: the client's own thread. It renews leases, listens for messages, runs the engine's timers and reads
 * lanes that nobody else reads. It sleeps without end while there is nothing to keep, and never runs the host's code.
 * SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>

#include "client.h"

static const int64_t UNREAD_LIMIT = 5 * MILLISECOND;

/* Whether the keeper should read a lane now: its own always, another one when it was left unread. */
static bool should_read(const struct port *port, int64_t now) {
    if (port->reading && !port->keeper_reads) {
        return false;
    }
    if (port->lane == LANE_KEEPER) {
        return true;
    }
    if (!port_has_work(port)) {
        return port->wanted;
    }
    bool connecting_for_host = port->lane == LANE_HOST && port->connection.state != CONNECTION_READY;
    return port->keeper_reads || connecting_for_host ||
           (port->unread_since && now - port->unread_since >= UNREAD_LIMIT);
}

/* The host polls its lane's socket itself, except while the keeper reads it. */
static void update_set(struct port *port) {
    struct client *client = port->client;
    if (port->lane != LANE_HOST || client->event_set < 0) {
        return;
    }
    bool wanted = port->connection.state == CONNECTION_READY && !port->keeper_reads;
    if (wanted && !port->in_set) {
        port->in_set = system_set_add(client->event_set, port->connection.fd) == 0;
    } else if (!wanted && port->in_set) {
        system_set_remove(client->event_set, port->connection.fd);
        port->in_set = false;
    }
}

static void step_port(struct port *port, int64_t now) {
    if (!should_read(port, now) || (port_is_callers(port) && drive_has_reader(port))) {
        if (port->keeper_reads) {
            port->keeper_reads = false;
            port->reading = false;
            port->unread_since = 0;
        }
        update_set(port);
        return;
    }
    port->keeper_reads = true;
    port->reading = true;
    if (port->connection.state == CONNECTION_READY) {
        port_take(port, connection_read(&port->connection, port->staging, STAGING_SIZE), now);
        port_check_peer(port, now);
        client_outputs(port->client, now);
    }
    bool wanted = port->wanted || port_has_work(port);
    if (port->connection.state != CONNECTION_READY && wanted && port_resolve(port, NEVER)) {
        port->wanted = port_connect(port, system_now()) == REDLATCH_AGAIN && port->wanted;
    }
    if (!port_has_work(port) && !port->wanted && port->connection.state != CONNECTION_OPENING &&
        port->connection.state != CONNECTION_GREETING) {
        port->keeper_reads = false;
        port->reading = false;
        port->unread_since = 0;
    }
    update_set(port);
}

static int64_t earlier(int64_t one, int64_t other) {
    return one < other ? one : other;
}

/* Everything that is due; returns when the keeper has to look again, and what to poll. */
static int64_t work(struct client *client, struct pollfd *fds, size_t *count_out) {
    int64_t now = system_now();
    client_supply(client, OPERATION_QUERY); /* without memory, renewals try again every millisecond */
    engine_run_timers(&client->engine, now);
    subscriber_step(client, now);
    client_outputs(client, now);
    int64_t wake = NEVER;
    size_t count = 0;
    fds[count++] = (struct pollfd){client->keeper_signal, POLLIN, 0};
    for (int i = 0; i < LANE_COUNT; i++) {
        struct port *port = &client->ports[i];
        step_port(port, now);
        drive_pass_role(port, now);
        if (port->keeper_reads) {
            wake = earlier(wake, port_next_time(port));
            if (port->connection.fd >= 0) {
                fds[count++] = (struct pollfd){port->connection.fd, port_events(port), 0};
            }
        } else if (port->unread_since) {
            wake = earlier(wake, port->unread_since + UNREAD_LIMIT);
        }
    }
    subscriber_changes(client, now);
    if (client->subscriber.connection.fd >= 0) {
        fds[count++] =
            (struct pollfd){client->subscriber.connection.fd, connection_events(&client->subscriber.connection), 0};
    }
    client_outputs(client, now);
    wake = earlier(wake, subscriber_next_time(client));
    *count_out = count;
    return earlier(wake, engine_next_timer(&client->engine));
}

static void *keep(void *argument) {
    struct client *client = argument;
    system_background_thread("redlatch");
    client_lock(client);
    while (!atomic_load(&client->stopping)) {
        struct pollfd fds[LANE_COUNT + 2];
        size_t count;
        int64_t wake = work(client, fds, &count);
        client->keeper_wakes_at = wake > 1 ? wake : 1;
        client_unlock(client);
        system_poll(fds, count, wake);
        client_lock(client);
        client->keeper_wakes_at = 0;
        if (fds[0].revents) {
            system_unsignal(client->keeper_signal);
        }
    }
    client_unlock(client);
    return NULL;
}

/* Starts the keeper if it does not run yet; false if the system refuses. With the mutex. */
bool keeper_start(struct client *client) {
    if (client->keeper_started) {
        return true;
    }
    if (pthread_create(&client->keeper, NULL, keep, client) != 0) {
        return false;
    }
    client->keeper_started = true;
    return true;
}

/* Ends the keeper and waits for it. Without the mutex. */
void keeper_stop(struct client *client) {
    client_lock(client);
    atomic_store(&client->stopping, true);
    bool started = client->keeper_started;
    client->keeper_started = false;
    client_unlock(client);
    if (started) {
        system_signal(client->keeper_signal);
        pthread_join(client->keeper, NULL);
    }
}
