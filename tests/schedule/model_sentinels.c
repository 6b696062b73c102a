/* The replies and messages of the model sentinels.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model_sentinels.h"

#include <stdio.h>
#include <string.h>

#include "schedule.h"

static struct model_sentinel {
    int announced; /* -1: the service is unknown */
    bool down;     /* as the others say */
} sentinels[SENTINELS];

static struct model_sentinel *at(int sentinel) {
    return &sentinels[sentinel - SERVERS];
}

void model_sentinels_begin(void) {
    memset(sentinels, 0, sizeof sentinels);
}

void model_sentinel_announces(int sentinel, int server) {
    trace("sentinel %d announces server %d", sentinel, server);
    at(sentinel)->announced = server;
}

void model_sentinel_learns(int sentinel, int master) {
    char message[120];
    int old = at(sentinel)->announced;
    model_sentinel_announces(sentinel, master);
    snprintf(message, sizeof message, "service 10.0.0.%d 6400 10.0.0.%d 6400", old < 0 ? master : old, master);
    model_server_tell(sentinel, "+switch-master", message);
}

void model_sentinel_is_down(int sentinel, bool down) {
    at(sentinel)->down = down;
}

static void put_address(struct redis_reply *host, struct redis_reply *port, int server) {
    char text[20];
    snprintf(text, sizeof text, "10.0.0.%d", server);
    redis_reply_bulk(host, redis_text(text));
    redis_reply_bulk(port, redis_text("6400"));
}

/* Replies to SENTINEL SENTINELS with what it knows of the others. */
static void list_others(int sentinel, struct redis_reply *reply_out) {
    struct redis_reply *others = redis_reply_array(reply_out, SENTINELS - 1);
    for (int other = SERVERS; other < SERVERS + SENTINELS; other++) {
        if (other != sentinel) {
            struct redis_reply *fields = redis_reply_array(others++, 6);
            redis_reply_bulk(&fields[0], redis_text("ip"));
            redis_reply_bulk(&fields[2], redis_text("port"));
            put_address(&fields[1], &fields[3], other);
            redis_reply_bulk(&fields[4], redis_text("flags"));
            redis_reply_bulk(&fields[5], redis_text(at(other)->down ? "s_down,sentinel,disconnected" : "sentinel"));
        }
    }
}

void model_sentinel_reply(int sentinel, const struct redis_text *words, struct redis_reply *reply_out) {
    bool master = text_is_word(words[1], "get-master-addr-by-name");
    bool known = text_equal(words[2], redis_text("service")) && at(sentinel)->announced >= 0;
    if (!known && !master) {
        redis_reply_error(reply_out, "ERR No such master with that name");
    } else if (!known) {
        redis_reply_nil(reply_out);
    } else if (master) {
        struct redis_reply *address = redis_reply_array(reply_out, 2);
        put_address(&address[0], &address[1], at(sentinel)->announced);
    } else {
        list_others(sentinel, reply_out);
    }
}
