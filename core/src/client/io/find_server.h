/* Where a pipeline's connection is to lead: the addresses of the URL's host, or of the master that a search finds.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FIND_SERVER_H
#define FIND_SERVER_H

#include "client.h"

/* Finds the server's addresses if they are not known, without the mutex, waiting until `until` at most; only for the
 * reader. OK if there was nothing to wait for or it went well, AGAIN while it goes on, or how it failed. */
int io_lookup(struct pipeline_io *io, int64_t until);

/* The background thread's part of a search: goes on with one that connections do not wait for. */
void server_search_step(struct client *client, int64_t now);

/* When the background thread has to step the search; what it is to poll for, -1 for nothing. */
int64_t server_search_next_time(const struct client *client, int64_t now);
int server_search_descriptor(const struct client *client, short *events_out);

#endif
