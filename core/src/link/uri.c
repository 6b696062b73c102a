/* URLs of servers: redis://[user[:password]@]host[:port][/database][?options], the same with rediss:// for TLS,
 * unix://[user[:password]@]/path[?options] and
 * redis+sentinel://[user[:password]@]host[:port][,host[:port]...]/service[/database][?options] and
 * redis+replicas://[user[:password]@]host[:port][,host[:port]...][/database][?options] and
 * redis+cluster://[user[:password]@]host[:port][,host[:port]...][?options], all with rediss, too.
 * SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE
#include "uri.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "credentials.h"
#include "redlatch.h"
#include "wipe.h"

enum { URL_SIZE_MAX = 4096, TIMEOUT_MAX_SECONDS = 86400, REDIS_PORT = 6379, SENTINEL_PORT = 26379 };

struct parse {
    struct uri *uri;
    char *why;
    size_t why_size;
};

static int refuse(struct parse *parse, int status, const char *what, const char *value, size_t size,
                  const char *expected) {
    snprintf(parse->why, parse->why_size, "%s \"%.*s\": expected %s", what, (int)(size < 200 ? size : 200), value,
             expected);
    return status;
}

static int hex_digit(char digit) {
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    digit = (char)(digit | 0x20);
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* Writes a text with its %XX escapes resolved, and a NUL. Returns false if an escape is wrong or is that of a NUL, as
 * everything here is a C string. */
static bool resolve_escapes(const char *text, size_t size, char copy[URL_SIZE_MAX + 1]) {
    size_t length = 0;
    for (size_t i = 0; i < size; i++) {
        char byte = text[i];
        if (byte == '%') {
            int high = i + 2 < size ? hex_digit(text[i + 1]) : -1;
            int low = i + 2 < size ? hex_digit(text[i + 2]) : -1;
            if (high < 0 || low < 0 || (high == 0 && low == 0)) {
                return false;
            }
            byte = (char)(high * 16 + low);
            i += 2;
        }
        copy[length++] = byte;
    }
    copy[length] = '\0';
    return true;
}

/* Replaces *out by a part with its escapes resolved. `secret` parts are not shown in messages, and no copy of them is
 * left behind. */
static int unescape(struct parse *parse, const char *what, bool secret, const char *text, size_t size, char **out) {
    char copy[URL_SIZE_MAX + 1];
    int status = REDLATCH_OK;
    if (resolve_escapes(text, size, copy)) {
        credentials_wipe(*out);
        *out = strdup(copy);
        status = *out ? REDLATCH_OK : REDLATCH_NO_MEMORY;
    } else {
        status = refuse(parse, REDLATCH_INVALID, what, secret ? "..." : text, secret ? 3 : size,
                        "%XX escapes of two hexadecimal digits, and no %00");
    }
    if (secret) {
        wipe(copy, size + 1);
    }
    return status;
}

static int number(struct parse *parse, const char *what, const char *text, size_t size, long low, long high, int *out) {
    long value = 0;
    bool digits = size > 0 && size < 10;
    for (size_t i = 0; digits && i < size; i++) {
        digits = text[i] >= '0' && text[i] <= '9';
        value = value * 10 + (text[i] - '0');
    }
    if (!digits || value < low || value > high) {
        char expected[64];
        snprintf(expected, sizeof expected, "a number from %ld to %ld", low, high);
        return refuse(parse, REDLATCH_INVALID, what, text, size, expected);
    }
    *out = (int)value;
    return REDLATCH_OK;
}

/* Returns decimal seconds as microseconds, or -1 for another text. strtod would take the decimal point of the host's
 * locale. */
static int64_t microseconds(const char *text, size_t size) {
    int64_t value = 0;
    int64_t unit = 0; /* of the next digit after the point */
    bool point = false;
    bool digits = false;
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '.' && !point) {
            point = true;
            unit = 100000;
        } else if (text[i] < '0' || text[i] > '9' || value > TIMEOUT_MAX_SECONDS * INT64_C(1000000)) {
            return -1;
        } else {
            digits = true;
            value = point ? value + (text[i] - '0') * unit : value * 10 + (text[i] - '0') * INT64_C(1000000);
            unit /= 10;
        }
    }
    return digits ? value : -1;
}

