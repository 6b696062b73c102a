/* The connections of a search for a master, or for the topology of a cluster.
 * SPDX-License-Identifier: Apache-2.0 */
#include "search.h"

#include <string.h>

#include "error_reply.h"
#include "numbers.h"
#include "system.h"

/* The longest reply of a sentinel: what it knows of some dozen others. */
enum { SENTINEL_REPLY_MAX = 1 << 18 };

/* The longest topology: each slot has a range of its own, with a master and some replicas. */
enum { TOPOLOGY_REPLY_MAX = 1 << 23 };

/* How many fields of another sentinel are read, names and values together. */
enum { FIELDS_MAX = 64 };

/* A server that does not reply must not use up the time for all: each attempt has a part of the connect timeout. */
enum { ATTEMPTS_IN_TIMEOUT = 4 };

/* The pause between two checks of a lookup. */
static const int64_t LOOKUP_PAUSE = 10 * MILLISECOND;

struct connection_settings search_sentinel_settings(const struct credentials *credentials,
                                                    const struct connection_settings *master) {
    struct connection_settings settings = *master;
    settings.tls = master->sentinel_tls ? master->sentinel_tls : master->tls;
    settings.credentials = credentials;
    settings.database = 0;
    settings.master_only = false;
    settings.connect_timeout = master->connect_timeout / ATTEMPTS_IN_TIMEOUT;
    return settings;
}

void search_init(struct search *search, const struct uri *uri, const struct credentials *credentials,
                 const struct connection_settings *master, struct topology *topology, const _Atomic bool *stop) {
    memset(search, 0, sizeof *search);
    discovery_init(&search->discovery, &uri->servers, uri->service, topology != NULL);
    search->sentinel = search_sentinel_settings(topology ? master->credentials : credentials, master);
    search->topology = topology;
    search->sentinel.uri = &search->where;
    search->master = *master;
    search->master.uri = &search->where;
    search->master.connect_timeout = search->sentinel.connect_timeout;
    search->map = &uri->address_map;
    search->stop = stop;
    connection_init(&search->connection, &search->sentinel, true);
}

bool search_is_running(const struct search *search) {
    return search->discovery.step == DISCOVERY_ASK || search->discovery.step == DISCOVERY_VERIFY;
}

static void disconnect(struct search *search) {
    connection_close(&search->connection);
    connection_free(&search->connection);
    reply_holder_clear(&search->holder);
    lookup_drop(search->lookup);
    search->lookup = NULL;
}

/* Ends the last connection, and prepares one to the discovery's next target. */
static void turn(struct search *search, int64_t now) {
    disconnect(search);
    if (!search_is_running(search)) {
        return;
    }
    bool asks = search->discovery.step == DISCOVERY_ASK;
    search->where.host = search->discovery.target.host;
    search->where.port = search->discovery.target.port;
    connection_init(&search->connection, asks ? &search->sentinel : &search->master, true);
    search->connection.replies.nested = asks;
    search->deadline = now + search->sentinel.connect_timeout;
    search->connection.give_up_at = search->deadline;
    search->requested = false;
    search->announced.host[0] = '\0';
}

void search_begin(struct search *search, int64_t now) {
    discovery_begin(&search->discovery);
    search->give_up_at = now + ATTEMPTS_IN_TIMEOUT * search->sentinel.connect_timeout;
    turn(search, now);
}

static int late(struct search *search, const char *why, int64_t now) {
    connection_fail(&search->connection, why, now);
    return REDLATCH_UNREACHABLE;
}

static int find_addresses(struct search *search, int64_t now) {
    struct addresses *addresses = &search->connection.addresses;
    if (addresses->count > 0 || resolve_at_once(&search->where, addresses)) {
        return REDLATCH_OK;
    }
    int status = resolve(&search->where, &search->lookup, 0, search->stop, addresses);
    if (status != REDLATCH_OK && status != REDLATCH_AGAIN) {
        return late(search, "the host name has no address", now);
    }
    return now < search->deadline ? status : late(search, "the host name was not resolved in time", now);
}

/* Goes on with connecting to the target. Returns AGAIN, OK when the connection is READY, or why it failed. */
static int connect_target(struct search *search, int64_t now) {
    struct connection *connection = &search->connection;
    while (connection->state != CONNECTION_READY) {
        int status = REDLATCH_OK;
        if (connection->state == CONNECTION_CLOSED) {
            status = find_addresses(search, now);
            if (status != REDLATCH_OK) {
                return status;
            }
            status = connection_open(connection, now);
        }
        status = status == REDLATCH_OK ? connection_advance(connection, now) : status;
        bool further = connection->state == CONNECTION_CLOSED && connection->address > 0 && now < search->deadline;
        if (status != REDLATCH_OK && !further) {
            return status;
        }
    }
    return REDLATCH_OK;
}

static bool request_topology(struct search *search) {
    static const char *const words[] = {"CLUSTER", "SLOTS"};
    static const size_t sizes[] = {7, 5};
    topology_requested(search->topology);
    search->requested = true;
    return output_arguments(&search->connection.output, 2, words, sizes);
}

