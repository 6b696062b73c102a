/* Opening a client: options, environment, and the first connection.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adaptive_spin.h"
#include "background.h"
#include "client_lock.h"
#include "cluster.h"
#include "errors.h"
#include "find_server.h"
#include "handles.h"
#include "host_watch.h"
#include "identity.h"
#include "node.h"
#include "options.h"
#include "owners.h"
#include "pipeline_io.h"
#include "planted.h"
#include "reader.h"
#include "reopen.h"

enum { MIN_REPLICAS_MAX = 100, REPLICA_TIMEOUT_MS = 1000 };

static const char DEFAULT_URL[] = "redis://127.0.0.1:6379/0";

/* replica_timeout_ms must be less than the command timeout, so that a non-blocking call ends with NOT_REPLICATED. It
 * must be at most a third of the lease, so that after a renewal without acknowledgements there is time for another. */
static int check_acknowledgements(const redlatch_client_options *options) {
    if (options->min_replicas < 0 || options->min_replicas > MIN_REPLICAS_MAX) {
        return fail_with(REDLATCH_INVALID, "min_replicas is %d: expected 0 to %d", (int)options->min_replicas,
                         MIN_REPLICAS_MAX);
    }
    if (options->min_replicas == 0 && !options->durable) {
        return REDLATCH_OK;
    }
    int64_t third = options->watchdog_lease_ms / 3;
    if (options->replica_timeout_ms >= options->command_timeout_ms || options->replica_timeout_ms > third) {
        return fail_with(REDLATCH_INVALID,
                         "replica_timeout_ms is %lld: expected less than command_timeout_ms, %lld, and at most a third "
                         "of watchdog_lease_ms, %lld",
                         (long long)options->replica_timeout_ms, (long long)options->command_timeout_ms,
                         (long long)third);
    }
    return REDLATCH_OK;
}

static int check_options(const redlatch_client_options *options) {
    const struct {
        const char *what;
        int64_t value;
        int64_t low;
    } ranges[] = {
        {"connect_timeout_ms", options->connect_timeout_ms, 1},
        {"command_timeout_ms", options->command_timeout_ms, 1},
        {"dead_peer_timeout_ms", options->dead_peer_timeout_ms, 10},
        {"dns_interval_ms", options->dns_interval_ms, 100},
        {"unreachable_timeout_ms", options->unreachable_timeout_ms, 1},
        {"close_timeout_ms", options->close_timeout_ms, 0},
        {"claim_timeout_ms", options->claim_timeout_ms, 1},
        {"linger_ms", options->linger_ms, 0},
        {"fair_timeout_ms", options->fair_timeout_ms, 100},
        {"replica_timeout_ms", options->replica_timeout_ms, 1},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        int status = check_duration(ranges[i].what, ranges[i].value, ranges[i].low, false);
        if (status != REDLATCH_OK) {
            return status;
        }
    }
    const struct {
        const char *what;
        int32_t value;
        bool has_meaning;
    } flags[] = {{"lazy", options->lazy, true},
                 {"release_on_close", options->release_on_close, true},
                 {"busy_poll", options->busy_poll, true},
                 {"durable", options->durable, true}};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        int status = check_flag(flags[i].what, flags[i].value, flags[i].has_meaning);
        if (status != REDLATCH_OK) {
            return status;
        }
    }
    if (options->watchdog_lease_ms < 30 || options->watchdog_lease_ms > 86400000) {
        return fail_with(REDLATCH_INVALID, "watchdog_lease_ms is %lld: expected 30 to 86400000 milliseconds",
                         (long long)options->watchdog_lease_ms);
    }
    int status = check_acknowledgements(options);
    if (status != REDLATCH_OK) {
        return status;
    }
    if (options->after_fork != REDLATCH_AFTER_FORK_REOPEN && options->after_fork != REDLATCH_AFTER_FORK_REFUSE) {
        return fail_with(REDLATCH_INVALID, "after_fork is %d: expected one of enum redlatch_after_fork",
                         (int)options->after_fork);
    }
    if (options->language < REDLATCH_LANGUAGE_C || options->language > REDLATCH_LANGUAGE_COMMAND) {
        return fail_with(REDLATCH_INVALID, "language is %d: expected one of enum redlatch_language",
                         (int)options->language);
    }
    if ((status = identity_check_label(options->label)) != REDLATCH_OK) {
        return status;
    }
    if (options->name_prefix_size >= REDLATCH_NAME_SIZE_MAX) {
        return fail_with(REDLATCH_INVALID, "name_prefix has %llu bytes: expected fewer than %d",
                         (unsigned long long)options->name_prefix_size, REDLATCH_NAME_SIZE_MAX);
    }
    if (options->name_prefix_size > 0 && !options->name_prefix) {
        return fail_with(REDLATCH_INVALID, "name_prefix is NULL: expected name_prefix_size bytes");
    }
    if (options->database < REDLATCH_DEFAULT || options->database > 1000000 ||
        (options->database < 0 && options->database != REDLATCH_DEFAULT)) {
        return fail_with(REDLATCH_INVALID, "database is %d: expected 0 to 1000000", (int)options->database);
    }
    return REDLATCH_OK;
}

