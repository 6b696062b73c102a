/* What a server's INFO says about itself: which process it is, and whether it is a master.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INFO_H
#define INFO_H

#include <stddef.h>

#include "discovery.h"

enum { PROCESS_ID_SIZE = 41 };

/* Reads the run id, which every server process draws at its start. It is empty if the text has none. */
void info_run_id(const char *text, size_t size, char run_id[PROCESS_ID_SIZE]);

/* Reads the id of the replication history, which a master and its replicas share. It is empty if the text has none. */
void info_replication_id(const char *text, size_t size, char id[PROCESS_ID_SIZE]);

enum server_role info_role(const char *text, size_t size);

/* Reads the address of a replica's master, as the replica was configured or as the master announces itself. Returns
 * false if the text has none. */
bool info_master(const char *text, size_t size, struct endpoint *out);

#endif
