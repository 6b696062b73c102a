/* The keeper: the client's own thread. It renews leases, listens for messages, runs the engine's timers and reads
 * lanes that nobody else reads. It watches all lanes for the end of their connections, whoever reads them: of what else
 * happens to a socket a watcher is not woken. It sleeps without end while there is nothing to keep, and never runs the
 * host's code.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <poll.h>

#include "joint_async.h"

/* Whether the keeper should read a lane now: its own always, another one when it was left unread. */
static bool should_read(const struct port *port, int64_t now) {
    if ((port->reading && !port->keeper_reads) || (port_is_callers(port) && drive_has_reader(port))) {
        return false;
    }
    if (port->ended) {
        return true;
    }
    if (!port_has_work(port)) {
        return port->wanted || port_is_opening(port);
    }
    bool connecting_for_host = port->lane == LANE_HOST && port->connection.state != CONNECTION_READY;
    return port->keeper_reads || port->lane == LANE_KEEPER || connecting_for_host ||
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

static void read_port(struct port *port, int64_t now) {
    struct client *client = port->client;
    port->keeper_reads = true;
    port->reading = true;
    port->ended = false;
    if (port->connection.state == CONNECTION_READY) {
        port_take(port, connection_read(&port->connection, port->staging, STAGING_SIZE), now);
        port_check_peer(port, now);
    }
    if (port->connection.state != CONNECTION_READY && should_read(port, now)) {
        int status = port_resolve(port, 0) ? port_connect(port, now) : REDLATCH_UNREACHABLE;
        port->wanted = port->wanted && (status == REDLATCH_AGAIN || port->lookup);
    }
    client_outputs(client, now);
}

static void step_port(struct port *port, int64_t now) {
    if (should_read(port, now)) {
        read_port(port, now);
    }
    if (port->keeper_reads && !should_read(port, now)) {
        port->keeper_reads = false;
        port->reading = false;
        port->unread_since = 0;
    }
    update_set(port);
}

static int64_t earlier(int64_t one, int64_t other) {
    return one < other ? one : other;
}

/* What to poll and when to look again. Nothing is stepped here and the mutex is not dropped: whatever happens from now
 * on kicks the keeper. */
static int64_t survey(struct client *client, struct pollfd *fds, size_t *count_out, int64_t now) {
    int64_t wake = earlier(subscriber_next_time(client), engine_next_timer(&client->engine));
    wake = earlier(wake, joint_next_time(client));
    size_t count = 0;
    fds[count++] = (struct pollfd){client->keeper_signal, POLLIN, 0};
    fds[count++] = (struct pollfd){client->keeper_alarm, POLLIN, 0};
    for (int i = 0; i < LANE_COUNT; i++) {
        struct port *port = &client->ports[i];
        drive_pass_role(port, now);
        if (port->keeper_reads) {
            wake = earlier(wake, port_next_time(port));
            fds[count++] = (struct pollfd){port->connection.fd, port_events(port), 0};
        } else if (should_read(port, now)) {
            wake = now; /* since it was stepped */
        } else if (port->unread_since) {
            wake = earlier(wake, port->unread_since + UNREAD_LIMIT);
        }
        if (!port->keeper_reads && !port->ended && port->connection.state == CONNECTION_READY) {
            fds[count++] = (struct pollfd){port->connection.fd, POLLRDHUP, 0};
        }
    }
    fds[count++] = (struct pollfd){client->subscriber.connection.fd, subscriber_events(client), 0};
    *count_out = count;
    return wake;
}

/* Notes which connections have ended. One that is read by somebody else is left to that one, and watched no more. */
static void note_ends(struct client *client, const struct pollfd *fds, size_t count) {
    for (size_t i = 0; i < count; i++) {
        for (int lane = 0; fds[i].events == POLLRDHUP && fds[i].revents && lane < LANE_COUNT; lane++) {
            struct port *port = &client->ports[lane];
            bool same = port->connection.state == CONNECTION_READY && port->connection.fd == fds[i].fd;
            port->ended = port->ended || same;
        }
    }
}

/* Everything that is due. */
static void work(struct client *client) {
    client_supply(client, OPERATION_QUERY); /* without memory, renewals try again every millisecond */
    int64_t now = system_now();
    engine_run_timers(&client->engine, now);
    client_tell_losses(client);
    subscriber_step(client, now);
    client_outputs(client, now);
    for (int i = 0; i < LANE_COUNT; i++) {
        step_port(&client->ports[i], system_now());
    }
    subscriber_changes(client, now);
}

/* What a suspend of the machine may put off: its end is seen so much later. */
static const int64_t SHORT_SLEEP = SECOND;

/* Sleeps until a descriptor is ready, or `wake` has come. Leases run out while the machine is suspended, so a long
 * sleep ends by an alarm, which is set only when the time changes; for a short one its own end will do. */
static void sleep_until(struct client *client, struct pollfd *fds, size_t count, int64_t wake) {
    if (client->keeper_alarm >= 0 && wake - system_now() > SHORT_SLEEP) {
        bool set = client->alarm_at == wake || system_alarm_set(client->keeper_alarm, wake);
        client->alarm_at = set ? wake : 0;
        wake = set ? NEVER : wake;
    }
    system_poll(fds, count, wake);
    if (fds[1].revents) {
        system_unsignal(client->keeper_alarm);
        client->alarm_at = NEVER;
    }
}

static void *keep(void *argument) {
    struct client *client = argument;
    system_thread_name("redlatch");
    client_lock(client);
    while (!atomic_load(&client->stopping)) {
        work(client);
        if (client->runs) {
            client_unlock(client);
            joint_step_all(client);
            client_lock(client);
        }
        struct pollfd fds[LANE_COUNT + 3];
        size_t count;
        int64_t wake = survey(client, fds, &count, system_now());
        client->keeper_wakes_at = wake > 1 ? wake : 1;
        client_unlock(client);
        sleep_until(client, fds, count, wake);
        client_lock(client);
        client->keeper_wakes_at = 0;
        note_ends(client, fds, count);
        if (fds[0].revents) {
            system_unsignal(client->keeper_signal);
        }
    }
    client_unlock(client);
    if (atomic_load(&client->broken)) {
        joint_end_broken(client);
    }
    return NULL;
}

/* Starts the keeper if it does not run yet; false if the system refuses. With the mutex. */
bool keeper_start(struct client *client) {
    if (client->keeper_started) {
        return true;
    }
    if (client->keeper_alarm < 0) {
        client->keeper_alarm = system_alarm_new();
    }
    client->keeper_started = system_thread_start(&client->keeper, keep, client);
    return client->keeper_started;
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