/* `from_url` is -1 if the URL does not set it. */
static int64_t or_default(int64_t option, int64_t from_url, int64_t fallback) {
    return option != REDLATCH_DEFAULT ? option : from_url != -1 ? from_url : fallback;
}

static int check_sharded_messages(const redlatch_client_options *options, const struct uri *uri) {
    const char *text = options->sharded_messages;
    if (text && !uri->cluster) {
        return fail_with(REDLATCH_INVALID, "sharded_messages \"%.200s\": expected a redis+cluster:// URL with it",
                         text);
    }
    if (text && sharded_messages_of(text, strlen(text)) < 0) {
        return fail_with(REDLATCH_INVALID, "sharded_messages \"%.200s\": expected " SHARDED_MESSAGES_EXPECTED, text);
    }
    return REDLATCH_OK;
}

/* Options override the URL, and the URL overrides the defaults. */
static int read_options(const redlatch_client_options *given, const struct uri *uri, redlatch_client_options *out) {
    redlatch_client_options_init(out, sizeof *out);
    if (given) {
        int status = options_read(out, sizeof *out, given, "client options");
        if (status != REDLATCH_OK) {
            return status;
        }
    }
    out->connect_timeout_ms = or_default(out->connect_timeout_ms, uri->connect_timeout_ms, 5000);
    out->command_timeout_ms = or_default(out->command_timeout_ms, uri->command_timeout_ms, 5000);
    out->dead_peer_timeout_ms = or_default(out->dead_peer_timeout_ms, uri->dead_peer_timeout_ms, 10000);
    out->dns_interval_ms = or_default(out->dns_interval_ms, uri->dns_interval_ms, 5000);
    int64_t third = out->watchdog_lease_ms / 3;
    int64_t usual = third > 0 && third < REPLICA_TIMEOUT_MS ? third : REPLICA_TIMEOUT_MS;
    out->replica_timeout_ms = or_default(out->replica_timeout_ms, uri->replica_timeout_ms, usual);
    out->min_replicas = (int32_t)or_default(out->min_replicas, uri->min_replicas, 0);
    out->durable = (int32_t)or_default(out->durable, uri->durable, 0);
    if (!out->name_prefix && uri->name_prefix) {
        out->name_prefix = uri->name_prefix;
        out->name_prefix_size = strlen(uri->name_prefix);
    }
    out->label = out->label ? out->label : uri->label;
    if (uri->cluster && out->database > 0) {
        return fail_with(REDLATCH_INVALID, "database is %d: expected 0, as a cluster has no other", (int)out->database);
    }
    if (!uri->service && (out->sentinel_username || out->sentinel_password)) {
        return fail_with(REDLATCH_INVALID, "%s is given: expected a redis+sentinel:// URL with it",
                         out->sentinel_username ? "sentinel_username" : "sentinel_password");
    }
    int status = check_sharded_messages(out, uri);
    return status == REDLATCH_OK ? check_options(out) : status;
}

/* The option overrides the URL. Both are valid: they were checked before. */
static enum sharded_messages sharded_messages(const redlatch_client_options *options, const struct uri *uri) {
    const char *text = options->sharded_messages;
    int chosen = text ? sharded_messages_of(text, strlen(text)) : uri->sharded_messages;
    return chosen < 0 ? SHARDED_MESSAGES_AUTO : (enum sharded_messages)chosen;
}

