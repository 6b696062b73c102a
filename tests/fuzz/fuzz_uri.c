/* Fuzz target: URLs. Any text is parsed or rejected with a reason. A parsed URL is within its bounds and keeps its
 * meaning when it is written out again. No message shows a password.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The first byte chooses how the rest is used: as a whole URL, or as the part after a user and a password. */
#include "uri.h"

#include <ctype.h>

#include "fuzz.h"
#include "redlatch.h"

enum { WHY_SIZE = 400, URL_SIZE = 80000 };

static const char secret[] = "S3CR3T";

static void append(char *url, const char *text) {
    size_t size = strlen(url);
    MUST(size + strlen(text) < URL_SIZE);
    memcpy(url + size, text, strlen(text) + 1);
}

/* Every byte as %XX. */
static void append_escaped(char *url, const char *text) {
    for (const unsigned char *byte = (const unsigned char *)text; *byte; byte++) {
        char escaped[4];
        snprintf(escaped, sizeof escaped, "%%%02x", *byte);
        append(url, escaped);
    }
}

static void append_seconds(char *url, const char *option, int64_t milliseconds) {
    if (milliseconds >= 0) {
        char text[80];
        snprintf(text, sizeof text, "%s=%lld.%03d&", option, (long long)(milliseconds / 1000),
                 (int)(milliseconds % 1000));
        append(url, text);
    }
}

static void append_scheme(char *url, const struct uri *uri) {
    append(url, uri->path ? "unix" : uri->tls ? "rediss" : "redis");
    append(url, uri->servers.count == 0 ? "" : uri->service ? "+sentinel" : "+replicas");
    append(url, "://");
}

static void append_endpoint(char *url, const char *host, int port) {
    char number[16];
    append_escaped(url, host);
    snprintf(number, sizeof number, ":%d", port);
    append(url, number);
}

static void append_option(char *url, const char *option, const char *text) {
    if (text) {
        append(url, option);
        append(url, "=");
        append_escaped(url, text);
        append(url, "&");
    }
}

/* Writes the parts as a URL. */
static void write_url(char *url, const struct uri *uri) {
    append_scheme(url, uri);
    if (uri->username || uri->password) {
        append_escaped(url, uri->username ? uri->username : "");
        append(url, uri->password ? ":" : "");
        append_escaped(url, uri->password ? uri->password : "");
        append(url, "@");
    }
    char number[40];
    if (uri->path) {
        append(url, "/");
        append_escaped(url, uri->path + 1);
    } else if (uri->servers.count == 0) {
        append_endpoint(url, uri->host, uri->port);
    }
    for (int i = 0; i < uri->servers.count; i++) {
        append(url, i > 0 ? "," : "");
        append_endpoint(url, uri->servers.list[i].host, uri->servers.list[i].port);
    }
    if (uri->service) {
        append(url, "/");
        append_escaped(url, uri->service);
    }
    append(url, "?");
    append_seconds(url, "connect_timeout", uri->connect_timeout_ms);
    append_seconds(url, "command_timeout", uri->command_timeout_ms);
    append_seconds(url, "dead_peer_timeout", uri->dead_peer_timeout_ms);
    append_option(url, "name_prefix", uri->name_prefix);
    append_option(url, "sentinel_username", uri->sentinel_username);
    append_option(url, "sentinel_password", uri->sentinel_password);
    for (int i = 0; i < TLS_OPTIONS; i++) {
        append_option(url, tls_option_name((enum tls_option)i), uri->tls_options.texts[i]);
    }
    if (uri->database >= 0) {
        snprintf(number, sizeof number, "db=%d", uri->database);
        append(url, number);
    }
}

static bool same(const char *one, const char *other) {
    return one && other ? strcmp(one, other) == 0 : one == other;
}

