/* redlatch: clients, their options and their counters.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of redlatch.h, whose conventions hold here. */
#ifndef REDLATCH_CLIENT_H
#define REDLATCH_CLIENT_H

#include "redlatch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* bindings: begin */

/* ------------------------------------------------------------------------------------------------------- client -- */

/* The language and units of messages: C names functions, constants and milliseconds, the others use the names of that
 * language, and seconds. For authors of bindings. Since 0.1. */
enum redlatch_language {
    REDLATCH_LANGUAGE_C = 0,
    REDLATCH_LANGUAGE_PYTHON = 1,
    REDLATCH_LANGUAGE_LUA = 2,
    REDLATCH_LANGUAGE_COMMAND = 3
};

/* What a client that was opened before a fork is in the child. Since 0.1. */
enum redlatch_after_fork {
    REDLATCH_AFTER_FORK_REOPEN = 0, /* usable, with connections, uuid and thread of its own */
    REDLATCH_AFTER_FORK_REFUSE = 1  /* the parent's alone: every call returns FORKED */
};

/* The options of a client. redlatch_client_options_init sets the defaults, which end each comment below. Pointers are
 * read during redlatch_client_open only. Since 0.1. */
typedef struct redlatch_client_options {
    uint32_t struct_size;
    int32_t lazy;                   /* 1: connect at the first use; 0: when the client is opened. 0 */
    int64_t watchdog_lease_ms;      /* lease of a renewed lock, 30 to 86400000; 30000 */
    int64_t connect_timeout_ms;     /* limit for a usable connection, name lookup included; 5000 */
    int64_t command_timeout_ms;     /* limit for a call that does not wait for others; 5000 */
    int64_t dead_peer_timeout_ms;   /* a connection that delivers no reply for this long is closed; 10000 */
    int64_t unreachable_timeout_ms; /* a wait fails when the server was unusable for this long; 30000 */
    int64_t close_timeout_ms;       /* limit for redlatch_client_close; 1000 */
    int64_t claim_timeout_ms;       /* a grant whose event is not collected for this long is released; 30000 */
    int64_t linger_ms;              /* a subscription stays this long after its last waiter; 3000 */
    int32_t release_on_close;       /* 1: closing releases all holds; 0: their leases run out. 1 */
    int32_t busy_poll;              /* 1: adaptive spinning before sleeping; 0: never. 1 */
    const char *name_prefix;        /* prefix of every name, like Redisson's NameMapper; NULL */
    uint64_t name_prefix_size;
    const char *username;    /* overrides the URL's; NULL */
    const char *password;    /* overrides the URL's; NULL */
    int32_t database;        /* overrides the URL's; REDLATCH_DEFAULT */
    int32_t language;        /* enum redlatch_language, for messages; LANGUAGE_C */
    int64_t fair_timeout_ms; /* fair locks: a waiter without a heartbeat for this long loses its queue position; 100 or
                                more, the same in every process that uses a lock; 30000 */
    const char *tls_ca_file; /* rediss: CA certificates in PEM, which may have revocation lists; NULL: see tls_ca_dir */
    const char *tls_ca_dir;  /* rediss: a folder of them, as openssl rehash makes it; without both options
                                $SSL_CERT_FILE and $SSL_CERT_DIR, else the system's CAs; NULL */
    const char *tls_cert_file;     /* rediss: the client's certificate chain in PEM; NULL */
    const char *tls_key_file;      /* rediss: its private key in PEM, without a passphrase; NULL: in tls_cert_file */
    const char *tls_server_name;   /* rediss: the name in the server's certificate; NULL: the URL's host */
    const char *tls_verify;        /* rediss: "full"; "ca": the CA, not the name; "none": nothing. NULL: "full" */
    const char *tls_min_version;   /* rediss: "1.2" or "1.3"; NULL: "1.2" */
    const char *sentinel_username; /* redis+sentinel: overrides the URL's; NULL */
    const char *sentinel_password; /* redis+sentinel: overrides the URL's; NULL */
    int64_t dns_interval_ms; /* while anything is held or waited for, the URL's host name is looked up again this often,
                                and the master of redis+replicas searched for; 100 or more; 5000 */
    int32_t min_replicas;    /* a grant and a renewal count only when so many replicas acknowledged them, 0 to 100;
                                overrides the URL's; 0 */
    int32_t durable;         /* 1: and when they are in the server's append-only file on disk (Redis 7.2 and newer);
                                0: not so. 0 */
    int64_t replica_timeout_ms;   /* limit for these acknowledgements: less than command_timeout_ms, at most a third of
                                     watchdog_lease_ms; 1000, or that third if it is less */
    const char *sharded_messages; /* redis+cluster: "on": messages stay within a shard, by SPUBLISH, as Redis 7 has it;
                                     "off": they go to all nodes; "auto": "on" where the node has it. All clients of a
                                     name must agree, else they do not wake each other. NULL: the URL's, else "auto" */
    int32_t after_fork;           /* enum redlatch_after_fork; AFTER_FORK_REOPEN */
    const char *label;            /* whose locks these are, for reports and messages: a part of the name of the client's
                                     connections. 1 to 64 visible ASCII characters; overrides the URL's; NULL: none */
} redlatch_client_options;