/* Options override the URL. The secrets of the parsed URL are wiped afterwards. */
static bool copy_credentials(struct client *client, const redlatch_client_options *options) {
    struct uri *uri = &client->uri;
    bool copied = credentials_set(&client->credentials, options->username ? options->username : uri->username,
                                  options->password ? options->password : uri->password) &&
                  credentials_set(&client->sentinel_credentials,
                                  options->sentinel_username ? options->sentinel_username : uri->sentinel_username,
                                  options->sentinel_password ? options->sentinel_password : uri->sentinel_password);
    uri_forget_secrets(uri);
    return copied;
}

static bool copy_strings(struct client *client, const redlatch_client_options *options) {
    if (options->name_prefix_size > 0) {
        client->name_prefix = malloc(options->name_prefix_size);
        if (!client->name_prefix) {
            return false;
        }
        memcpy(client->name_prefix, options->name_prefix, options->name_prefix_size);
        client->name_prefix_size = options->name_prefix_size;
    }
    return copy_credentials(client, options);
}

/* Makes the TLS contexts that connections share. A TLS option with a URL without TLS is an error, so that nobody takes
 * a plain connection for an encrypted one. */
static int set_up_tls(struct client *client, const redlatch_client_options *options) {
    const char *const over[TLS_OPTIONS] = {
        [TLS_CA_FILE] = options->tls_ca_file,         [TLS_CA_DIR] = options->tls_ca_dir,
        [TLS_CERT_FILE] = options->tls_cert_file,     [TLS_KEY_FILE] = options->tls_key_file,
        [TLS_SERVER_NAME] = options->tls_server_name, [TLS_VERIFY] = options->tls_verify,
        [TLS_MIN_VERSION] = options->tls_min_version,
    };
    struct uri *uri = &client->uri;
    if (!tls_options_override(&uri->tls_options, over)) {
        return fail_plain(REDLATCH_NO_MEMORY);
    }
    int first = tls_options_first(&uri->tls_options);
    if (!uri->tls && first >= 0) {
        return fail_with(REDLATCH_INVALID, "%s \"%.200s\": expected a rediss:// URL with it",
                         tls_option_name((enum tls_option)first), uri->tls_options.texts[first]);
    }
    char why[400] = "";
    int status = uri->tls ? tls_context_new(&uri->tls_options, &client->connection_settings.tls, why, sizeof why)
                          : REDLATCH_OK;
    if (status != REDLATCH_OK) {
        return fail_with(status, "%s", why);
    }
    if (tls_options_first(&uri->sentinel_tls_options) >= 0) {
        uri->sentinel_tls_options.prefix = "sentinel_";
        status = tls_context_new(&uri->sentinel_tls_options, &client->connection_settings.sentinel_tls, why,
                                 sizeof why);
    }
    return status == REDLATCH_OK ? REDLATCH_OK : fail_with(status, "%s", why);
}

static void set_up_connections(struct client *client, const redlatch_client_options *options) {
    struct connection_settings *settings = &client->connection_settings;
    settings->credentials = &client->credentials;
    settings->database = options->database != REDLATCH_DEFAULT ? options->database
                         : client->uri.database >= 0           ? client->uri.database
                                                               : 0;
    settings->connect_timeout = options->connect_timeout_ms * MILLISECOND;
    settings->dead_peer_timeout = options->dead_peer_timeout_ms * MILLISECOND;
}

/* redis+sentinel://host:port,host:port/service/database, or redis+replicas:// or redis+cluster:// without a service */
static bool make_url_of_several(struct client *client, int database) {
    const struct uri *uri = &client->uri;
    const char *service = uri->service ? uri->service : "";
    size_t size = (size_t)uri->servers.count * ENDPOINT_TEXT_SIZE + strlen(service) + 40;
    client->shown_url = malloc(size);
    if (!client->shown_url) {
        return false;
    }
    const char *what = uri->service ? "sentinel" : uri->cluster ? "cluster" : "replicas";
    int used = snprintf(client->shown_url, size, "redis%s+%s://", uri->tls ? "s" : "", what);
    for (int i = 0; i < uri->servers.count; i++) {
        char text[ENDPOINT_TEXT_SIZE];
        endpoint_text(&uri->servers.list[i], text);
        used += snprintf(client->shown_url + used, size - (size_t)used, "%s%s", i > 0 ? "," : "", text);
    }
    snprintf(client->shown_url + used, size - (size_t)used, "%s%s/%d", *service ? "/" : "", service, database);
    return true;
}

