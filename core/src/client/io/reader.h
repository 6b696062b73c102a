/* The reader role of a pipeline: which thread reads its connection, and which one is next. With the client's mutex.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READER_H
#define READER_H

#include "client.h"

/* Takes the free role for `who`, until reader_leave. */
void reader_take(struct pipeline_io *io, enum reader who);

/* Notes that a caller with the role begins to wait for the socket without the mutex, or has the mutex again. */
void reader_at_socket(struct pipeline_io *io, bool waits);

/* Gives the role up. A call of reader_pass follows. */
void reader_leave(struct pipeline_io *io);

/* If no thread reads the pipeline, wakes the caller that reads next. If there is none, io_watch_unread decides when the
 * background thread reads. */
void reader_pass(struct pipeline_io *io, int64_t now);

/* Passes the role of each callers' pipeline but `except`. A step of the machines may have sent commands of sleeping
 * callers there; these callers have to read the replies. */
void reader_pass_all(struct client *client, const struct pipeline_io *except);

/* Returns whether reader_pass would wake a caller. */
bool reader_is_found(const struct pipeline_io *io);

#endif