static bool request(struct search *search) {
    if (search->topology) {
        return request_topology(search);
    }
    const char *service = search->discovery.service;
    const char *master[] = {"SENTINEL", "get-master-addr-by-name", service};
    const char *others[] = {"SENTINEL", "sentinels", service};
    const size_t master_sizes[] = {8, 23, strlen(service)};
    const size_t others_sizes[] = {8, 9, strlen(service)};
    struct output *output = &search->connection.output;
    search->requested = true;
    return output_arguments(output, 3, master, master_sizes) && output_arguments(output, 3, others, others_sizes);
}

bool search_address(const struct address_map *map, const struct reply *host, const struct reply *port,
                    struct endpoint *out) {
    int64_t number;
    bool good = host->kind == REPLY_STRING && port->kind == REPLY_STRING &&
                server_number(port->text, port->size, &number) && endpoint_set(out, host->text, host->size, number);
    if (good) {
        address_map_apply(map, out);
    }
    return good;
}

static bool is_field(const struct reply *reply, const char *name) {
    return reply->kind == REPLY_STRING && reply->size == strlen(name) && memcmp(reply->text, name, reply->size) == 0;
}

/* Returns whether the sentinel that replied takes the other one for down: "s_down" is among its flags. */
static bool says_down(const struct reply *flags) {
    static const char down[] = "s_down";
    const size_t size = sizeof down - 1;
    for (size_t at = 0; flags && flags->kind == REPLY_STRING && at + size <= flags->size; at++) {
        if (memcmp(flags->text + at, down, size) == 0) {
            return true;
        }
    }
    return false;
}

/* Takes in what a sentinel replied about another one: names and values in turn. One that is down is not learned: each
 * search would wait for it. */
static void learn(struct search *search, const struct reply *fields, size_t count) {
    const struct reply *host = NULL;
    const struct reply *port = NULL;
    const struct reply *flags = NULL;
    for (size_t i = 0; i + 1 < count; i += 2) {
        host = is_field(&fields[i], "ip") ? &fields[i + 1] : host;
        port = is_field(&fields[i], "port") ? &fields[i + 1] : port;
        flags = is_field(&fields[i], "flags") ? &fields[i + 1] : flags;
    }
    struct endpoint other;
    if (host && port && !says_down(flags) && search_address(search->map, host, port, &other)) {
        discovery_learned(&search->discovery, &other);
    }
}

/* The target is a replica: makes its master a candidate, too. */
static void learn_master(struct search *search) {
    struct endpoint master = search->connection.master;
    if (master.host[0]) {
        address_map_apply(search->map, &master);
        memcpy(search->followed_id, search->connection.replication_id, PROCESS_ID_SIZE);
        discovery_replica_of(&search->discovery, &master);
    }
}

/* Returns whether the target is not the master that a replica named. From here the address that the replica gave, such
 * as 127.0.0.1, may lead to another server: only the replication history shows that it is the replica's master. */
static bool is_stranger(const struct search *search) {
    const char *id = search->connection.replication_id;
    return discovery_is_followed(&search->discovery) && (!id[0] || strcmp(id, search->followed_id) != 0);
}

static const char *not_expected(const struct search *search) {
    return search->topology ? "the peer tells no slots: expected a node of a cluster" : "the peer is not a sentinel";
}

/* Goes on to the next target after the connection to this one was given up. */
static void target_failed(struct search *search, int status) {
    const struct connection *connection = &search->connection;
    if (discovery_target_failed(&search->discovery, status, connection->detail)) {
        search->refused = connection->refused;
    }
}

static void refused(struct search *search, const struct reply *reply, int64_t now) {
    char why[200];
    size_t size = reply->kind == REPLY_ERROR && reply->size < sizeof why - 1 ? reply->size : 0;
    for (size_t i = 0; i < size; i++) {
        why[i] = reply->text[i] >= ' ' && reply->text[i] <= '~' ? reply->text[i] : '.';
    }
    why[size] = '\0';
    int status = error_of_reply(reply).status;
    search->connection.refused = status == REDLATCH_AUTHENTICATION;
    connection_fail(&search->connection, size > 0 ? why : not_expected(search), now);
    target_failed(search, status);
}

static void take_topology(struct search *search, int64_t now) {
    const struct reply *reply = &search->holder.reply;
    struct topology *topology = search->topology;
    int status = topology_read(topology, search->holder.parsed, &search->discovery.target, search->map);
    if (status == REDLATCH_OK) {
        discovery_topology_known(&search->discovery, topology->masters, topology->count);
    } else if (status == REDLATCH_NO_MEMORY) {
        connection_fail(&search->connection, "out of memory", now);
        target_failed(search, status);
    } else {
        refused(search, reply, now);
    }
}