/* Escapes nothing: the URL is only read by people. */
static bool make_shown_url(struct client *client) {
    const struct uri *uri = &client->uri;
    int database = client->connection_settings.database;
    size_t size = strlen(uri->path ? uri->path : uri->host) + sizeof "rediss://[]:65535/" + 12;
    if (uri->servers.count > 0) {
        return make_url_of_several(client, database);
    }
    client->shown_url = malloc(size);
    if (client->shown_url && uri->path) {
        snprintf(client->shown_url, size, "unix://%s?db=%d", uri->path, database);
    } else if (client->shown_url) {
        const char *format = strchr(uri->host, ':') ? "redis%s://[%s]:%d/%d" : "redis%s://%s:%d/%d";
        snprintf(client->shown_url, size, format, uri->tls ? "s" : "", uri->host, uri->port, database);
    }
    return client->shown_url;
}

static struct client *client_new(const redlatch_client_options *options, struct uri *uri,
                                 const struct identity *identity) {
    struct client *client = calloc(1, sizeof *client);
    if (!client) {
        uri_free(uri);
        return NULL;
    }
    client->uri = *uri;
    client->background_main = background_run;
    atomic_store(&client->references, 1);
    atomic_store(&client->fork_generation, system_fork_generation());
    client->refuses_forks = options->after_fork == REDLATCH_AFTER_FORK_REFUSE;
    client->busy_poll = options->busy_poll && system_processors() > 1;
    client->release_on_close = options->release_on_close != 0;
    client->language = options->language;
    snprintf(client->label, sizeof client->label, "%s", options->label ? options->label : "");
    client->command_timeout = options->command_timeout_ms * MILLISECOND;
    client->close_timeout = options->close_timeout_ms * MILLISECOND;
    pthread_mutex_init(&client->mutex, NULL);
    bool waits = options->min_replicas > 0 || options->durable;
    client->replica_silence = waits ? options->replica_timeout_ms * MILLISECOND * ACKNOWLEDGEMENTS_MAX : 0;
    struct engine_settings settings = {.watchdog_lease_ms = options->watchdog_lease_ms,
                                       .unreachable_timeout_ms = options->unreachable_timeout_ms,
                                       .claim_timeout_ms = options->claim_timeout_ms,
                                       .linger_ms = options->linger_ms,
                                       .fair_timeout_ms = options->fair_timeout_ms,
                                       .replica_timeout_ms = options->replica_timeout_ms,
                                       .min_replicas = (uint32_t)options->min_replicas,
                                       .durable = options->durable != 0};
    set_up_connections(client, options);
    client_make_blank(client, &settings, identity->uuid, identity->random, 0);
    host_watch_init(client, options->dns_interval_ms * MILLISECOND);
    if (!copy_strings(client, options) || !make_shown_url(client)) {
        client_drop(client);
        return NULL;
    }
    identity_name(client);
    return client;
}

/* Makes a connection. With the mutex, which is dropped while it waits. */
static int connect_io(struct client *client, struct pipeline_io *io, int64_t until) {
    int status = REDLATCH_AGAIN;
    reader_take(io, READER_CALLER);
    while (status == REDLATCH_AGAIN) {
        status = io_lookup(io, NEVER);
        if (status != REDLATCH_OK) {
            break;
        }
        int64_t now = system_now();
        io->connection.give_up_at = until;
        if (now >= until && now < io->connection.deadline) {
            now = io->connection.deadline; /* io_connect fails now, with a text that says how far it got */
        }
        status = io_connect(io, now);
        if (status == REDLATCH_AGAIN) {
            client_unlock(client);
            connection_wait(&io->connection, until);
            client_lock(client);
        }
    }
    reader_leave(io);
    return status;
}

/* Returns how many masters there are from this one on. */
static int masters_from(const struct node *master) {
    int count = 1;
    for (const struct node *node = master->next; node; node = node->next) {
        count += node->serves;
    }
    return count;
}

