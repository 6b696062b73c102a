/* What the simulations of semaphores and latches share, with failovers and without.
 * SPDX-License-Identifier: Apache-2.0 */
#include "count_parts.h"

#include <stdlib.h>
#include <string.h>

bool count_operation_of(const struct packet *packet, uint32_t *client_out, uint64_t *id_out) {
    static const char before_name[] = "redlatch_op:{";
    static const char behind_name[] = "}:"; /* names are single letters */
    enum { BEFORE = sizeof before_name - 1, CLIENT = BEFORE + 1 + sizeof behind_name - 1 };
    for (uint32_t i = 0; i < packet->key_count; i++) {
        struct redis_text key = packet->texts[i];
        if (key.size > 50 && memcmp(key.bytes, before_name, BEFORE) == 0 &&
            memcmp(key.bytes + BEFORE + 1, behind_name, sizeof behind_name - 1) == 0) {
            *client_out = (uint32_t)(key.bytes[CLIENT] - '0');
            *id_out = strtoull(packet->texts[packet->key_count + 1].bytes, NULL, 10);
            return true;
        }
    }
    return false;
}

const struct operation *count_parked_first(const struct list *waiters) {
    struct list_link *link = list_first(waiters);
    const struct operation *operation = link ? container_of(link, struct operation, link) : NULL;
    bool parked = operation && (operation->phase == PHASE_PARKED || operation->phase == PHASE_QUEUED);
    return parked ? operation : NULL;
}
