/* A redis-server of the test's own on a unix socket, which ends with the test, and questions to it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REAL_SERVER_H
#define REAL_SERVER_H

#include <stddef.h>

/* Starts it; ends the program if that fails. Returns its URL, which stays valid. */
const char *real_server_start(void);
void real_server_end(void);

/* Writes a hash of one field and value, which is no lock. */
void real_server_put_hash(const char *name, size_t name_size);

/* How many keys there are. */
long long real_server_keys(void);

#endif
