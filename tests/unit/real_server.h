/* A redis-server of the test's own, on a unix socket. It ends with the test.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REAL_SERVER_H
#define REAL_SERVER_H

#include <stddef.h>

/* Starts the server and returns its URL, which stays valid. Ends the program if that fails. */
const char *real_server_start(void);
void real_server_end(void);

/* Writes a hash of one field and value, which is no lock. */
void real_server_put_hash(const char *name, size_t name_size);

/* Returns the number of keys on the server. */
long long real_server_keys(void);

#endif
