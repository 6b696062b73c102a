/* What to do about a failed call, beside the library's words of what happened.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static bool is_default_server(const struct server_options *server) {
    const char *environment = getenv("REDIS_URL");
    return !server->url && !(environment && *environment);
}

/* A failure of the connection: in most cases it is the wrong server, or none. */
static const char *advice_of_connection(const struct server_options *server, int status, const char *message) {
    bool tls = strncmp(server_url(server), "rediss", 6) == 0;
    if (status == REDLATCH_UNREACHABLE && is_default_server(server)) {
        return "neither --url nor REDIS_URL names a server, so the one of this machine was tried";
    }
    if (status == REDLATCH_UNREACHABLE && strstr(message, "efused")) {
        return "nothing listens there: check host and port, and whether the server is running";
    }
    if ((status == REDLATCH_PROTOCOL || status == REDLATCH_UNREACHABLE) && !tls) {
        return "check host and port; a server that has TLS alone needs a rediss:// URL";
    }
    if (status == REDLATCH_PROTOCOL || status == REDLATCH_UNREACHABLE) {
        return "check host and port; a server without TLS needs a redis:// URL";
    }
    if (status == REDLATCH_NO_REPLY) {
        return "the server may be busy or stopped, or its port may be that of another service";
    }
    return NULL;
}

const char *advice_for(const struct server_options *server, int status, const char *message) {
    if (status == REDLATCH_AUTHENTICATION || strstr(message, "NOAUTH")) {
        return strstr(message, "certificate") ? NULL
                                              : "give the user in the URL, and the password by --password-file,"
                                                " REDISCLI_AUTH or REDIS_URL";
    }
    switch (status) {
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
