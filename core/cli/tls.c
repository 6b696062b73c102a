/* The options of TLS: from the command line, or within `run` from its environment.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "cli.h"

/* Where each stands in the options of a client, and under which name `run` tells its CMD of it. */
static const struct {
    size_t offset;
    const char *variable;
    bool is_path;
} table[TLS_COUNT] = {
    {offsetof(redlatch_client_options, tls_ca_file), "REDLATCH_TLS_CA_FILE", true},
    {offsetof(redlatch_client_options, tls_ca_dir), "REDLATCH_TLS_CA_DIR", true},
    {offsetof(redlatch_client_options, tls_cert_file), "REDLATCH_TLS_CERT_FILE", true},
    {offsetof(redlatch_client_options, tls_key_file), "REDLATCH_TLS_KEY_FILE", true},
    {offsetof(redlatch_client_options, tls_server_name), "REDLATCH_TLS_SERVER_NAME", false},
    {offsetof(redlatch_client_options, tls_verify), "REDLATCH_TLS_VERIFY", false},
    {offsetof(redlatch_client_options, tls_min_version), "REDLATCH_TLS_MIN_VERSION", false},
};

void tls_fill(const struct server_options *server, redlatch_client_options *options) {
    for (int i = 0; i < TLS_COUNT; i++) {
        if (server->tls[i]) {
            *(const char **)((char *)options + table[i].offset) = server->tls[i];
        }
    }
}

bool tls_export(const struct server_options *server) {
    bool good = true;
    for (int i = 0; i < TLS_COUNT; i++) {
        char *path = server->tls[i] && table[i].is_path ? realpath(server->tls[i], NULL) : NULL;
        good = set_variable(table[i].variable, path ? path : server->tls[i]) && good;
        free(path);
    }
    return good;
}

void tls_of_run(struct server_options *server) {
    for (int i = 0; i < TLS_COUNT; i++) {
        server->tls[i] = server->tls[i] ? server->tls[i] : getenv(table[i].variable);
    }
}