static int seconds(struct parse *parse, const char *what, const char *text, size_t size, int64_t *out_ms) {
    int64_t value = microseconds(text, size);
    if (value < 1000 || value > TIMEOUT_MAX_SECONDS * INT64_C(1000000)) {
        return refuse(parse, REDLATCH_INVALID, what, text, size, "seconds from 0.001 to 86400");
    }
    *out_ms = (value + 500) / 1000;
    return REDLATCH_OK;
}

static bool is(const char *text, size_t size, const char *word) {
    return strlen(word) == size && memcmp(text, word, size) == 0;
}

int sharded_messages_of(const char *text, size_t size) {
    static const char *const names[] = {
        [SHARDED_MESSAGES_AUTO] = "auto", [SHARDED_MESSAGES_ON] = "on", [SHARDED_MESSAGES_OFF] = "off"};
    for (int i = 0; i < 3; i++) {
        if (is(text, size, names[i])) {
            return i;
        }
    }
    return -1;
}

/* Returns the option of TLS that a name with the prefix sentinel_ is for, or -1 for another name. */
static int sentinel_tls_option(const char *key, size_t size) {
    static const char prefix[] = "sentinel_";
    size_t skipped = sizeof prefix - 1;
    return size > skipped && memcmp(key, prefix, skipped) == 0 ? tls_option_of(key + skipped, size - skipped) : -1;
}

static bool is_option(const char *key, size_t size) {
    return is(key, size, "connect_timeout") || is(key, size, "command_timeout") || is(key, size, "dead_peer_timeout") ||
           is(key, size, "dns_interval") || is(key, size, "address_map") || is(key, size, "db") ||
           is(key, size, "min_replicas") || is(key, size, "replica_timeout") || is(key, size, "durable") ||
           is(key, size, "name_prefix") || is(key, size, "label") || is(key, size, "sharded_messages") ||
           is(key, size, "sentinel_username") || is(key, size, "sentinel_password") || tls_option_of(key, size) >= 0 ||
           sentinel_tls_option(key, size) >= 0;
}

/* Refuses an option. The text behind a ? may be the rest of a password with an unescaped ?: a `secret` key is not
 * shown. */
static int refuse_option(struct parse *parse, const char *key, size_t size, bool secret, const char *expected) {
    secret = secret && size > 0;
    return refuse(parse, REDLATCH_INVALID, "URL option", secret ? "..." : key, secret ? 3 : size, expected);
}

#define KNOWN_OPTIONS \
    "connect_timeout, command_timeout, dead_peer_timeout, dns_interval, replica_timeout, min_replicas, durable, " \
    "db, name_prefix, label"
#define OR_OF_TLS " or one of TLS, such as tls_ca_file"

static int address_map(struct parse *parse, const char *value, size_t size) {
    char *text = NULL;
    bool no_memory = false;
    int status = unescape(parse, "address_map", false, value, size, &text);
    if (status == REDLATCH_OK && !address_map_parse(&parse->uri->address_map, text, &no_memory)) {
        status = no_memory ? REDLATCH_NO_MEMORY
                           : refuse(parse, REDLATCH_INVALID, "address_map", text, strlen(text),
                                    "announced[:port]=reached[:port], at most 32 with commas between");
    }
    free(text);
    return status;
}

static int database(struct parse *parse, const char *name, const char *text, size_t size) {
    if (parse->uri->cluster && (size != 1 || text[0] != '0')) {
        return refuse(parse, REDLATCH_INVALID, name, text, size, "0: a cluster has no other");
    }
    return number(parse, name, text, size, 0, 1000000, &parse->uri->database);
}

