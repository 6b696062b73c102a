/* A witness: it starts a server, and sends it commands over its own connection.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WITNESS_H
#define WITNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Starts a server that ends with this process, and writes its URL. witness_end_server may be called without it. */
void witness_start_server(char *url_out, size_t size);
void witness_end_server(void);

/* Sends a command, and returns its reply. Ends the program if that is no integer. */
long long ask(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Sends a command and discards the reply, also an error reply. */
void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns a number from INFO, such as "process_id". */
long long info_number(const char *field);

/* Returns how many of the server's connections have names that begin with "redlatch:". */
int connections_of_redlatch(void);

/* Cuts every connection but the witness's own. */
void cut_all(void);

#endif
