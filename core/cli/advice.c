/* Advice on what to do about a failed call. The error text of the library says only what happened.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static bool is_default_server(const struct server_options *server) {
    const char *environment = getenv("REDIS_URL");
    return !server->url && !(environment && *environment);
}

/* Returns advice about a URL that the library refuses. Returns NULL if the error text is enough. */
static const char *advice_of_url(const char *url) {
    if (!strstr(url, "://")) {
        return "write redis:// before the host, or rediss:// for TLS";
    }
    bool single = strncmp(url, "redis://", 8) == 0 || strncmp(url, "rediss://", 9) == 0;
    if (single && strchr(url, ',')) {
        return "several servers need redis+sentinel:// for sentinels, or redis+replicas:// for a master and its"
               " replicas";
    }
    return NULL;
}

/* Returns advice about a refused login, by the words of the server in the error text. */
static const char *advice_of_login(const char *message) {
    if (strstr(message, "ertificate")) {
        return NULL; /* the message says all of it */
    }
    return strstr(message, "NOAUTH") ? "the server wants a password: give it by --password-file, REDISCLI_AUTH or"
                                       " REDIS_URL"
                                     : "the user or the password is wrong: the user is that of the URL, the password"
                                       " that of --password-file, the URL or REDISCLI_AUTH";
}

/* Returns advice about a failed connection. In most cases it is the wrong server, or none runs there. */
static const char *advice_of_connection(const struct server_options *server, int status, const char *message) {
    bool tls = strncmp(server_url(server), "rediss", 6) == 0;
    bool unreachable = status == REDLATCH_UNREACHABLE;
    if (unreachable && is_default_server(server)) {
        return "neither --url nor REDIS_URL names a server, so the one of this machine was tried";
    }
    if (unreachable && strstr(message, "efused")) {
        return "nothing listens there: check host and port, and whether the server is running";
    }
    if (unreachable && strstr(message, "host name")) {
        return "check the host's name, and the name service of this machine";
    }
    if (status == REDLATCH_PROTOCOL || status == REDLATCH_NO_REPLY || unreachable) {
        return tls ? "check host and port; a server without TLS needs a redis:// URL"
                   : "check host and port; a server that has TLS alone needs a rediss:// URL";
    }
    return NULL;
}

const char *advice_for(const struct server_options *server, int status, const char *message) {
    if (status == REDLATCH_AUTHENTICATION || strstr(message, "NOAUTH") || strstr(message, "WRONGPASS")) {
        return advice_of_login(message);
    }
    if (strstr(message, "DB index is out of range")) {
        return "the number behind the last slash of the URL is a database: the server has fewer, often 16";
    }
    switch (status) {
    case REDLATCH_INVALID:
        return advice_of_url(server_url(server));
    case REDLATCH_NO_PERMISSION:
        return "redlatch doctor NAME tells all that the user may not do; docs/how-to/access-rules.md what is needed";
    case REDLATCH_READ_ONLY:
        return "use the master, or a URL that finds it: redis+sentinel:// or redis+replicas://";
    case REDLATCH_SERVER_OUT_OF_MEMORY:
        return "its maxmemory is reached: raise it, or keep locks on a server of their own";
    case REDLATCH_TOO_MANY_CLIENTS:
        return "raise the server's maxclients, or find who opens so many connections";
    case REDLATCH_NOT_REPLICATED:
        return "min_replicas of the URL wants more replicas than acknowledge in time; redlatch doctor shows them";
    default:
        return advice_of_connection(server, status, message);
    }
}