static int option(struct parse *parse, const char *key, size_t key_size, const char *value, size_t value_size) {
    struct uri *uri = parse->uri;
    if (is(key, key_size, "connect_timeout")) {
        return seconds(parse, "connect_timeout", value, value_size, &uri->connect_timeout_ms);
    }
    if (is(key, key_size, "command_timeout")) {
        return seconds(parse, "command_timeout", value, value_size, &uri->command_timeout_ms);
    }
    if (is(key, key_size, "dead_peer_timeout")) {
        return seconds(parse, "dead_peer_timeout", value, value_size, &uri->dead_peer_timeout_ms);
    }
    if (is(key, key_size, "dns_interval")) {
        return seconds(parse, "dns_interval", value, value_size, &uri->dns_interval_ms);
    }
    if (is(key, key_size, "replica_timeout")) {
        return seconds(parse, "replica_timeout", value, value_size, &uri->replica_timeout_ms);
    }
    if (is(key, key_size, "min_replicas")) {
        return number(parse, "min_replicas", value, value_size, 0, 100, &uri->min_replicas);
    }
    if (is(key, key_size, "durable")) {
        return number(parse, "durable", value, value_size, 0, 1, &uri->durable);
    }
    if (is(key, key_size, "db")) {
        return database(parse, "db", value, value_size);
    }
    if (is(key, key_size, "name_prefix")) {
        return unescape(parse, "name_prefix", false, value, value_size, &uri->name_prefix);
    }
    if (is(key, key_size, "label")) {
        return unescape(parse, "label", false, value, value_size, &uri->label);
    }
    int tls = tls_option_of(key, key_size);
    if (tls >= 0) {
        return unescape(parse, tls_option_name((enum tls_option)tls), false, value, value_size,
                        &uri->tls_options.texts[tls]);
    }
    int sentinel_tls = uri->service && uri->tls ? sentinel_tls_option(key, key_size) : -1;
    if (sentinel_tls >= 0) {
        char name[40];
        snprintf(name, sizeof name, "%.*s", (int)key_size, key);
        return unescape(parse, name, false, value, value_size, &uri->sentinel_tls_options.texts[sentinel_tls]);
    }
    if (uri->servers.count > 0 && is(key, key_size, "address_map")) {
        return address_map(parse, value, value_size);
    }
    if (uri->cluster && is(key, key_size, "sharded_messages")) {
        uri->sharded_messages = sharded_messages_of(value, value_size);
        return uri->sharded_messages >= 0
                   ? REDLATCH_OK
                   : refuse(parse, REDLATCH_INVALID, "sharded_messages", value, value_size, SHARDED_MESSAGES_EXPECTED);
    }
    if (uri->service && is(key, key_size, "sentinel_username")) {
        return unescape(parse, "sentinel_username", true, value, value_size, &uri->sentinel_username);
    }
    if (uri->service && is(key, key_size, "sentinel_password")) {
        return unescape(parse, "sentinel_password", true, value, value_size, &uri->sentinel_password);
    }
    return refuse_option(parse, key, key_size, strspn(key, "abcdefghijklmnopqrstuvwxyz_") < key_size,
                         uri->service   ? KNOWN_OPTIONS ", address_map, sentinel_username, sentinel_password" OR_OF_TLS
                         : uri->cluster ? KNOWN_OPTIONS ", address_map, sharded_messages" OR_OF_TLS
                         : uri->servers.count > 0 ? KNOWN_OPTIONS ", address_map" OR_OF_TLS
                                                  : KNOWN_OPTIONS OR_OF_TLS);
}

static int options(struct parse *parse, const char *text) {
    while (*text) {
        size_t size = strcspn(text, "&");
        const char *equals = memchr(text, '=', size);
        if (!equals) {
            return refuse_option(parse, text, size, !is_option(text, size), "option=value");
        }
        size_t key_size = (size_t)(equals - text);
        int status = option(parse, text, key_size, equals + 1, size - key_size - 1);
        if (status != REDLATCH_OK) {
            return status;
        }
        text += size;
        text += *text == '&';
    }
    return REDLATCH_OK;
}

/* Reads user:password@, up to the last @ before the first slash or question mark. Moves *text behind it. */
static int credentials(struct parse *parse, const char **text) {
    const char *at = NULL;
    const char *end = *text + strcspn(*text, "/?");
    for (const char *byte = *text; byte < end; byte++) {
        at = *byte == '@' ? byte : at;
    }
    if (!at) {
        return REDLATCH_OK;
    }
    size_t size = (size_t)(at - *text);
    const char *colon = memchr(*text, ':', size);
    size_t user_size = colon ? (size_t)(colon - *text) : size;
    int status = REDLATCH_OK;
    if (user_size > 0) {
        status = unescape(parse, "user name", true, *text, user_size, &parse->uri->username); /* may be a password */
    }
    if (status == REDLATCH_OK && colon) {
        status = unescape(parse, "password", true, colon + 1, size - user_size - 1, &parse->uri->password);
    }
    *text = at + 1;
    return status;
}

