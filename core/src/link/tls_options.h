/* The options of TLS: their names, which are the same in URLs, in C, in the wrappers and in the command, and the values
 * that they may have.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_OPTIONS_H
#define TLS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum tls_option {
    TLS_CA_FILE,
    TLS_CA_DIR,
    TLS_CERT_FILE,
    TLS_KEY_FILE,
    TLS_SERVER_NAME,
    TLS_VERIFY,
    TLS_MIN_VERSION,
    TLS_OPTIONS
};

/* The texts of the options; NULL: not given. The strings belong to the struct. */
struct tls_options {
    char *texts[TLS_OPTIONS];
    const char *prefix; /* before their names in messages, as "sentinel_"; a constant, or NULL for none */
};

enum tls_verify { TLS_VERIFY_FULL, TLS_VERIFY_CA, TLS_VERIFY_NONE };
enum tls_version { TLS_1_2, TLS_1_3 };

/* The values of the options that have a choice of values. */
struct tls_values {
    enum tls_verify verify;
    enum tls_version min_version;
};

const char *tls_option_name(enum tls_option option);

/* Returns what stands before the names in messages, which may be empty. */
const char *tls_options_prefix(const struct tls_options *options);

/* Returns the option of a name, or -1 if there is none. */
int tls_option_of(const char *name, size_t size);

/* Replaces options by copies of those that `over` has. Returns false if there was no memory. */
bool tls_options_override(struct tls_options *options, const char *const over[TLS_OPTIONS]);

/* Returns the first option that is given, or -1 if there is none. */
int tls_options_first(const struct tls_options *options);

/* Checks the values. Returns OK, or INVALID with the value and what was expected in `why`. */
int tls_options_check(const struct tls_options *options, struct tls_values *values_out, char *why, size_t why_size);

void tls_options_free(struct tls_options *options);

#endif
