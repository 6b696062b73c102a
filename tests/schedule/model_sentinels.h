/* Sentinels of one service at the other ends of the lines. They reply and publish as sentinels do. The operator of
 * moves.c decides who is the master, and when each sentinel learns that.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_SENTINELS_H
#define MODEL_SENTINELS_H

#include <stdbool.h>

#include "model_servers.h"
#include "redis_reply.h"

/* All sentinels announce server 0. Called before each run. */
void model_sentinels_begin(void);

/* The sentinel with this number among the servers (SERVERS or more) announces another master, and publishes
 * +switch-master. */
void model_sentinel_learns(int sentinel, int master);

/* From now on the sentinel announces a server silently, whether it is the master or not; -1: it does not know the
 * service. */
void model_sentinel_announces(int sentinel, int server);

/* Whether the other sentinels say that this one is down. */
void model_sentinel_is_down(int sentinel, bool down);

/* The reply to SENTINEL. */
void model_sentinel_reply(int sentinel, const struct redis_text *words, struct redis_reply *reply_out);

#endif
