/* What the files of the network share: how packets are made and sent, and the functions for channels.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef NETWORK_PARTS_H
#define NETWORK_PARTS_H

#include "network.h"

/* Returns a packet that is not yet posted. */
struct packet *packet_new(struct peer *peer, enum packet_kind kind, uint32_t pipeline);

/* Returns a random time that a packet takes. */
int64_t packet_delay(struct network *network);

void packet_post(struct network *network, struct packet *packet, int64_t at);

/* network_messages.c: a new subscription is confirmed after a packet's delay. A subscription that is left ends at
 * once. */
void network_change_subscriptions(struct network *network, struct peer *peer);
void network_deliver_message(struct network *network, const struct packet *packet);

#endif
