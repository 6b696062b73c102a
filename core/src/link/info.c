/* Reading the parts of INFO that are used.
 * SPDX-License-Identifier: Apache-2.0 */
#include "info.h"

#include <string.h>

#include "numbers.h"

/* Returns what follows `mark`, if that is at least `least` bytes, else NULL. */
static const char *find(const char *text, size_t size, const char *mark, size_t least) {
    size_t length = strlen(mark);
    for (size_t i = 0; i + length + least <= size; i++) {
        if (memcmp(text + i, mark, length) == 0) {
            return text + i + length;
        }
    }
    return NULL;
}

static void find_id(const char *text, size_t size, const char *mark, char id[PROCESS_ID_SIZE]) {
    const char *found = find(text, size, mark, PROCESS_ID_SIZE - 1);
    id[0] = '\0';
    if (found) {
        memcpy(id, found, PROCESS_ID_SIZE - 1);
        id[PROCESS_ID_SIZE - 1] = '\0';
    }
}

void info_run_id(const char *text, size_t size, char run_id[PROCESS_ID_SIZE]) {
    find_id(text, size, "\nrun_id:", run_id);
}

void info_replication_id(const char *text, size_t size, char id[PROCESS_ID_SIZE]) {
    find_id(text, size, "\nmaster_replid:", id);
}

enum server_role info_role(const char *text, size_t size) {
    if (find(text, size, "\nrole:master", 0)) {
        return ROLE_MASTER;
    }
    return find(text, size, "\nrole:", 0) ? ROLE_REPLICA : ROLE_UNKNOWN;
}

/* Returns the value behind `mark`, which ends with its line, or NULL if there is none. */
static const char *find_line(const char *text, size_t size, const char *mark, size_t *length) {
    const char *found = find(text, size, mark, 0);
    size_t left = found ? (size_t)(text + size - found) : 0;
    *length = 0;
    while (*length < left && found[*length] != '\r' && found[*length] != '\n') {
        ++*length;
    }
    return found;
}

bool info_master(const char *text, size_t size, struct endpoint *out) {
    size_t host_size;
    size_t port_size;
    int64_t number;
    const char *host = find_line(text, size, "\nmaster_host:", &host_size);
    const char *port = find_line(text, size, "\nmaster_port:", &port_size);
    return host && port && server_number(port, port_size, &number) && endpoint_set(out, host, host_size, number);
}
