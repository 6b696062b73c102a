/* The server as seen by somebody else: questions over a connection of one's own, and a server to ask.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WITNESS_H
#define WITNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Starts a server that ends with this process, and writes its URL. witness_end_server may be called without one. */
void witness_start_server(char *url_out, size_t size);
void witness_end_server(void);

/* Sends a command, and ends the program unless the answer is an integer. */
long long ask(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Sends a command and throws the answer away, errors included. */
void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A number out of INFO, such as "process_id". */
long long info_number(const char *field);

/* How many connections the server has whose name begins with "redlatch:". */
int connections_of_redlatch(void);

/* Cuts every connection but the witness's own. */
void cut_all(void);

#endif
