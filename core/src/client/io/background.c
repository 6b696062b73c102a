/* The background thread: the client's own thread. It renews leases, listens for messages, runs the engine's timers and
 * reads pipelines that nobody else reads. It watches all pipelines for the end of their connections, whoever reads
 * them: of what else happens to a socket a watcher is not woken. It sleeps without end while there is nothing to keep,
 * and never runs the host's code. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "background.h"

#include <poll.h>

#include "client_lock.h"
#include "composite_async.h"
#include "find_server.h"
#include "host_watch.h"
#include "outputs.h"
#include "pipeline_io.h"
#include "preallocate.h"
#include "reader.h"
#include "subscriber.h"
#include "successor.h"

/* Whether the background thread should read a pipeline now: its own always, another one when it was left unread. */
static bool should_read(const struct pipeline_io *io, int64_t now) {
    bool other = io_is_read(io) && io->reader != READER_BACKGROUND;
    if (other || (io_is_callers(io) && reader_is_found(io))) {
        return false;
    }
    if (io->ended) {
        return true;
    }
    if (!io_has_work(io)) {
        return io->wanted || io_is_opening(io);
    }
    bool connecting_for_host = io->pipeline == PIPELINE_HOST && io->connection.state != CONNECTION_READY;
    return io->reader == READER_BACKGROUND || io->pipeline == PIPELINE_BACKGROUND || io_is_lent(io) ||
           connecting_for_host || (io->unread_since && now - io->unread_since >= UNREAD_LIMIT);
}

/* The host polls its pipeline's socket itself, except while the background thread reads it. */
static void update_set(struct pipeline_io *io) {
    struct client *client = io->client;
    if (io->pipeline != PIPELINE_HOST || client->event_set < 0) {
        return;
    }
    bool wanted = io->connection.state == CONNECTION_READY && io->reader != READER_BACKGROUND;
    if (wanted && !io->in_set) {
        io->in_set = system_set_add(client->event_set, io->connection.fd) == 0;
    } else if (!wanted && io->in_set) {
        system_set_remove(client->event_set, io->connection.fd);
        io->in_set = false;
    }
}

static void background_read(struct pipeline_io *io, int64_t now) {
    struct client *client = io->client;
    reader_take(io, READER_BACKGROUND);
    io->ended = false;
    if (io->connection.state == CONNECTION_READY) {
        io_receive(io, connection_read(&io->connection, io->staging, STAGING_SIZE), now);
        io_check_peer(io, now);
    }
    if (io->connection.state != CONNECTION_READY && should_read(io, now)) {
        int status = io_lookup(io, 0);
        status = status == REDLATCH_OK ? io_connect(io, now) : status;
        io->wanted = io->wanted && status == REDLATCH_AGAIN;
    }
    client_outputs(client, now);
}

static void background_step(struct pipeline_io *io, int64_t now) {
    if (should_read(io, now)) {
        background_read(io, now);
    }
    if (io->reader == READER_BACKGROUND && !should_read(io, now)) {
        reader_leave(io);
    }
    update_set(io);
}

static int64_t earlier(int64_t one, int64_t other) {
    return one < other ? one : other;
}

/* What to poll and when to recheck. Nothing is stepped here and the mutex is not dropped: whatever happens from now
 * on kicks the background thread. */
