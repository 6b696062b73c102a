/* The background thread: the client's own thread. It renews leases, receives messages, runs the engine's timers and
 * reads pipelines that no other thread reads. It watches all connections for their end, also those that other threads
 * read; replies on these do not wake it. While nothing is held or waited for, it sleeps without end. It never runs the
 * host's code.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "background.h"

#include <poll.h>
#include <stdlib.h>

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

/* Returns whether the background thread should read a pipeline now: its own always, another one if it was left
 * unread. */
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
    bool connecting_for_host = io->pipeline->role == PIPELINE_HOST && io->connection.state != CONNECTION_READY;
    return io->reader == READER_BACKGROUND || io->pipeline->role == PIPELINE_BACKGROUND || io_is_lent(io) ||
           io_is_read_for_host(io) || connecting_for_host ||
           (io->unread_since && now - io->unread_since >= UNREAD_LIMIT);
}

/* The host polls its pipeline's socket itself, except while the background thread reads it. */
static void update_set(struct pipeline_io *io) {
    struct client *client = io->client;
    if (io->pipeline->role != PIPELINE_HOST || client->event_set < 0) {
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
        io_take(io, connection_read(&io->connection, io->staging, STAGING_SIZE), now);
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

/* The open descriptors that the thread sleeps on. The first two are those of its signal and its alarm, open or not. */
struct polled {
    struct pollfd *fds;
    size_t count, room;
};

static void add(struct polled *polled, int fd, short events) {
    if (fd >= 0 || polled->count < 2) {
        polled->fds[polled->count++] = (struct pollfd){fd, events, 0};
    }
}

/* Descriptors of no node; and of each node: its two connections for messages, and one connection for each pipeline. */
enum { POLLED_OF_CLIENT = 4, POLLED_OF_NODE = 2 + PIPELINE_COUNT };

/* How soon the thread works again after there was no memory for the list of descriptors. */
static const int64_t NO_ROOM_PAUSE = 10 * MILLISECOND;

/* Makes room for the descriptors of all nodes. Returns false if there was no memory. */
static bool make_room(const struct client *client, struct polled *polled) {
    size_t needed = POLLED_OF_CLIENT;
    for (const struct node *node = &client->node; node; node = node->next) {
        needed += POLLED_OF_NODE;
    }
    if (needed > polled->room) {
        struct pollfd *fds = calloc(needed, sizeof *fds);
        if (!fds) {
            return false;
        }
        free(polled->fds);
        polled->fds = fds;
        polled->room = needed;
    }
    return true;
}

/* Returns whether to watch for the end of a connection that this thread does not read now. Where replies would wake the
 * thread, too, only connections that no thread reads and that have no reply due are watched. */
static bool watches_end(const struct pipeline_io *io) {
    bool watched = io->reader != READER_BACKGROUND && !io->ended && io->connection.state == CONNECTION_READY;
    return watched && (SYSTEM_POLL_END != POLLIN || (!io_is_read(io) && !io_has_work(io)));
}

/* Collects the descriptors to poll, and returns when to wake. Nothing is stepped here and the mutex is not dropped, so
 * each later event kicks the background thread. */
static int64_t survey(struct client *client, struct polled *polled, int64_t now) {
    int64_t wake = earlier(composite_next_time(client), engine_next_timer(&client->engine));
    wake = earlier(wake, earlier(server_search_next_time(client, now), listener_next_time(client)));
    wake = earlier(wake, host_watch_next_time(client, now));
    for (const struct node *node = &client->node; node; node = node->next) {
        wake = earlier(wake, earlier(subscriber_next_time(node), successor_next_time(node)));
    }
    wake = client->unread_until > now ? earlier(wake, client->unread_until) : wake;
    polled->count = 0;
    add(polled, client->background_signal.fd, POLLIN);
    add(polled, client->background_alarm, POLLIN);
    for (struct pipeline_io *io = client->node.ios; io; io = io_next(io)) {
        reader_pass(io, now);
        if (io->reader == READER_BACKGROUND) {
            wake = earlier(wake, io_next_time(io));
            add(polled, io->connection.fd, io_poll_events(io));
        } else if (should_read(io, now)) {
            wake = now; /* it became due after its step */
        } else if (io->unread_since) {
            wake = earlier(wake, io->unread_since + UNREAD_LIMIT);
        }
        if (watches_end(io)) {
            add(polled, io->connection.fd, SYSTEM_POLL_END);
        }
    }
    for (const struct node *node = &client->node; node; node = node->next) {
        add(polled, node->subscriber.connection.fd, subscriber_events(node));
        add(polled, node->subscriber.next.connection.fd, connection_events(&node->subscriber.next.connection));
    }
    short events;
    int search = server_search_descriptor(client, &events);
    add(polled, search, events);
    int sentinel = listener_descriptor(client, &events);
    add(polled, sentinel, events);
    return wake;
}

/* Notes which connections have ended. These are watched no more. If another thread reads one, that thread closes it. */
static void note_ends(struct client *client, const struct polled *polled) {
    for (size_t i = 0; i < polled->count; i++) {
        const struct pollfd *fd = &polled->fds[i];
        bool ended = fd->events == SYSTEM_POLL_END && fd->revents;
        for (struct pipeline_io *io = client->node.ios; ended && io; io = io_next(io)) {
            bool same = io->connection.state == CONNECTION_READY && io->connection.fd == fd->fd;
            io->ended = io->ended || same;
        }
    }
}

/* Does everything that is due. */
static void work(struct client *client) {
    client_preallocate(client, OPERATION_QUERY); /* without memory, renewals try again every millisecond */
    int64_t now = system_now();
    engine_run_timers(&client->engine, now);
    client_notify_losses(client);
    listener_step(client, now);
    host_watch_step(client, now);
    server_search_step(client, now);
    for (struct node *node = &client->node; node; node = node->next) {
        subscriber_step(node, now);
        successor_step(node, now);
    }
    client_outputs(client, now);
    for (struct pipeline_io *io = client->node.ios; io; io = io_next(io)) {
        background_step(io, system_now());
    }
    for (struct node *node = &client->node; node; node = node->next) {
        subscriber_changes(node, now);
    }
}

/* A sleep that is not longer needs no alarm. If the machine is suspended meanwhile, the thread wakes this much too late
 * at most. */
static const int64_t SHORT_SLEEP = SECOND;

/* Sleeps until a descriptor is ready or `wake` has come. Leases run out while the machine is suspended, so an alarm
 * ends a long sleep; it is set only when the time changes. A short sleep ends by the timeout of poll. */
static void sleep_until(struct client *client, const struct polled *polled, int64_t wake) {
    if (client->background_alarm >= 0 && wake - system_now() > SHORT_SLEEP) {
        bool set = client->alarm_at == wake || system_alarm_set(client->background_alarm, wake);
        client->alarm_at = set ? wake : 0;
        wake = set ? NEVER : wake;
    }
    system_poll(polled->fds, polled->count, wake);
    if (polled->count > 1 && polled->fds[1].revents) {
        system_unsignal(client->background_alarm);
        client->alarm_at = NEVER;
    }
}

void *background_run(void *argument) {
    struct client *client = argument;
    system_thread_name("redlatch");
    struct polled polled = {.fds = NULL};
    client_lock(client);
    while (!atomic_load(&client->stopping)) {
        work(client);
        if (client->composite_ops) {
            client_unlock(client);
            composite_step_all(client);
            client_lock(client);
        }
        bool room = make_room(client, &polled);
        int64_t wake = room ? survey(client, &polled, system_now()) : system_now() + NO_ROOM_PAUSE;
        client->background_wakes_at = wake > 1 ? wake : 1;
        client_unlock(client);
        sleep_until(client, &polled, wake);
        client_lock(client);
        client->background_wakes_at = 0;
        note_ends(client, &polled);
        if (polled.count > 0 && polled.fds[0].revents) {
            system_unsignal(client->background_signal.fd);
        }
    }
    client_unlock(client);
    free(polled.fds);
    if (atomic_load(&client->broken)) {
        composite_end_broken(client);
    }
    return NULL;
}
