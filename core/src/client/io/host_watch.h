/* Repeated lookups of the URL's host name. While the client holds or waits for anything, the name is looked up every
 * dns_interval and after each reconnect: a managed server that fails over may keep its name and change its address,
 * while the old server goes on serving. If the URL names a master and its replicas, the client searches for the master
 * as often instead; in a cluster, for the topology. Only the background thread uses this.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_WATCH_H
#define HOST_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct client;
struct lookup;

struct host_watch {
    struct lookup *lookup; /* under way; else NULL */
    int64_t interval;
    int64_t next_at;     /* no regular lookup before */
    int64_t last_at;     /* when the last lookup began */
    uint64_t reconnects; /* the client's count of reconnects then */
    bool by_name;        /* the URL has one host, and its address needs a lookup */
    bool by_search;      /* the URL has a master and its replicas, or a cluster */
};

void host_watch_init(struct client *client, int64_t interval);
void host_watch_close(struct client *client);

void host_watch_step(struct client *client, int64_t now);
int64_t host_watch_next_time(const struct client *client, int64_t now);

#endif