/* host, host:port, [v6], [v6]:port. */
static int host_and_port(struct parse *parse, const char *text, size_t size, int default_port) {
    const char *host = text;
    size_t host_size = size;
    const char *port = NULL;
    if (size > 0 && text[0] == '[') {
        const char *close = memchr(text, ']', size);
        if (!close || (close + 1 < text + size && close[1] != ':')) {
            return refuse(parse, REDLATCH_INVALID, "host", text, size, "[IPv6 address] or [IPv6 address]:port");
        }
        host = text + 1;
        host_size = (size_t)(close - host);
        port = close + 1 < text + size ? close + 2 : NULL;
    } else {
        const char *colon = memchr(text, ':', size);
        if (colon) {
            host_size = (size_t)(colon - text);
            port = colon + 1;
        }
    }
    if (host_size == 0) {
        return refuse(parse, REDLATCH_INVALID, "host", "", 0, "a host name or address");
    }
    parse->uri->port = default_port;
    int status = REDLATCH_OK;
    if (port) {
        size_t port_size = (size_t)(text + size - port);
        bool secret = strspn(port, "0123456789") < port_size; /* user:password, if the host was forgotten */
        status = number(parse, "port", secret ? "..." : port, secret ? 3 : port_size, 1, 65535, &parse->uri->port);
    }
    if (status == REDLATCH_OK) {
        status = unescape(parse, "host", true, host, host_size, &parse->uri->host); /* escapes may be of a password */
    }
    for (size_t i = 0; status == REDLATCH_OK && parse->uri->host[i]; i++) {
        if ((unsigned char)parse->uri->host[i] <= ' ' || parse->uri->host[i] == ',') {
            status = refuse(parse, REDLATCH_INVALID, "host", text, size,
                            "a host name without blanks, control bytes and commas");
        }
    }
    return status;
}

/* Reads host[:port][,host[:port]...]. The first host becomes the URI's. */
static int hosts_and_ports(struct parse *parse, const char *text, size_t size, int default_port) {
    struct uri *uri = parse->uri;
    int status = REDLATCH_OK;
    for (size_t at = 0; status == REDLATCH_OK && at <= size;) {
        const char *comma = memchr(text + at, ',', size - at);
        size_t length = comma ? (size_t)(comma - text) - at : size - at;
        struct endpoint endpoint;
        status = host_and_port(parse, text + at, length, default_port);
        if (status == REDLATCH_OK && !endpoint_set(&endpoint, uri->host, strlen(uri->host), uri->port)) {
            status = refuse(parse, REDLATCH_INVALID, "host", text + at, length, "at most 255 bytes");
        }
        if (status == REDLATCH_OK && !endpoints_add(&uri->servers, &endpoint) && uri->servers.count == ENDPOINTS_MAX) {
            status = refuse(parse, REDLATCH_INVALID, "hosts", text, size, "at most 16");
        }
        at += length + 1;
    }
    if (status == REDLATCH_OK) {
        free(uri->host);
        uri->host = strdup(uri->servers.list[0].host);
        uri->port = uri->servers.list[0].port;
        status = uri->host ? REDLATCH_OK : REDLATCH_NO_MEMORY;
    }
    return status;
}

/* Reads what stands between the // and the first slash or question mark. Moves *text behind it. */
static int authority(struct parse *parse, const char **text, bool several, int default_port) {
    int status = credentials(parse, text);
    size_t size = strcspn(*text, "/?");
    if (status == REDLATCH_OK && strchr(*text, '@')) { /* some part of it may be a password: show nothing */
        return refuse(parse, REDLATCH_INVALID, "URL", "...", 3,
                      "@ after the host written as %40, / and ? in a password as %2F and %3F");
    }
    if (status == REDLATCH_OK) {
        status = (several ? hosts_and_ports : host_and_port)(parse, *text, size, default_port);
    }
    *text += size;
    return status;
}

/* Reads /service of a redis+sentinel URL. Moves *text behind it. */
static int service_name(struct parse *parse, const char **text) {
    size_t size = **text == '/' ? strcspn(*text + 1, "/?") : 0;
    if (size == 0) {
        return refuse(parse, REDLATCH_INVALID, "service", "", 0,
                      "redis+sentinel://host[:port][,host[:port]...]/service[/database]");
    }
    const char *name = *text + 1;
    *text += 1 + size;
    return unescape(parse, "service", false, name, size, &parse->uri->service);
}

/* Reads everything behind the //, of all schemes but unix. */
static int redis_url(struct parse *parse, const char *text, bool sentinels, bool several) {
    int status = authority(parse, &text, several, sentinels ? SENTINEL_PORT : REDIS_PORT);
    if (status == REDLATCH_OK && sentinels) {
        status = service_name(parse, &text);
    }
    if (status == REDLATCH_OK && *text == '/') {
        size_t size = strcspn(text + 1, "?");
        if (size > 0) {
            status = database(parse, "database", text + 1, size);
        }
        text += 1 + size;
    }
    return status == REDLATCH_OK && *text == '?' ? options(parse, text + 1) : status;
}

