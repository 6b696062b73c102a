/* Watching the host names of the URL. While the client holds or waits for anything, its name is looked up again every
 * dns_interval, and after each reconnect: a managed server that fails over may keep its name and change its address,
 * while the old one goes on serving. A client whose URL names a master and its replicas searches for the master as
 * often instead. The background thread's alone.
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
    int64_t next_at;     /* not looked up before */
    int64_t last_at;     /* when it was looked up */
    uint64_t reconnects; /* how many there were then */
    bool by_name;        /* the URL has one host, and that is no numeric address */
    bool by_search;      /* the URL has a master and its replicas */
};

void host_watch_init(struct client *client, int64_t interval);
void host_watch_close(struct client *client);

void host_watch_step(struct client *client, int64_t now);
int64_t host_watch_next_time(const struct client *client, int64_t now);

#endif
