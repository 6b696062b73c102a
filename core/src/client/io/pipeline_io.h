/* The connection of a pipeline: opens it, writes commands, receives replies.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PIPELINE_IO_H
#define PIPELINE_IO_H

#include "client.h"

/* Returns whether a thread reads the pipeline. A caller that was only woken to read does not read yet. */
static inline bool io_is_read(const struct pipeline_io *io) {
    return io->reader > READER_COMING;
}

/* Returns whether the client's search finds the addresses, not a lookup. A node of a cluster has an address of its own;
 * once that proved useless, only the search can find another one. */
static inline bool io_needs_search(const struct pipeline_io *io) {
    return current_server_is_searched(&io->node->current) || (io->client->cluster && io->must_lookup);
}

void io_flush(struct pipeline_io *io);
short io_poll_events(const struct pipeline_io *io);
bool io_has_work(const struct pipeline_io *io);
bool io_is_opening(const struct pipeline_io *io);
bool io_is_callers(const struct pipeline_io *io);

/* Returns whether the pipeline is lent to operations that wait for acknowledgements, asynchronous ones included. */
bool io_is_lent(const struct pipeline_io *io);

/* Returns whether the background thread reads the pipeline for the host, which cannot poll the socket: the system has
 * no sets. */
static inline bool io_is_read_for_host(const struct pipeline_io *io) {
    const struct client *client = io->client;
    return io->pipeline->role == PIPELINE_HOST && client->event_signal.fd >= 0 && client->event_set < 0;
}

bool io_is_shared(const struct pipeline_io *io);

/* Takes the `got` bytes that were read into `staging` and hands complete replies to the engine. `got` < 0 is the end of
 * the connection. */
void io_receive(struct pipeline_io *io, ssize_t got, int64_t now);

/* Does io_receive for a thread that waited for the socket, then gives the connection up if a reply is due for too
 * long. */
void io_take(struct pipeline_io *io, ssize_t got, int64_t now);

int io_connect(struct pipeline_io *io, int64_t now);
int64_t io_next_time(const struct pipeline_io *io);
void io_watch_unread(struct pipeline_io *io, int64_t now);

/* Returns when a CLOSED connection may be opened again. */
int64_t io_retry_at(const struct pipeline_io *io);

/* Reports that no connection could be made. NO_REPLY becomes UNREACHABLE: only the greeting was sent, no command. */
void io_failed(struct pipeline_io *io, int status, int64_t now);

/* Called when the routes of a cluster may have changed. Commands follow their names. The connections of nodes that no
 * longer serve a slot are given up. */
void io_follow_routes(struct client *client, int64_t now);

/* Gives up all connections of the node, except that of `except`, because the client moved to another server. */
void io_move_all(struct node *node, const struct pipeline_io *except, int64_t now);

#endif
