/* Finds the addresses for a pipeline's connection: those of the URL's host, or of the server that a search finds.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FIND_SERVER_H
#define FIND_SERVER_H

#include "client.h"

/* Finds the server's addresses unless they are known. Waits until `until` at most, without the mutex. Only the reader
 * calls it. Returns OK if there was nothing to find or it was found, AGAIN while the lookup or search goes on, or why
 * it failed. */
int io_lookup(struct pipeline_io *io, int64_t until);

/* The background thread's part of a search: steps a search that no connection waits for. */
void server_search_step(struct client *client, int64_t now);

/* When the background thread has to step the search, and the descriptor that it polls for it; -1 if there is none. */
int64_t server_search_next_time(const struct client *client, int64_t now);
int server_search_descriptor(const struct client *client, short *events_out);

#endif
