/* The parts of a URL: where the server is, and how to log in.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef URI_H
#define URI_H

#include <stddef.h>
#include <stdint.h>
#include <sys/un.h>

#include "address_map.h"
#include "endpoint.h"
#include "tls_options.h"

/* The longest path of a unix socket: with its NUL it fills an address of the system. */
enum { SOCKET_PATH_MAX = sizeof(((struct sockaddr_un *)0)->sun_path) - 1 };

/* Whether messages stay within a shard of a cluster. */
enum sharded_messages { SHARDED_MESSAGES_AUTO, SHARDED_MESSAGES_ON, SHARDED_MESSAGES_OFF };

/* Returns the value of a name, auto, on or off; -1 for another text. */
int sharded_messages_of(const char *text, size_t size);
#define SHARDED_MESSAGES_EXPECTED "auto, on or off"

/* All strings belong to the struct; uri_free gives them back. A part that was not given is NULL or -1. */
struct uri {
    char *host; /* redis://, rediss://; the first of several */
    char *path; /* unix://; SOCKET_PATH_MAX bytes at most */
    char *username;
    char *password;
    char *name_prefix;
    char *label; /* not checked here */
    bool tls;    /* rediss:// */
    struct tls_options tls_options;
    bool cluster;  /* redis+cluster:// */
    char *service; /* redis+sentinel://: the name that the sentinels have for the master */
    char *sentinel_username;
    char *sentinel_password;
    struct tls_options
        sentinel_tls_options;       /* rediss+sentinel://: of the sentinels alone; else they have tls_options */
    struct endpoints servers;       /* redis+sentinel://: sentinels; redis+replicas://: a master and its replicas;
                                       redis+cluster://: some of its nodes */
    struct address_map address_map; /* of several: for what sentinels or nodes announce */
    int port;
    int database;
    int64_t connect_timeout_ms;
    int64_t command_timeout_ms;
    int64_t dead_peer_timeout_ms;
    int64_t dns_interval_ms;
    int64_t replica_timeout_ms;
    int min_replicas;
    int durable;          /* 0 or 1 */
    int sharded_messages; /* redis+cluster://: enum sharded_messages */
};

/* Parses `text`. On failure writes why to `why` (never a password) and returns INVALID or NO_MEMORY; nothing needs to
 * be freed then. */
int uri_parse(const char *text, struct uri *uri_out, char *why, size_t why_size);
void uri_free(struct uri *uri);

/* Wipes users and passwords; copies of them stay. */
void uri_forget_secrets(struct uri *uri);

#endif
