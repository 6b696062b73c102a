/* What is on its way between clients and servers, one packet after the other.
 * SPDX-License-Identifier: Apache-2.0 */
#include "packets.h"

#include <stdlib.h>

#include "engine_reply.h"
#include "texts.h"
#include "wire.h"

struct packet *packet_new(struct pipelines *pipelines, enum packet_kind kind, uint32_t pipeline) {
    struct packet *packet = allocate(1, sizeof *packet);
    memset(packet, 0, sizeof *packet);
    packet->kind = kind;
    packet->pipelines = pipelines;
    packet->pipeline = pipeline;
    packet->epoch = pipelines->epoch[pipeline];
    return packet;
}

void packet_free(struct packet *packet) {
    free(packet->texts);
    redis_reply_free(&packet->reply);
    free(packet);
}

void packet_set_channel(struct packet *packet, struct redis_text channel) {
    packet->texts = texts_copy(&channel, 1);
}

/* ------------------------------------------------------------------------------------------------------- the way -- */

int64_t packets_delay(struct packets *packets) {
    return random_between(packets->random, 100, random_chance(packets->random, packets->slow) ? 60000 : 3000);
}

void packets_post(struct packets *packets, struct packet *packet, int64_t at) {
    packet->at = at;
    packet->order = ++packets->order;
    packet->next = packets->first;
    packets->first = packet;
}

struct packet *packets_first(const struct packets *packets) {
    struct packet *first = NULL;
    for (struct packet *packet = packets->first; packet; packet = packet->next) {
        bool earlier = !first || packet->at < first->at || (packet->at == first->at && packet->order < first->order);
        first = earlier ? packet : first;
    }
    return first;
}

void packets_take(struct packets *packets, const struct packet *packet) {
    struct packet **place = &packets->first;
    while (*place != packet) {
        place = &(*place)->next;
    }
    *place = packet->next;
}

void packets_drop(struct packets *packets, const struct pipelines *pipelines, enum packet_kind kind,
                  uint32_t pipeline) {
    for (struct packet **place = &packets->first; *place;) {
        struct packet *packet = *place;
        bool of_pipeline = pipeline == PIPELINE_COUNT || packet->pipeline == pipeline;
        if (packet->pipelines == pipelines && packet->kind == kind && of_pipeline) {
            *place = packet->next;
            packet_free(packet);
        } else {
            place = &packet->next;
        }
    }
}

void packets_free(struct packets *packets) {
    while (packets->first) {
        struct packet *packet = packets->first;
        packets->first = packet->next;
        packet_free(packet);
    }
}

/* When what is sent now comes, behind `last`, what was sent before it. */
static int64_t next_behind(struct packets *packets, int64_t *last, int64_t now) {
    int64_t at = now + packets_delay(packets);
    *last = at > *last ? at : *last + 1;
    return *last;
}

/* ------------------------------------------------------------------------------------------ requests and replies -- */

void packets_send(struct packets *packets, struct pipelines *pipelines, struct engine *engine, uint32_t pipeline,
                  int64_t now) {
    struct command *command;
    while (pipelines->up[pipeline] && (command = engine_next_to_send(engine, pipeline, now)) != NULL) {
        struct packet *packet = packet_new(pipelines, PACKET_REQUEST, pipeline);
        packet->script = command_script(command);
        packet->texts = texts_of_command(engine, command, &packet->key_count, &packet->argument_count);
        packets_post(packets, packet, next_behind(packets, &pipelines->arrival[pipeline], now));
    }
}

void packet_run(struct packet *packet, struct script_set *scripts, enum script_error_reply error_reply,
                struct keyspace *keyspace, int64_t now) {
    keyspace_set_time(keyspace, now / MILLISECOND);
    script_set_run(scripts, packet->script, error_reply, keyspace, packet->texts, packet->key_count,
                   packet->argument_count, &packet->reply);
}

void packets_return(struct packets *packets, struct packet *packet, int64_t now) {
    if (packet->epoch != packet->pipelines->epoch[packet->pipeline]) {
        packet_free(packet);
        return;
    }
    packet->kind = PACKET_REPLY;
    packets_post(packets, packet, next_behind(packets, &packet->pipelines->returned[packet->pipeline], now));
}

void packet_answer(const struct packet *packet, struct engine *engine, int64_t now) {
    struct reply elements[REPLY_ELEMENTS_MAX];
    if (packet->epoch == packet->pipelines->epoch[packet->pipeline]) {
        struct reply reply = engine_reply(&packet->reply, elements);
        engine_replied(engine, packet->pipeline, &reply, now);
    }
}

/* --------------------------------------------------------------------------------------------------- connections -- */

bool packets_cut(struct packets *packets, struct pipelines *pipelines, struct engine *engine, uint32_t pipeline,
                 int64_t now) {
    if (!pipelines->up[pipeline]) {
        return false;
    }
    pipelines->up[pipeline] = false;
    pipelines->epoch[pipeline]++;
    engine_pipeline_lost(engine, pipeline, now);
    int64_t at = now + random_between(packets->random, 500, 400000);
    packets_post(packets, packet_new(pipelines, PACKET_READY, pipeline), at);
    return true;
}

void packets_reconnect(struct packets *packets, const struct packet *ready, struct engine *engine, bool denied,
                       int64_t now) {
    if (!denied) {
        packets_drop(packets, ready->pipelines, PACKET_REQUEST, ready->pipeline);
    }
    for (struct packet *packet = packets->first; packet; packet = packet->next) {
        if (packet->kind == PACKET_REQUEST && packet->pipelines == ready->pipelines &&
            packet->pipeline == ready->pipeline) {
            packet->at += random_between(packets->random, 0, 3 * SECOND);
        }
    }
    ready->pipelines->up[ready->pipeline] = true;
    engine_pipeline_ready(engine, ready->pipeline, denied ? RESOLUTION_DENIED : RESOLVED_BY_KILL, now);
}
