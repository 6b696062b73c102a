/* What a cluster says of itself: its masters, and the slots that each serves. No sockets.
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

/* A node is sent a request for the topology. */
void topology_requested(struct topology *topology);

/* A node says MOVED of a slot: the reply to a request that was sent before is older than that, whenever it comes. */
void topology_redirected(struct topology *topology, uint16_t slot);

/* Whether what the last reply says of a slot was requested before the slot's last MOVED came. */
bool topology_is_outdated(const struct topology *topology, uint16_t slot);

/* Reads the reply to CLUSTER SLOTS, a redisReply. A node without a host (nil, or an empty text) is where `source` is,
 * which was asked. A node that should have a host name and has none ("?") is at the address of its metadata; without
 * one nobody is known to serve its slots. Of several ranges with the same slot the last one counts. OK,
 * NO_MEMORY, or PROTOCOL, also for a reply that names no master; the topology is not changed on failure. */
int topology_read(struct topology *topology, const void *parsed, const struct endpoint *source,
                  const struct address_map *map);

/* Reads "MOVED slot host:port" or "ASK slot host:port", whose host may be missing: that of `source`, which said so. The
 * port follows the last colon, as Redis puts no brackets around IPv6 addresses. false for another text, and for the
 * host "?". */
bool redirect_read(const char *text, size_t size, const struct endpoint *source, const struct address_map *map,
                   uint16_t *slot_out, struct endpoint *endpoint_out);

void topology_free(struct topology *topology);

#endif
