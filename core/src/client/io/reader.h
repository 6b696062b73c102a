/* The reader role of a pipeline: who reads its connection, and who does next. With the client's mutex.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READER_H
#define READER_H

#include "client.h"

/* The role is free: `who` has it until reader_leave. */
void reader_take(struct pipeline_io *io, enum reader who);

/* A caller that has the role is about to wait for the socket without the mutex, or has the mutex again. */
void reader_at_socket(struct pipeline_io *io, bool waits);

/* Gives the role up; whoever does passes it on afterwards. */
void reader_leave(struct pipeline_io *io);

/* If nobody reads: wakes the next reader, or has the background thread mind the pipeline if there is none. */
void reader_pass(struct pipeline_io *io, int64_t now);

/* Whoever steps machines may have sent commands on other pipelines for callers who sleep: they are to read them. */
void reader_pass_all(struct client *client, const struct pipeline_io *except);

/* Whether a caller would be woken to read. */
bool reader_is_found(const struct pipeline_io *io);

#endif