/* Takes in a reply. Of a sentinel, the first has the master's address, the second the other sentinels. */
static void take_reply(struct search *search, int64_t now) {
    const struct reply *reply = &search->holder.reply;
    if (search->topology) {
        take_topology(search, now);
    } else if (search->announced.host[0]) {
        for (size_t i = 0; reply->kind == REPLY_ARRAY && i < reply->count; i++) {
            struct reply fields[FIELDS_MAX];
            learn(search, fields, reply_holder_inner(&search->holder, i, fields, FIELDS_MAX));
        }
        discovery_announced(&search->discovery, &search->announced);
    } else if (reply->kind == REPLY_NIL) {
        discovery_service_unknown(&search->discovery);
    } else if (reply->kind != REPLY_ARRAY || reply->count != 2 ||
               !search_address(search->map, &reply->elements[0], &reply->elements[1], &search->announced)) {
        refused(search, reply, now);
    }
}

/* Gives up the connection to a sentinel or node that cannot be asked any further. */
static int ask_failed(struct search *search, int status, const char *why, int64_t now) {
    connection_fail(&search->connection, why, now);
    return status;
}

/* Asks the sentinel or node to which there is a connection, and takes in its replies. */
static int ask(struct search *search, int64_t now) {
    struct connection *connection = &search->connection;
    const struct reply_bounds bounds = {.size_max = search->topology ? TOPOLOGY_REPLY_MAX : SENTINEL_REPLY_MAX};
    if (!search->requested && !request(search)) {
        return ask_failed(search, REDLATCH_NO_MEMORY, "out of memory", now);
    }
    char bytes[4096];
    ssize_t got = connection_write(connection) == REDLATCH_OK ? connection_read(connection, bytes, sizeof bytes) : -1;
    int status = got > 0 ? connection_feed(connection, bytes, (size_t)got) : REDLATCH_OK;
    while (status == REDLATCH_OK && search->discovery.step == DISCOVERY_ASK && connection->state == CONNECTION_READY &&
           connection_next_reply(connection, &bounds, &search->holder, &status)) {
        int tried = search->discovery.tried;
        take_reply(search, now);
        if (tried != search->discovery.tried) {
            return REDLATCH_OK;
        }
    }
    if (search->discovery.step != DISCOVERY_ASK || connection->state != CONNECTION_READY) {
        return REDLATCH_OK;
    }
    if (status != REDLATCH_OK) {
        const char *other = status == REDLATCH_NO_MEMORY ? "out of memory" : not_expected(search);
        return ask_failed(search, status, connection_why(connection, other), now);
    }
    if (got < 0) {
        return ask_failed(search, REDLATCH_UNREACHABLE, "the server closed the connection", now);
    }
    if (now >= search->deadline) {
        return ask_failed(search, REDLATCH_UNREACHABLE, "no reply before the connect timeout", now);
    }
    return REDLATCH_AGAIN;
}

int search_step(struct search *search, int64_t now) {
    struct discovery *discovery = &search->discovery;
    while (search_is_running(search)) {
        enum discovery_step step = discovery->step;
        int tried = discovery->tried;
        int status = connect_target(search, now);
        if (status == REDLATCH_OK && step == DISCOVERY_ASK) {
            status = ask(search, now);
        }
        if (status == REDLATCH_AGAIN && now < search->give_up_at) {
            return status;
        }
        if (status == REDLATCH_AGAIN) {
            discovery_give_up(discovery, search->topology
                                             ? "no node of the cluster was found before the connect timeout"
                                             : "no master was found before the connect timeout");
        } else if (status != REDLATCH_OK && step == discovery->step && tried == discovery->tried) {
            if (status == REDLATCH_READ_ONLY) {
                learn_master(search);
                discovery_verified(discovery, ROLE_REPLICA);
            } else {
                target_failed(search, status);
            }
        } else if (step == DISCOVERY_VERIFY && is_stranger(search)) {
            connection_fail(&search->connection, "it is not the master that the replica follows", now);
            target_failed(search, REDLATCH_UNREACHABLE);
        } else if (step == DISCOVERY_VERIFY) {
            search->found.list[0] = search->connection.addresses.list[search->connection.address];
            search->found.count = 1;
            memcpy(search->run_id, search->connection.run_id, PROCESS_ID_SIZE);
            discovery_verified(discovery, ROLE_MASTER);
        }
        turn(search, now);
    }
    return discovery->step == DISCOVERY_FOUND ? REDLATCH_OK : discovery->status;
}

int search_descriptor(const struct search *search, short *events_out) {
    *events_out = connection_events(&search->connection);
    return search->connection.fd;
}

int64_t search_next_time(const struct search *search, int64_t now) {
    if (!search_is_running(search)) {
        return NEVER;
    }
    const struct connection *connection = &search->connection;
    int64_t next = connection->fd < 0                      ? now + LOOKUP_PAUSE
                   : connection->state == CONNECTION_READY ? search->deadline
                                                           : connection->deadline;
    return next < search->give_up_at ? next : search->give_up_at;
}

void search_close(struct search *search) {
    search->discovery.step = DISCOVERY_IDLE;
    disconnect(search);
}

void search_forget(struct search *search) {
    connection_forget(&search->connection);
}
