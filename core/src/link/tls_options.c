/* Names and values of the options of TLS.
 * SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE
#include "tls_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redlatch.h"

enum { CHOICES_MAX = 3 };

/* An option without choices is a path or a name. The first choice is the default. */
static const struct {
    const char *name;
    const char *expected;
    const char *choices[CHOICES_MAX];
} table[TLS_OPTIONS] = {
    [TLS_CA_FILE] = {"tls_ca_file", "a file of CA certificates in PEM", {NULL}},
    [TLS_CA_DIR] = {"tls_ca_dir", "a folder of CA certificates, as openssl rehash makes it", {NULL}},
    [TLS_CERT_FILE] = {"tls_cert_file", "a file of the client's certificate chain in PEM", {NULL}},
    [TLS_KEY_FILE] = {"tls_key_file", "a file of the client's private key in PEM", {NULL}},
    [TLS_SERVER_NAME] = {"tls_server_name", "a host name or an address", {NULL}},
    [TLS_VERIFY] = {"tls_verify", "full, ca or none", {"full", "ca", "none"}},
    [TLS_MIN_VERSION] = {"tls_min_version", "1.2 or 1.3", {"1.2", "1.3"}},
};

const char *tls_option_name(enum tls_option option) {
    return table[option].name;
}

const char *tls_options_prefix(const struct tls_options *options) {
    return options->prefix ? options->prefix : "";
}

int tls_option_of(const char *name, size_t size) {
    for (int i = 0; i < TLS_OPTIONS; i++) {
        if (strlen(table[i].name) == size && memcmp(table[i].name, name, size) == 0) {
            return i;
        }
    }
    return -1;
}

bool tls_options_override(struct tls_options *options, const char *const over[TLS_OPTIONS]) {
    for (int i = 0; i < TLS_OPTIONS; i++) {
        char *copy = over[i] ? strdup(over[i]) : NULL;
        if (over[i] && !copy) {
            return false;
        }
        if (copy) {
            free(options->texts[i]);
            options->texts[i] = copy;
        }
    }
    return true;
}

int tls_options_first(const struct tls_options *options) {
    for (int i = 0; i < TLS_OPTIONS; i++) {
        if (options->texts[i]) {
            return i;
        }
    }
    return -1;
}

static int refuse(const struct tls_options *options, enum tls_option option, const char *expected, char *why,
                  size_t why_size) {
    snprintf(why, why_size, "%s%s \"%.200s\": expected %s", tls_options_prefix(options), table[option].name,
             options->texts[option], expected);
    return REDLATCH_INVALID;
}

/* Returns the number of the choice that `text` is, of NULL the first one. Returns -1 if it is none of them. */
static int choice_of(enum tls_option option, const char *text) {
    for (int i = 0; i < CHOICES_MAX && table[option].choices[i]; i++) {
        if (!text || strcmp(text, table[option].choices[i]) == 0) {
            return i;
        }
    }
    return -1;
}

/* The longest name in DNS. */
enum { SERVER_NAME_MAX = 255 };

int tls_options_check(const struct tls_options *options, struct tls_values *values_out, char *why, size_t why_size) {
    int choices[TLS_OPTIONS];
    char expected[80];
    for (int i = 0; i < TLS_OPTIONS; i++) {
        const char *text = options->texts[i];
        choices[i] = choice_of((enum tls_option)i, text);
        bool allowed = table[i].choices[0] ? choices[i] >= 0 : !text || text[0];
        allowed = allowed && (i != TLS_SERVER_NAME || !text || strlen(text) <= SERVER_NAME_MAX);
        if (!allowed) {
            return refuse(options, (enum tls_option)i, table[i].expected, why, why_size);
        }
    }
    if (options->texts[TLS_KEY_FILE] && !options->texts[TLS_CERT_FILE]) {
        snprintf(expected, sizeof expected, "a %stls_cert_file with it", tls_options_prefix(options));
        return refuse(options, TLS_KEY_FILE, expected, why, why_size);
    }
    int ca = options->texts[TLS_CA_FILE] ? TLS_CA_FILE : TLS_CA_DIR;
    if (choices[TLS_VERIFY] == TLS_VERIFY_NONE && options->texts[ca]) {
        snprintf(expected, sizeof expected, "a %stls_verify that uses it, full or ca", tls_options_prefix(options));
        return refuse(options, (enum tls_option)ca, expected, why, why_size);
    }
    values_out->verify = (enum tls_verify)choices[TLS_VERIFY];
    values_out->min_version = (enum tls_version)choices[TLS_MIN_VERSION];
    return REDLATCH_OK;
}

void tls_options_free(struct tls_options *options) {
    for (int i = 0; i < TLS_OPTIONS; i++) {
        free(options->texts[i]);
    }
    memset(options, 0, sizeof *options);
}