static void check_parts(const struct uri *uri) {
    MUST(!uri->host != !uri->path);
    MUST(!uri->host || (uri->host[0] && uri->port >= 1 && uri->port <= 65535));
    MUST(!uri->path || uri->path[0] == '/');
    MUST(uri->servers.count >= 0 && uri->servers.count <= ENDPOINTS_MAX);
    MUST(uri->servers.count == 0 ||
         (same(uri->host, uri->servers.list[0].host) && uri->port == uri->servers.list[0].port));
    MUST(!uri->service || uri->servers.count > 0);
    MUST(uri->service || (!uri->sentinel_username && !uri->sentinel_password));
    MUST(uri->database >= -1 && uri->database <= 1000000);
    const int64_t times[] = {uri->connect_timeout_ms, uri->command_timeout_ms, uri->dead_peer_timeout_ms};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        MUST(times[i] == -1 || (times[i] >= 1 && times[i] <= 86400000));
    }
}

/* Writes a parsed URL out and parses it again. */
static void check_again(const struct uri *uri) {
    static char url[URL_SIZE];
    url[0] = '\0';
    write_url(url, uri);
    if (strlen(url) > 4096) {
        return; /* longer than a URL may be, since all bytes are escaped */
    }
    struct uri again;
    char why[WHY_SIZE] = "";
    MUST(uri_parse(url, &again, why, sizeof why) == REDLATCH_OK);
    MUST(same(again.host, uri->host) && same(again.path, uri->path) && same(again.username, uri->username));
    MUST(same(again.password, uri->password) && same(again.name_prefix, uri->name_prefix));
    MUST(same(again.service, uri->service) && again.tls == uri->tls);
    MUST(same(again.sentinel_username, uri->sentinel_username));
    MUST(same(again.sentinel_password, uri->sentinel_password));
    MUST(again.servers.count == uri->servers.count);
    for (int i = 0; i < uri->servers.count; i++) {
        MUST(endpoint_equal(&again.servers.list[i], &uri->servers.list[i]));
    }
    for (int i = 0; i < TLS_OPTIONS; i++) {
        MUST(same(again.tls_options.texts[i], uri->tls_options.texts[i]));
    }
    MUST(again.port == uri->port && again.database == uri->database);
    MUST(again.connect_timeout_ms == uri->connect_timeout_ms && again.command_timeout_ms == uri->command_timeout_ms);
    MUST(again.dead_peer_timeout_ms == uri->dead_peer_timeout_ms);
    uri_free(&again);
}

static void check(const char *text, size_t why_size, bool has_secret) {
    char *why = malloc(why_size);
    MUST(why);
    why[0] = '\0';
    struct uri uri = {.port = -2};
    int status = uri_parse(text, &uri, why, why_size);
    MUST(memchr(why, '\0', why_size));
    if (status == REDLATCH_OK) {
        MUST(why[0] == '\0');
        check_parts(&uri);
        check_again(&uri);
        uri_free(&uri);
    } else {
        MUST(status == REDLATCH_INVALID || status == REDLATCH_UNSUPPORTED);
        MUST(why[0] || why_size == 1);
        MUST(!has_secret || !strstr(why, secret));
    }
    free(why);
}

/* Returns whether a text has the secret as another part, plain or with escapes. A message may show that. */
static bool shows_secret(const char *text) {
    char *plain = calloc(1, strlen(text) + 1);
    MUST(plain);
    for (size_t size = 0; *text; size++) {
        bool escaped = *text == '%' && isxdigit((unsigned char)text[1]) && isxdigit((unsigned char)text[2]);
        plain[size] = escaped ? (char)strtol((char[]){text[1], text[2], '\0'}, NULL, 16) : *text;
        plain[size] = plain[size] ? plain[size] : '%'; /* an escaped NUL, which is shown as it stands */
        text += escaped ? 3 : 1;
    }
    bool shown = strstr(plain, secret) != NULL;
    free(plain);
    return shown;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct input input = {bytes, size};
    uint8_t form = input_byte(&input);
    char *text = input_rest_as_text(&input);
    if (form != '@') {
        check(text, form == '!' ? 1 : WHY_SIZE, false);
    } else if (!shows_secret(text)) {
        size_t url_size = strlen(text) + 40;
        char *url = malloc(url_size);
        MUST(url);
        static const char *const schemes[] = {"redis", "unix", "rediss", "redis+sentinel", "redis+replicas"};
        for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
            snprintf(url, url_size, "%s://%s:%s@%s", schemes[i], i == 1 ? "" : "user", secret, text);
            check(url, WHY_SIZE, true);
        }
        free(url);
    }
    free(text);
    return 0;
}
