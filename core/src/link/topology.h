/* The topology of a cluster: its masters, and the slots that each serves. No sockets.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_H
#define TOPOLOGY_H

#include "address_map.h"
#include "routes.h"

/* More masters than a cluster may have. */
enum { TOPOLOGY_MASTERS_MAX = 1024, NO_MASTER = TOPOLOGY_MASTERS_MAX };

struct topology {
    struct endpoint *masters;
    int count;
    int room;
    uint16_t master_of[SLOT_COUNT];     /* an index of `masters`; NO_MASTER: nobody serves the slot */
    uint8_t redirected[SLOT_COUNT / 8]; /* a bit for each slot; see topology_redirected */
};

/* Called when a request for the topology is sent. */
void topology_requested(struct topology *topology);

/* Called when a node replied MOVED for a slot: the reply to a request that was sent before is older than that, whenever
 * it comes. */
void topology_redirected(struct topology *topology, uint16_t slot);

/* Returns whether the topology that was read last was requested before the slot's last MOVED came. */
bool topology_is_outdated(const struct topology *topology, uint16_t slot);

/* Reads the reply of `source` to CLUSTER SLOTS, a redisReply. A node without a host (nil, or an empty text) has that of
 * `source`. A node that should have a host name and has none ("?") is at the address in its metadata; without one its
 * slots have no known master. Of several ranges with the same slot the last one counts. Returns OK, NO_MEMORY, or
 * PROTOCOL, also for a reply that names no master. A failure does not change the topology. */
int topology_read(struct topology *topology, const void *parsed, const struct endpoint *source,
                  const struct address_map *map);

/* Reads "MOVED slot host:port" or "ASK slot host:port", an error reply of `source`. If the host is missing, it is that
 * of `source`. The port follows the last colon, as Redis puts no brackets around IPv6 addresses. Returns false for
 * another text, and for the host "?". */
bool redirect_read(const char *text, size_t size, const struct endpoint *source, const struct address_map *map,
                   uint16_t *slot_out, struct endpoint *endpoint_out);

void topology_free(struct topology *topology);

#endif
