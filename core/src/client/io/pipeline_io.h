/* Bytes of a pipeline.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PIPELINE_IO_H
#define PIPELINE_IO_H

#include "client.h"

/* Whether somebody reads it; a caller who has been woken to does not yet. */
static inline bool io_is_read(const struct pipeline_io *io) {
    return io->reader > READER_COMING;
}

void io_flush(struct pipeline_io *io);
short io_poll_events(const struct pipeline_io *io);
bool io_has_work(const struct pipeline_io *io);
bool io_is_opening(const struct pipeline_io *io);
bool io_is_callers(const struct pipeline_io *io);

/* Whether it is lent to operations that wait for replicas, asynchronous ones, too. */
bool io_is_lent(const struct pipeline_io *io);

/* Whether the background thread reads it for the host, who cannot poll its socket: the system has no sets. */
static inline bool io_is_read_for_host(const struct pipeline_io *io) {
    const struct client *client = io->client;
    return io->pipeline->role == PIPELINE_HOST && client->event_signal.fd >= 0 && client->event_set < 0;
}

bool io_is_shared(const struct pipeline_io *io);

/* Takes what was read (< 0: the end of the connection) and steps the machines. */
void io_receive(struct pipeline_io *io, ssize_t got, int64_t now);

/* The same for who has waited for the socket; it also gives up a peer that has been silent for too long. */
void io_take(struct pipeline_io *io, ssize_t got, int64_t now);

int io_connect(struct pipeline_io *io, int64_t now);
int64_t io_next_time(const struct pipeline_io *io);
void io_watch_unread(struct pipeline_io *io, int64_t now);

/* CLOSED: when it may be opened again. */
int64_t io_retry_at(const struct pipeline_io *io);

/* No connection could be made. What an operation wanted to say was not sent, whatever became of the greeting. */
void io_failed(struct pipeline_io *io, int status, int64_t now);

/* The routes of a cluster have changed: commands go to where their names are now, and the connections of nodes that
 * serve no slot any more are given up. */
void io_follow_routes(struct client *client, int64_t now);

/* All of the node's connections but that of `except` are given up, since the client is on another server now. */
void io_move_all(struct node *node, const struct pipeline_io *except, int64_t now);

#endif