static int unix_url(struct parse *parse, const char *text) {
    int status = credentials(parse, &text);
    size_t size = strcspn(text, "?");
    if (status == REDLATCH_OK && (size == 0 || text[0] != '/')) {
        bool secret = strpbrk(text, ":@") != NULL;
        status = refuse(parse, REDLATCH_INVALID, "socket path", secret ? "..." : text, secret ? 3 : size,
                        "an absolute path");
    }
    if (status == REDLATCH_OK) {
        status = unescape(parse, "socket path", false, text, size, &parse->uri->path);
    }
    if (status == REDLATCH_OK && strlen(parse->uri->path) > SOCKET_PATH_MAX) {
        char expected[40];
        snprintf(expected, sizeof expected, "at most %d bytes", SOCKET_PATH_MAX);
        status = refuse(parse, REDLATCH_INVALID, "socket path", parse->uri->path, size, expected);
    }
    text += size;
    return status == REDLATCH_OK && *text == '?' ? options(parse, text + 1) : status;
}

/* All schemes but unix. */
static const struct {
    const char *name;
    bool tls;
    bool sentinels; /* with a service */
    bool several;   /* hosts */
    bool cluster;
} schemes[] = {
    {"redis://", false, false, false, false},         {"rediss://", true, false, false, false},
    {"redis+sentinel://", false, true, true, false},  {"rediss+sentinel://", true, true, true, false},
    {"redis+replicas://", false, false, true, false}, {"rediss+replicas://", true, false, true, false},
    {"redis+cluster://", false, false, true, true},   {"rediss+cluster://", true, false, true, true},
};

static int dispatch(struct parse *parse, const char *text) {
    if (strlen(text) > URL_SIZE_MAX) {
        return refuse(parse, REDLATCH_INVALID, "URL", "...", 3, "at most 4096 bytes"); /* may have a password */
    }
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        size_t size = strlen(schemes[i].name);
        if (strncmp(text, schemes[i].name, size) == 0) {
            parse->uri->tls = schemes[i].tls;
            parse->uri->cluster = schemes[i].cluster;
            return redis_url(parse, text + size, schemes[i].sentinels, schemes[i].several);
        }
    }
    if (strncmp(text, "unix://", 7) == 0) {
        return unix_url(parse, text + 7);
    }
    /* What stands before "://" is no secret; what follows may be. */
    const char *mark = strstr(text, "://");
    return refuse(parse, REDLATCH_INVALID, "URL scheme", mark ? text : "", mark ? (size_t)(mark - text) : 0,
                  "redis://host[:port][/database], the same with rediss:// for TLS, unix:///path, "
                  "redis+sentinel://host[:port]/service, redis+replicas://host[:port],host[:port] or "
                  "redis+cluster://host[:port],host[:port]");
}

int uri_parse(const char *text, struct uri *uri_out, char *why, size_t why_size) {
    struct uri uri = {
        .port = -1,
        .database = -1,
        .connect_timeout_ms = -1,
        .command_timeout_ms = -1,
        .dead_peer_timeout_ms = -1,
        .dns_interval_ms = -1,
        .replica_timeout_ms = -1,
        .min_replicas = -1,
        .durable = -1,
        .sharded_messages = -1,
    };
    struct parse parse = {&uri, why, why_size};
    int status = dispatch(&parse, text);
    if (status != REDLATCH_OK) {
        if (status == REDLATCH_NO_MEMORY) {
            snprintf(why, why_size, "out of memory");
        }
        uri_free(&uri);
        return status;
    }
    *uri_out = uri;
    return REDLATCH_OK;
}

void uri_forget_secrets(struct uri *uri) {
    char **texts[] = {&uri->username, &uri->password, &uri->sentinel_username, &uri->sentinel_password};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        credentials_wipe(*texts[i]);
        *texts[i] = NULL;
    }
}

void uri_free(struct uri *uri) {
    free(uri->host);
    free(uri->path);
    uri_forget_secrets(uri);
    free(uri->name_prefix);
    free(uri->label);
    tls_options_free(&uri->tls_options);
    free(uri->service);
    tls_options_free(&uri->sentinel_tls_options);
    address_map_free(&uri->address_map);
    memset(uri, 0, sizeof *uri);
}