/* Finds the nodes of a cluster and connects to one of its masters. Each that is tried has an equal part of the time
 * that is left. Sets *io_out to the connection that was tried last. */
static int connect_cluster(struct client *client, struct pipeline_io **io_out, int64_t until) {
    reader_take(*io_out, READER_CALLER);
    int status = io_lookup(*io_out, NEVER); /* the search ends by its own time */
    reader_leave(*io_out);
    if (status != REDLATCH_OK) {
        return status;
    }
    status = REDLATCH_NOT_WRITABLE;
    for (struct node *node = client->node.next; node && status != REDLATCH_OK; node = node->next) {
        if (node->serves) {
            int64_t now = system_now();
            *io_out = &node->ios[PIPELINE_CALLERS];
            (*io_out)->searched = true; /* another search would find the same address */
            status = connect_io(client, *io_out, now + (until - now) / masters_from(node));
        }
    }
    client->cluster->opened_by = status == REDLATCH_OK ? *io_out : NULL;
    return status;
}

/* Makes the callers' connection now, so that a wrong URL or password is an error of redlatch_client_open. */
static int connect_now(struct client *client) {
    struct pipeline_io *io = &client->node.ios[PIPELINE_CALLERS];
    client_lock(client);
    int64_t until = system_now() + client->connection_settings.connect_timeout;
    int status = client->cluster ? connect_cluster(client, &io, until) : connect_io(client, io, until);
    client_unlock(client);
    return status == REDLATCH_OK ? REDLATCH_OK : fail_with(status, "%s", io->connection.detail);
}

static int open_parsed(const redlatch_client_options *given, struct uri *uri, struct client **client_out) {
    redlatch_client_options options;
    struct identity identity = {.uuid = ""};
    int status = read_options(given, uri, &options);
    if (status == REDLATCH_OK) {
        status = identity_draw(&identity);
    }
    if (status != REDLATCH_OK) {
        uri_free(uri);
        return status;
    }
    struct client *client = client_new(&options, uri, &identity);
    if (!client) {
        return fail_plain(REDLATCH_NO_MEMORY);
    }
    if (!system_signal_new(&client->background_signal)) {
        status = fail_with(REDLATCH_SYSTEM, "no descriptor can be opened");
    } else {
        status = set_up_tls(client, &options);
    }
    client->sharded_messages = sharded_messages(&options, &client->uri);
    if (status == REDLATCH_OK && !client_make_parts(client)) {
        status = fail_plain(REDLATCH_NO_MEMORY);
    }
    /* Last of the parts: if another thread forked before they are made, its child would inherit a client without
     * them. */
    if (status == REDLATCH_OK) {
        status = owners_add_client(client);
    }
    if (status == REDLATCH_OK && !options.lazy) {
        status = connect_now(client);
    }
    *client_out = client;
    return status;
}

#ifdef REDLATCH_PLANTED_FAULTS
/* Lets the end-to-end tests plant one of planted.h's faults, by its number, into a build that is made for that. */
static void plant_fault(void) {
    const char *number = getenv("REDLATCH_PLANTED_FAULT");
    planted_fault = number ? (enum planted_fault)strtol(number, NULL, 10) : FAULT_NONE;
}
#endif

int redlatch_client_open(const char *url, const redlatch_client_options *options, redlatch_client **client_out) {
    if (!client_out) {
        return fail_with(REDLATCH_INVALID, "client_out is NULL: expected a pointer to set");
    }
#ifdef REDLATCH_PLANTED_FAULTS
    plant_fault();
#endif
    const char *text = url ? url : getenv("REDIS_URL");
    struct uri uri;
    char why[400];
    int status = uri_parse(text && (url || *text) ? text : DEFAULT_URL, &uri, why, sizeof why);
    if (status != REDLATCH_OK) {
        return fail_with(status, "%s", why);
    }
    struct redlatch_client *handle = handle_new_client();
    if (!handle) {
        uri_free(&uri);
        return fail_plain(REDLATCH_NO_MEMORY);
    }
    status = open_parsed(options, &uri, &handle->client);
    if (status == REDLATCH_OK) {
        *client_out = handle;
    } else if (handle->client) {
        redlatch_client_free(handle);
    } else {
        handle_free_client(handle);
    }
    return status;
}

const char *redlatch_version(void) {
    return REDLATCH_VERSION;
}