static int64_t survey(struct client *client, struct pollfd *fds, size_t *count_out, int64_t now) {
    int64_t wake = earlier(subscriber_next_time(client), engine_next_timer(&client->engine));
    wake = earlier(wake, earlier(composite_next_time(client), successor_next_time(client)));
    wake = earlier(wake, earlier(server_search_next_time(client, now), listener_next_time(client)));
    wake = earlier(wake, host_watch_next_time(client, now));
    size_t count = 0;
    fds[count++] = (struct pollfd){client->background_signal, POLLIN, 0};
    fds[count++] = (struct pollfd){client->background_alarm, POLLIN, 0};
    for (int i = 0; i < PIPELINE_COUNT; i++) {
        struct pipeline_io *io = &client->ios[i];
        reader_pass(io, now);
        if (io->reader == READER_BACKGROUND) {
            wake = earlier(wake, io_next_time(io));
            fds[count++] = (struct pollfd){io->connection.fd, io_poll_events(io), 0};
        } else if (should_read(io, now)) {
            wake = now; /* since it was stepped */
        } else if (io->unread_since) {
            wake = earlier(wake, io->unread_since + UNREAD_LIMIT);
        }
        if (io->reader != READER_BACKGROUND && !io->ended && io->connection.state == CONNECTION_READY) {
            fds[count++] = (struct pollfd){io->connection.fd, POLLRDHUP, 0};
        }
    }
    fds[count++] = (struct pollfd){client->subscriber.connection.fd, subscriber_events(client), 0};
    const struct connection *next = &client->subscriber.next.connection;
    if (next->fd >= 0) {
        fds[count++] = (struct pollfd){next->fd, connection_events(next), 0};
    }
    short events;
    int search = server_search_descriptor(client, &events);
    fds[count++] = (struct pollfd){search, events, 0};
    int sentinel = listener_descriptor(client, &events);
    fds[count++] = (struct pollfd){sentinel, events, 0};
    *count_out = count;
    return wake;
}

/* Notes which connections have ended. One that is read by somebody else is left to that one, and watched no more. */
static void note_ends(struct client *client, const struct pollfd *fds, size_t count) {
    for (size_t i = 0; i < count; i++) {
        for (int pipeline = 0; fds[i].events == POLLRDHUP && fds[i].revents && pipeline < PIPELINE_COUNT; pipeline++) {
            struct pipeline_io *io = &client->ios[pipeline];
            bool same = io->connection.state == CONNECTION_READY && io->connection.fd == fds[i].fd;
            io->ended = io->ended || same;
        }
    }
}

/* Everything that is due. */
static void work(struct client *client) {
    client_preallocate(client, OPERATION_QUERY); /* without memory, renewals try again every millisecond */
    int64_t now = system_now();
    engine_run_timers(&client->engine, now);
    client_notify_losses(client);
    listener_step(client, now);
    host_watch_step(client, now);
    server_search_step(client, now);
    subscriber_step(client, now);
    successor_step(client, now);
    client_outputs(client, now);
    for (int i = 0; i < PIPELINE_COUNT; i++) {
        background_step(&client->ios[i], system_now());
    }
    subscriber_changes(client, now);
}

/* What a suspend of the machine may put off: its end is seen so much later. */
static const int64_t SHORT_SLEEP = SECOND;

/* Sleeps until a descriptor is ready, or `wake` has come. Leases run out while the machine is suspended, so a long
 * sleep ends by an alarm, which is set only when the time changes; for a short one its own end will do. */
static void sleep_until(struct client *client, struct pollfd *fds, size_t count, int64_t wake) {
    if (client->background_alarm >= 0 && wake - system_now() > SHORT_SLEEP) {
        bool set = client->alarm_at == wake || system_alarm_set(client->background_alarm, wake);
        client->alarm_at = set ? wake : 0;
        wake = set ? NEVER : wake;
    }
    system_poll(fds, count, wake);
    if (fds[1].revents) {
        system_unsignal(client->background_alarm);
        client->alarm_at = NEVER;
    }
}

void *background_run(void *argument) {
    struct client *client = argument;
    system_thread_name("redlatch");
    client_lock(client);
    while (!atomic_load(&client->stopping)) {
        work(client);
        if (client->composite_ops) {
            client_unlock(client);
            composite_step_all(client);
            client_lock(client);
        }
        struct pollfd fds[PIPELINE_COUNT + 6];
        size_t count;
        int64_t wake = survey(client, fds, &count, system_now());
        client->background_wakes_at = wake > 1 ? wake : 1;
        client_unlock(client);
        sleep_until(client, fds, count, wake);
        client_lock(client);
        client->background_wakes_at = 0;
        note_ends(client, fds, count);
        if (fds[0].revents) {
            system_unsignal(client->background_signal);
        }
    }
    client_unlock(client);
    if (atomic_load(&client->broken)) {
        composite_end_broken(client);
    }
    return NULL;
}