/* Sets the default options. `struct_size` is sizeof(redlatch_client_options). INVALID: `options` is NULL, or the size
 * is impossible. Since 0.1. */
REDLATCH_API int redlatch_client_options_init(redlatch_client_options *options, uint32_t struct_size);

/* Opens a client and connects it, unless options->lazy is 1. Blocks for the connect timeout at most.
 *
 * url: one of these forms, NUL-terminated, with ?option=value&... at its end. NULL: the environment variable REDIS_URL,
 * or else redis://127.0.0.1:6379/0.
 *
 *   redis://HOST[/database]                  a server
 *   unix://[user[:password]@]/path           a server, by its socket; its database is the option db
 *   redis+sentinel://HOSTS/service[/db]      the master that these sentinels announce, with port 26379 by default
 *   redis+replicas://HOSTS[/database]        the one of these servers that is the master
 *   redis+cluster://HOSTS                    a Redis Cluster, of which these are some nodes
 *
 * HOST is [user[:password]@]host[:port], and HOSTS is [user[:password]@]host[:port][,host[:port]...]. With rediss in
 * place of redis all connections use TLS.
 *
 * The URL's options are connect_timeout, command_timeout, dead_peer_timeout, dns_interval and replica_timeout (seconds,
 * fractions allowed), min_replicas, durable (0 or 1), name_prefix, label and db; of rediss also those of TLS, of
 * redis+sentinel sentinel_username and sentinel_password, and of redis+cluster sharded_messages, by the names of their
 * fields.
 *
 * redis+sentinel: the client moves with the master. URL options with the prefix sentinel_, such as
 * sentinel_tls_ca_file, are for the sentinels instead of the servers. The URL option address_map translates the
 * addresses that sentinels announce: announced[:port]=reached[:port], up to 32 with commas between.
 *
 * redis+replicas: the client searches for the master again when it is lost or refuses a command as a replica. If none
 * of the hosts is the master, the server that a replica of them follows is tried. address_map as of redis+sentinel.
 *
 * redis+cluster: each name is served by the master of its slot. The client follows slots that move, and failovers.
 * address_map as of redis+sentinel.
 *
 * Files of TLS options are read now, and again before a connection is made if they changed: a certificate that was
 * renewed on disk is used then. A changed file that cannot be used leaves the old one in use.
 *
 * options: NULL for the defaults. An option that is set overrides the URL.
 * client_out: the client. The caller owns it and frees it with redlatch_client_free.
 *
 *   status              when                                                  what to do
 *   INVALID             also: a file of a TLS option cannot be used, a TLS    read redlatch_last_error
 *                       option was given without a rediss URL, or no
 *                       sentinel knows the service
 *   UNSUPPORTED         sharded_messages is "on", and a node of the cluster   use "auto"
 *                       has no SPUBLISH
 *                       the library was built without TLS                     use a build with TLS
 *   UNREACHABLE         no connection before the connect timeout, or no       call again later
 *                       master was found
 *   NO_REPLY            connected, but no reply before the connect timeout    call again later
 *   AUTHENTICATION      the user name or password is missing or wrong; or     correct it
 *                       one of both refused the other's certificate
 *
 * Server statuses also. Since 0.1. */
REDLATCH_API int redlatch_client_open(const char *url, const redlatch_client_options *options,
                                      redlatch_client **client_out);

/* Closes a client: waiters return CLOSED, unconfirmed releases are waited for (redlatch_lock_release_with), holds are
 * released if options->release_on_close is 1, and connections and threads end. Permits of a semaphore that a started
 * acquire was granted, and whose event was not collected, are given back in either case. Returns within the close
 * timeout even if the server is gone. Closing twice is allowed. In a forked child it closes the child's descriptors and
 * sends nothing. BAD_HANDLE. Since 0.1. */
REDLATCH_API int redlatch_client_close(redlatch_client *client);

/* Closes a client if it is open, and frees it. NULL is allowed. Locks of this client may be freed later.
 * Since 0.1. */
REDLATCH_API void redlatch_client_free(redlatch_client *client);

/* Replaces the user and the password, for passwords and tokens that end. It waits for nothing, and any thread may call
 * it at any time. Holds, waits and calls in progress go on: AUTH is sent on the open connections, the connection for
 * messages is replaced by one that is subscribed before the old one closes, and later connections use the new ones.
 *
 * username: NULL for the default user.
 * password: the password or the token. Both are copied, and what they were before is wiped.
 *
 * A refused AUTH closes nothing: the connection stays what it was, and a CREDENTIALS_REFUSED event notifies the host.
 * If a new connection is refused, a call that does not wait returns AUTHENTICATION, and renewals are tried until the
 * lease ends. From the first call of this function on, a wait goes on until its deadline, or for
 * unreachable_timeout_ms, since the next call may bring the right password. INVALID: `password` is NULL. Since 0.1. */
REDLATCH_API int redlatch_client_set_credentials(redlatch_client *client, const char *username, const char *password);

