/* The parts of INFO that are used.
 * SPDX-License-Identifier: Apache-2.0 */
#include "info.h"

#include <string.h>

/* What stands behind `mark`, at least `least` bytes of it; NULL. */
static const char *find(const char *text, size_t size, const char *mark, size_t least) {
    size_t length = strlen(mark);
    for (size_t i = 0; i + length + least <= size; i++) {
        if (memcmp(text + i, mark, length) == 0) {
            return text + i + length;
        }
    }
    return NULL;
}

void info_run_id(const char *text, size_t size, char run_id[PROCESS_ID_SIZE]) {
    const char *found = find(text, size, "\nrun_id:", PROCESS_ID_SIZE - 1);
    run_id[0] = '\0';
    if (found) {
        memcpy(run_id, found, PROCESS_ID_SIZE - 1);
        run_id[PROCESS_ID_SIZE - 1] = '\0';
    }
}

enum server_role info_role(const char *text, size_t size) {
    if (find(text, size, "\nrole:master", 0)) {
        return ROLE_MASTER;
    }
    return find(text, size, "\nrole:", 0) ? ROLE_REPLICA : ROLE_UNKNOWN;
}
