/* The options of TLS: from the command line, or inside `run` from the environment.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli.h"

/* For each option: its name, its offset in the options of a client, and the variable by which `run` passes it to
 * CMD. */
static const struct {
    const char *name;
    size_t offset;
    const char *variable;
    bool is_path;
} table[TLS_COUNT] = {
    {"tls_ca_file", offsetof(redlatch_client_options, tls_ca_file), "REDLATCH_TLS_CA_FILE", true},
    {"tls_ca_dir", offsetof(redlatch_client_options, tls_ca_dir), "REDLATCH_TLS_CA_DIR", true},
    {"tls_cert_file", offsetof(redlatch_client_options, tls_cert_file), "REDLATCH_TLS_CERT_FILE", true},
    {"tls_key_file", offsetof(redlatch_client_options, tls_key_file), "REDLATCH_TLS_KEY_FILE", true},
    {"tls_server_name", offsetof(redlatch_client_options, tls_server_name), "REDLATCH_TLS_SERVER_NAME", false},
    {"tls_verify", offsetof(redlatch_client_options, tls_verify), "REDLATCH_TLS_VERIFY", false},
    {"tls_min_version", offsetof(redlatch_client_options, tls_min_version), "REDLATCH_TLS_MIN_VERSION", false},
};

/* Returns the value of an option in a URL, and stores its size. Returns NULL if it is not there. */
static const char *find_in_url(const char *url, const char *name, size_t *size_out) {
    size_t name_size = strlen(name);
    const char *found = NULL;
    for (const char *at = strchr(url, '?'); at; at = strchr(at, '&')) {
        at++;
        if (strncmp(at, name, name_size) == 0 && at[name_size] == '=') {
            found = at + name_size + 1; /* of several the last one counts */
            *size_out = strcspn(found, "&");
        }
    }
    return found;
}

/* Whether the URL, and not the command line, has the option. */
static bool is_of_url[TLS_COUNT];

void tls_fill(const struct server_options *server, redlatch_client_options *options) {
    for (int i = 0; i < TLS_COUNT; i++) {
        size_t size;
        is_of_url[i] = !server->tls[i] && find_in_url(server_url(server), table[i].name, &size);
        if (server->tls[i]) {
            *(const char **)((char *)options + table[i].offset) = server->tls[i];
        }
    }
}

static bool is_word(const char *message, const char *at, size_t size) {
    bool begins = at == message || strchr(" (", at[-1]);
    return begins && (!at[size] || strchr(" ,;:)", at[size]));
}

/* Returns the index of the option that the word at `at` names. Returns -1 for other words. */
static int option_named(const char *message, const char *at) {
    for (int i = 0; i < TLS_COUNT; i++) {
        size_t size = strlen(table[i].name);
        if (strncmp(at, table[i].name, size) == 0 && is_word(message, at, size)) {
            return i;
        }
    }
    return -1;
}

char *tls_complaint(const char *message) {
    char *shown = malloc(2 * strlen(message) + 1); /* --tls-ca-file has two bytes more than tls_ca_file */
    if (!shown) {
        return NULL;
    }
    char *to = shown;
    for (const char *at = message; *at;) {
        int option = option_named(message, at);
        if (option < 0 || is_of_url[option]) {
            *to++ = *at++;
            continue;
        }
        *to++ = '-';
        *to++ = '-';
        for (const char *end = at + strlen(table[option].name); at < end; at++) {
            *to++ = (char)(*at == '_' ? '-' : *at);
        }
    }
    *to = '\0';
    return shown;
}

/* Returns a path that is valid in every directory, in new memory. Symbolic links are not resolved: a renewal of
 * certificates may change them. */
static char *absolute(const char *path) {
    char *folder = *path == '/' ? NULL : getcwd(NULL, 0);
    char *made = NULL;
    if (!folder) {
        return strdup(path);
    }
    if (asprintf(&made, "%s/%s", folder, path) < 0) {
        made = NULL;
    }
    free(folder);
    return made;
}

/* Returns whether the option that begins here is a path: tls_ca_file=, or sentinel_tls_ca_file=. */
static bool is_path_option(const char *option) {
    static const char sentinel[] = "sentinel_";
    option += strncmp(option, sentinel, sizeof sentinel - 1) == 0 ? sizeof sentinel - 1 : 0;
    for (int i = 0; i < TLS_COUNT; i++) {
        size_t size = strlen(table[i].name);
        if (table[i].is_path && strncmp(option, table[i].name, size) == 0 && option[size] == '=') {
            return true;
        }
    }
    return false;
}

/* Writes the path of a folder, escaped for an option of a URL, with a slash behind it. */
static void write_folder(FILE *out, const char *folder) {
    for (const char *at = folder; *at; at++) {
        unsigned char byte = (unsigned char)*at;
        fprintf(out, byte <= ' ' || byte > '~' || strchr("%&?#+", byte) ? "%%%02X" : "%c", byte);
    }
    fputc('/', out);
}

char *tls_url_from(const char *url, const char *folder) {
    char *made = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&made, &size);
    if (!out) {
        return NULL;
    }
    const char *rest = url;
    for (const char *at = strchr(url, '?'); at; at = strchr(at, '&')) {
        at++;
        const char *value = is_path_option(at) ? strchr(at, '=') + 1 : "/";
        if (*value && *value != '&' && *value != '/' && strncasecmp(value, "%2f", 3) != 0) {
            fwrite(rest, 1, (size_t)(value - rest), out);
            write_folder(out, folder);
            rest = value;
        }
    }
    fputs(rest, out);
    if (fclose(out) != 0) {
        free(made);
        made = NULL;
    }
    return made;
}

bool tls_export(const struct server_options *server) {
    bool good = true;
    for (int i = 0; good && i < TLS_COUNT; i++) {
        char *path = table[i].is_path && server->tls[i] ? absolute(server->tls[i]) : NULL;
        good = (path || !table[i].is_path || !server->tls[i]) &&
               set_variable(table[i].variable, table[i].is_path ? path : server->tls[i]);
        free(path);
    }
    return good;
}

void tls_of_run(struct server_options *server) {
    for (int i = 0; i < TLS_COUNT; i++) {
        server->tls[i] = server->tls[i] ? server->tls[i] : getenv(table[i].variable);
    }
}