/* Returns the client's UUID of version 8, 36 characters; it begins every owner id that the client writes. Valid until
 * the client is freed. NULL for a bad handle. Since 0.1. */
REDLATCH_API const char *redlatch_client_uuid(const redlatch_client *client);

/* Returns the URL in use: redis://host:port/database, the same with rediss://, unix:///path?db=N or
 * redis+sentinel://host:port,host:port/service/database, without user and password. It has the parts that the given URL
 * left out. %XX escapes are resolved. Valid until the client is freed. NULL for a bad handle. Since 0.1. */
REDLATCH_API const char *redlatch_client_url(const redlatch_client *client);

/* Writes the addresses of the client's nodes: of a cluster the masters that serve slots, else the one server.
 *
 * buffer: a line for each: host:port, [host]:port of an IPv6 address, or the path of a Unix socket. Then a NUL. Cut to
 *   `capacity` bytes. Unchanged on failure.
 * size_out: bytes of the whole text. May be NULL.
 *
 * Sends something only while the client does not know its nodes yet. Server statuses also. Since 0.1. */
REDLATCH_API int redlatch_client_nodes(redlatch_client *client, char *buffer, size_t capacity, size_t *size_out);

/* Sends a command of Redis for which redlatch has no function, such as INFO or CONFIG GET, and waits for the reply.
 *
 * node: of a cluster the node that the command is for, as redlatch_client_nodes writes it; INVALID if the client knows
 *   none there. NULL: any node. A client of another kind has one node, whatever stands here.
 * arguments: the command and its arguments, NUL-terminated. count: 1 to REDLATCH_ARGUMENTS_MAX.
 * buffer: the reply as text with a final NUL, cut to `capacity` bytes: of a number its digits, of an array each of its
 *   first 100 elements with a newline after it. An array in an array counts as its elements. Unchanged on failure.
 * size_out: bytes of the whole text. May be NULL.
 *
 * If the connection breaks before the reply, the command is sent again: use it for commands that may run twice, neither
 * block nor subscribe, and leave the connection as it was. A text of more than 16 MiB is discarded, and empty then.
 * PROTOCOL: an array of more than 16 MiB, or with arrays more than 8 deep; it ends the connection. UNSUPPORTED: another
 * node has the keys, and the message has the node's reply, MOVED or ASK: the command is not redirected. The client's
 * prefix is not added to keys. An error reply is a -4xx status. Server statuses also. Since 0.1. */
REDLATCH_API int redlatch_client_command(redlatch_client *client, const char *node, const char *const *arguments,
                                         size_t count, char *buffer, size_t capacity, size_t *size_out);

/* Issues an owner number, for calls with an explicit owner. It is new in this process and below 2^53, so that a double
 * holds it. Such calls return INVALID for any other number. INVALID: `owner_out` is NULL. Since 0.1. */
REDLATCH_API int redlatch_owner_new(uint64_t *owner_out);

/* Ends an owner. Its holds, in all clients, are no longer renewed; their leases run out, with an ABANDONED event each.
 * Hosts that issue owners to their threads or tasks call this when one ends. The library itself notices the end of a
 * thread. INVALID: the number was not issued. Since 0.1. */
REDLATCH_API int redlatch_owner_end(uint64_t owner);

/* Counters of a client since it was opened. They only rise, except those that are marked as gauges. Since 0.1. */
typedef struct redlatch_stats {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t round_trips;    /* replies received */
    uint64_t scripts;        /* scripts sent, resends included */
    uint64_t script_loads;   /* scripts sent as text, as the server did not know them */
    uint64_t acquired;       /* acquires granted, nested acquires included */
    uint64_t contended;      /* acquires that found the lock held */
    uint64_t hand_overs;     /* releases that passed the lock to a waiter of this process */
    uint64_t renewals;       /* leases renewed */
    uint64_t late_renewals;  /* renewals confirmed after more than half of the lease */
    uint64_t lost;           /* holds lost */
    uint64_t reconnects;     /* connections made again after one broke */
    uint64_t busy_polls;     /* times that a caller polled the socket before sleeping */
    uint64_t busy_polls_hit; /* of these, those that received the reply */
    uint64_t compensations;  /* undo commands sent for abandoned calls */
    uint64_t resends;        /* commands sent again after a connection broke */
    uint64_t messages;       /* wake-up messages received */
    uint64_t empty_polls;    /* redlatch_client_next_event calls that found no event */
    uint64_t held;           /* gauge: holds alive */
    uint64_t waiters;        /* gauge: waits in progress */
    uint64_t subscriptions;  /* gauge: channels subscribed to */
    uint64_t connections;    /* gauge: sockets open */
    uint64_t unconfirmed;    /* gauge: unconfirmed releases without a reply so far */
} redlatch_stats;

/* Copies the counters to `stats_out`, whose struct_size the caller sets. Sends nothing. Since 0.1. */
REDLATCH_API int redlatch_client_stats(redlatch_client *client, redlatch_stats *stats_out);

/* bindings: end */

#ifdef __cplusplus
}
#endif

#endif /* REDLATCH_CLIENT_H */
