/* The options of TLS: names, values, and what is refused and how.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tls_options.h"

#include <string.h>

#include "redlatch.h"
#include "unit.h"

static struct tls_options with(enum tls_option option, const char *text) {
    struct tls_options options = {.prefix = NULL};
    const char *over[TLS_OPTIONS] = {NULL};
    over[option] = text;
    CHECK(tls_options_override(&options, over));
    return options;
}

static void names(void) {
    for (int i = 0; i < TLS_OPTIONS; i++) {
        const char *name = tls_option_name((enum tls_option)i);
        CHECK(strncmp(name, "tls_", 4) == 0);
        CHECK_EQ_INT(tls_option_of(name, strlen(name)), i);
        CHECK_EQ_INT(tls_option_of(name, strlen(name) - 1), -1);
    }
    CHECK_EQ_INT(tls_option_of("tls", 3), -1);
    CHECK_EQ_INT(tls_option_of("", 0), -1);
}

static void check_values(enum tls_option option, const char *text, enum tls_verify verify, enum tls_version version) {
    struct tls_options options = with(option, text);
    struct tls_values values;
    char why[200] = "";
    CHECK_EQ_INT(tls_options_check(&options, &values, why, sizeof why), REDLATCH_OK);
    CHECK_EQ_INT(values.verify, verify);
    CHECK_EQ_INT(values.min_version, version);
    CHECK_STR(why, "");
    tls_options_free(&options);
}

static void words(void) {
    check_values(TLS_CA_FILE, NULL, TLS_VERIFY_FULL, TLS_1_2); /* the defaults */
    check_values(TLS_VERIFY, "full", TLS_VERIFY_FULL, TLS_1_2);
    check_values(TLS_VERIFY, "ca", TLS_VERIFY_CA, TLS_1_2);
    check_values(TLS_VERIFY, "none", TLS_VERIFY_NONE, TLS_1_2);
    check_values(TLS_MIN_VERSION, "1.2", TLS_VERIFY_FULL, TLS_1_2);
    check_values(TLS_MIN_VERSION, "1.3", TLS_VERIFY_FULL, TLS_1_3);
    check_values(TLS_CERT_FILE, "/a", TLS_VERIFY_FULL, TLS_1_2);
}

static void check_refused(enum tls_option option, const char *text, const char *expected) {
    struct tls_options options = with(option, text);
    struct tls_values values;
    char why[200] = "";
    CHECK_EQ_INT(tls_options_check(&options, &values, why, sizeof why), REDLATCH_INVALID);
    CHECK_STR(why, expected);
    tls_options_free(&options);
}

static void refusals(void) {
    check_refused(TLS_VERIFY, "FULL", "tls_verify \"FULL\": expected full, ca or none");
    check_refused(TLS_VERIFY, "", "tls_verify \"\": expected full, ca or none");
    check_refused(TLS_MIN_VERSION, "1.1", "tls_min_version \"1.1\": expected 1.2 or 1.3");
    check_refused(TLS_CA_FILE, "", "tls_ca_file \"\": expected a file of CA certificates in PEM");
    check_refused(TLS_CA_DIR, "", "tls_ca_dir \"\": expected a folder of CA certificates, as openssl rehash makes it");
    check_refused(TLS_CERT_FILE, "", "tls_cert_file \"\": expected a file of the client's certificate chain in PEM");
    check_refused(TLS_KEY_FILE, "", "tls_key_file \"\": expected a file of the client's private key in PEM");
    check_refused(TLS_SERVER_NAME, "", "tls_server_name \"\": expected a host name or an address");
    check_refused(TLS_KEY_FILE, "/k", "tls_key_file \"/k\": expected a tls_cert_file with it");
}

static void names_have_a_length(void) {
    char name[257];
    char why[200];
    memset(name, 'n', 256);
    name[256] = '\0';
    struct tls_options options = with(TLS_SERVER_NAME, name);
    struct tls_values values;
    CHECK_EQ_INT(tls_options_check(&options, &values, why, sizeof why), REDLATCH_INVALID);
    tls_options_free(&options);
    check_values(TLS_SERVER_NAME, name + 1, TLS_VERIFY_FULL, TLS_1_2);
    check_values(TLS_CA_FILE, name, TLS_VERIFY_FULL, TLS_1_2); /* a path may be longer */
}

/* CAs that would not be used. */
static void nothing_is_given_in_vain(void) {
    static const enum tls_option cas[] = {TLS_CA_FILE, TLS_CA_DIR};
    for (int i = 0; i < 2; i++) {
        struct tls_options options = with(cas[i], "/c");
        const char *over[TLS_OPTIONS] = {[TLS_VERIFY] = "none"};
        struct tls_values values;
        char why[200] = "";
        CHECK(tls_options_override(&options, over));
        CHECK_EQ_INT(tls_options_check(&options, &values, why, sizeof why), REDLATCH_INVALID);
        CHECK_STR(why, i ? "tls_ca_dir \"/c\": expected a tls_verify that uses it, full or ca"
                         : "tls_ca_file \"/c\": expected a tls_verify that uses it, full or ca");
        tls_options_free(&options);
    }
    struct tls_options options = with(TLS_CERT_FILE, "/c");
    const char *over[TLS_OPTIONS] = {[TLS_KEY_FILE] = "/k", [TLS_VERIFY] = "none"};
    struct tls_values values;
    char why[200] = "";
    CHECK(tls_options_override(&options, over));
    CHECK_EQ_INT(tls_options_check(&options, &values, why, sizeof why), REDLATCH_OK);
    CHECK_EQ_INT(values.verify, TLS_VERIFY_NONE);
    tls_options_free(&options);
}

static void later_ones_win(void) {
    struct tls_options options = with(TLS_CA_FILE, "/a");
    CHECK_EQ_INT(tls_options_first(&options), TLS_CA_FILE);
    const char *over[TLS_OPTIONS] = {[TLS_CA_FILE] = "/b", [TLS_VERIFY] = "ca"};
    CHECK(tls_options_override(&options, over));
    CHECK_STR(options.texts[TLS_CA_FILE], "/b");
    CHECK_STR(options.texts[TLS_VERIFY], "ca");
    tls_options_free(&options);
    CHECK_EQ_INT(tls_options_first(&options), -1);
}

int main(void) {
    RUN(names);
    RUN(words);
    RUN(refusals);
    RUN(names_have_a_length);
    RUN(nothing_is_given_in_vain);
    RUN(later_ones_win);
    return unit_done();
}
