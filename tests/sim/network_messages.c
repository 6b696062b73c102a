/* Channels of the simulated network: subscriptions, published messages, and subscriptions that a server ends by itself.
 * SPDX-License-Identifier: Apache-2.0 */
#include "network_parts.h"
#include "texts.h"
#include "wire.h"

/* Returns the bit of a channel. The channel's text has the name, a single letter, in braces. */
static uint32_t channel_bit(const char *channel) {
    return 1u << (strchr(channel, '{')[1] - 'a');
}

/* Sends a client a message of a channel, or a confirmation or the end of a subscription to it. */
static void tell(struct network *network, struct peer *peer, enum packet_kind kind, struct redis_text channel) {
    struct packet *packet = packet_new(peer, kind, PIPELINE_BACKGROUND);
    packet->texts = texts_copy(&channel, 1);
    packet->refused = kind == PACKET_SUBSCRIBED && network->subscribes &&
                      !network->subscribes(network->world, peer, channel);
    packet_post(network, packet, network->world->now + packet_delay(network));
}

/* A new subscription is confirmed after a packet's delay. A subscription that is left ends at once. */
void network_change_subscriptions(struct network *network, struct peer *peer) {
    struct list_link *link;
    while ((link = list_pop(&peer->engine_server->stale_channels)) != NULL) {
        char channel[CHANNEL_SIZE_MAX + 1];
        channel[channel_text(peer->engine, container_of(link, struct subscription, stale), channel)] = '\0';
        peer->subscribed &= ~channel_bit(channel);
    }
    if (network->world->now < peer->deaf_until || network->world->now < peer->engine_server->changes_from) {
        return;
    }
    while ((link = list_pop(&peer->engine_server->subscription_changes)) != NULL) {
        struct subscription *subscription = container_of(link, struct subscription, link);
        char channel[CHANNEL_SIZE_MAX + 1];
        size_t size = channel_text(peer->engine, subscription, channel);
        channel[size] = '\0';
        if (subscription->state == SUBSCRIPTION_LEAVING) {
            peer->subscribed &= ~channel_bit(channel);
            engine_unsubscribed(peer->engine, subscription, network->world->now);
        } else if (subscription->state == SUBSCRIPTION_WANTED) {
            tell(network, peer, PACKET_SUBSCRIBED, (struct redis_text){channel, size});
        }
    }
}

static int publish(void *context, bool sharded, struct redis_text channel, struct redis_text message) {
    struct sim_server *server = context;
    struct network *network = server->network;
    int notified = 0;
    int64_t number;
    if (sharded || !integer_parse(message, &number)) {
        common_violation(network->world, "a message is no number", "%.*s on %.*s", (int)message.size, message.bytes,
                         (int)channel.size, channel.bytes);
    }
    for (uint32_t i = 0; i < network->peer_count; i++) {
        struct peer *peer = network->peers[i];
        if ((network->bus || peer->server == server) && (peer->subscribed & channel_bit(channel.bytes))) {
            tell(network, peer, PACKET_MESSAGE, channel);
            notified++;
        }
    }
    return notified;
}

void network_end_subscriptions(struct network *network, const struct sim_server *server, struct redis_text channel) {
    for (uint32_t i = 0; i < network->peer_count; i++) {
        struct peer *peer = network->peers[i];
        bool subscribes = peer->subscribed & channel_bit(channel.bytes);
        int64_t after = 0;
        for (const struct packet *packet = network->first; packet; packet = packet->next) {
            if (packet->peer == peer && packet->kind == PACKET_SUBSCRIBED && packet->at > after) {
                after = packet->at; /* the confirmation comes before the end */
            }
        }
        if (peer->server == server && (subscribes || after > 0)) {
            tell(network, peer, PACKET_UNSUBSCRIBED, channel);
            network->first->at = network->first->at > after ? network->first->at : after;
        }
    }
}

void network_deliver_message(struct network *network, const struct packet *packet) {
    struct peer *peer = packet->peer;
    int64_t now = network->world->now;
    enum pubsub_reply what = packet->kind == PACKET_SUBSCRIBED ? PUBSUB_SUBSCRIBED : PUBSUB_MESSAGE;
    struct redis_text channel = packet->texts[0];
    static const char *const words[] = {
        [PACKET_SUBSCRIBED] = "is heard", [PACKET_UNSUBSCRIBED] = "is ended", [PACKET_MESSAGE] = "has a message"};
    TRACE(network->world, "client %u: channel %.*s %s", peer->number, (int)channel.size, channel.bytes,
          packet->refused ? "is refused" : words[packet->kind]);
    if (packet->refused) {
        network->refused(network->world, peer, channel);
        return;
    }
    if (packet->kind == PACKET_UNSUBSCRIBED && (peer->subscribed & channel_bit(channel.bytes))) {
        peer->subscribed &= ~channel_bit(channel.bytes);
        engine_pubsub_received(peer->engine, peer->engine_server, PUBSUB_UNSUBSCRIBED, channel.bytes, channel.size, 0,
                               now);
        return;
    }
    peer->subscribed |= what == PUBSUB_SUBSCRIBED ? channel_bit(channel.bytes) : 0;
    if ((peer->subscribed & channel_bit(channel.bytes)) &&
        !engine_pubsub_received(peer->engine, peer->engine_server, what, channel.bytes, channel.size, 0, now) &&
        what == PUBSUB_MESSAGE) {
        peer->subscribed &= ~channel_bit(channel.bytes); /* unknown to the engine: the client leaves it */
    }
}

void network_publish_from(struct sim_server *server) {
    keyspace_on_publish(server->keyspace, publish, server);
}
