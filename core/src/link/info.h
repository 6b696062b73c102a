/* What a server's INFO says about itself: which process it is, and whether it is a master.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INFO_H
#define INFO_H

#include <stddef.h>

#include "discovery.h"

enum { PROCESS_ID_SIZE = 41 };

/* The run id, which every server process draws at its start; empty if the text has none. */
void info_run_id(const char *text, size_t size, char run_id[PROCESS_ID_SIZE]);

/* The id of the replication history, which a master and its replicas share; empty if the text has none. */
void info_replication_id(const char *text, size_t size, char id[PROCESS_ID_SIZE]);

enum server_role info_role(const char *text, size_t size);

/* Of a replica: the address of its master, as it was told or as that announces itself; false if the text has none. */
bool info_master(const char *text, size_t size, struct endpoint *out);

#endif
