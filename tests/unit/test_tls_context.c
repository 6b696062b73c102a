/* TLS contexts: which certificates, keys, CAs and versions the options select, what is refused with which text, and the
 * error queue of the host.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "tls_fixture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "redlatch.h"
#include "tls_parts.h"
#include "unit.h"

static X509 *own;   /* of the server, for here, 127.0.0.1 and ::1 */
static X509 *other; /* of a stranger */

/* Does a handshake. Returns the status of the client's session, whose failure must contain `expected`. */
static int shaken(struct ends *ends, const char *expected) {
    connect_ends(ends);
    exchange(ends);
    int status = tls_session_status(ends->session);
    CHECK(status != REDLATCH_OK || tls_session_is_established(ends->session));
    bool verifies = SSL_get_verify_mode(ends->session->ssl) != SSL_VERIFY_NONE;
    CHECK(status != REDLATCH_OK || !verifies || SSL_get_verify_result(ends->session->ssl) == X509_V_OK);
    if (!strstr(tls_session_failure(ends->session), expected)) {
        CHECK_STR(tls_session_failure(ends->session), expected);
    }
    return status;
}

static int outcome(X509 *served, X509 *trusted, const char *host, const char *const more[TLS_OPTIONS],
                   const char *expected) {
    struct ends ends = open_ends(served, trusted, host, more);
    int status = shaken(&ends, expected);
    close_ends(&ends);
    return status;
}

static void what_is_verified(void) {
    const char *none[TLS_OPTIONS] = {[TLS_VERIFY] = "none"};
    const char *ca[TLS_OPTIONS] = {[TLS_VERIFY] = "ca"};
    CHECK_EQ_INT(outcome(own, NULL, "elsewhere", none, ""), REDLATCH_OK);
    CHECK_EQ_INT(outcome(own, own, "elsewhere", ca, ""), REDLATCH_OK);
    CHECK_EQ_INT(outcome(own, other, "here", ca, "unknown CA: expected one of tls_ca_file \"/tmp/redlatch-tls-"),
                 REDLATCH_AUTHENTICATION);
    CHECK_EQ_INT(outcome(own, own, "elsewhere", NULL, "expected one for DNS:elsewhere"), REDLATCH_AUTHENTICATION);
    CHECK_EQ_INT(outcome(own, own, "127.0.0.1", NULL, ""), REDLATCH_OK);
    CHECK_EQ_INT(outcome(own, own, "::1%lo", NULL, ""), REDLATCH_OK);
    CHECK_EQ_INT(outcome(own, own, "here.", NULL, ""), REDLATCH_OK);
    CHECK_EQ_INT(outcome(own, own, "here..", NULL, "expected one for DNS:here."), REDLATCH_AUTHENTICATION);
}

/* The issuer is no CA: the error text shows the certificate of the issuer, not the server's. */
static void the_refused_one_of_a_chain_is_shown(void) {
    X509 *own_issuer = certificate_named("server", "DNS:here", -DAY, DAY);
    X509_set_issuer_name(own_issuer, X509_get_subject_name(other));
    CHECK(X509_sign(own_issuer, tls_key, EVP_sha256()) > 0);
    CHECK_EQ_INT(outcome(own_issuer, other, "here", NULL, "the certificate of \"CN=stranger\", issued by "),
                 REDLATCH_AUTHENTICATION);
    X509_free(own_issuer);
}

/* Checks the server name that the server gets from the client. */
static void check_server_name(const char *host, const char *option, const char *expected) {
    const char *more[TLS_OPTIONS] = {[TLS_SERVER_NAME] = option};
    struct ends ends = open_ends(own, own, host, more);
    CHECK_EQ_INT(shaken(&ends, ""), REDLATCH_OK);
    CHECK_STR(SSL_get_servername(ends.server, TLSEXT_NAMETYPE_host_name), expected);
    close_ends(&ends);
}

static void the_server_learns_its_name(void) {
    check_server_name("here", NULL, "here");
    check_server_name("here.", NULL, "here");
    check_server_name("elsewhere", "here", "here");
    check_server_name("127.0.0.1", NULL, NULL); /* addresses are no names */
    check_server_name("::1", NULL, NULL);
    check_server_name("here", "127.0.0.1", NULL);
}

static void versions(void) {
    const char *newest[TLS_OPTIONS] = {[TLS_MIN_VERSION] = "1.3"};
    for (int i = 0; i < 2; i++) {
        struct ends ends = open_ends(own, own, "here", i ? newest : NULL);
        SSL_CTX_set_max_proto_version(ends.server_ctx, TLS1_2_VERSION);
        CHECK_EQ_INT(shaken(&ends, i ? "the server refused the TLS connection (TLS alert 70, " : ""),
                     i ? REDLATCH_PROTOCOL : REDLATCH_OK);
        close_ends(&ends);
    }
}

static void a_client_has_a_certificate(void) {
    char both[PEM_PATH_SIZE];
    char certificate[PEM_PATH_SIZE];
    char key[PEM_PATH_SIZE];
    write_pem(own, tls_key, both);
    write_pem(own, NULL, certificate);
    write_pem(NULL, tls_key, key);
    const char *options[3][TLS_OPTIONS] = {
        {[TLS_CERT_FILE] = both}, {[TLS_CERT_FILE] = certificate, [TLS_KEY_FILE] = key}, {NULL}};
    for (int i = 0; i < 3; i++) {
        struct ends ends = open_ends(own, own, "here", options[i]);
        SSL_CTX_set_verify(ends.server_ctx, SSL_VERIFY_PEER, NULL);
        CHECK(SSL_CTX_load_verify_file(ends.server_ctx, ends.path) == 1);
        CHECK_EQ_INT(shaken(&ends, ""), REDLATCH_OK);
        CHECK_EQ_INT(SSL_get0_peer_certificate(ends.server) != NULL, i < 2);
        close_ends(&ends);
    }
    struct ends ends = open_ends(own, own, "here", options[0]); /* the server does not know its CA */
    SSL_CTX_set_verify(ends.server_ctx, SSL_VERIFY_PEER, NULL);
    CHECK_EQ_INT(shaken(&ends, "the server refused the client's certificate (TLS alert 48, unknown CA): "
                               "expected one that it accepts, in tls_cert_file"),
                 REDLATCH_AUTHENTICATION);
    close_ends(&ends);
    unlink(both);
    unlink(certificate);
    unlink(key);
}

/* TLS 1.2 has the same alert for a missing certificate and for ciphers that do not match. */
static void one_alert_for_two_reasons(void) {
    struct ends ends = open_ends(own, own, "here", NULL);
    SSL_CTX_set_max_proto_version(ends.server_ctx, TLS1_2_VERSION);
    SSL_CTX_set_verify(ends.server_ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    CHECK_EQ_INT(shaken(&ends, "the server refused a client without a certificate (TLS alert 40, "),
                 REDLATCH_AUTHENTICATION);
    close_ends(&ends);
    ends = open_ends(own, own, "here", NULL);
    SSL_CTX_set_max_proto_version(ends.server_ctx, TLS1_2_VERSION);
    CHECK(SSL_CTX_set_cipher_list(ends.server_ctx, "ECDHE-RSA-AES128-GCM-SHA256") == 1); /* the key is no RSA key */
    CHECK_EQ_INT(shaken(&ends, "the server refused the TLS connection (TLS alert 40, handshake failure)"),
                 REDLATCH_PROTOCOL);
    close_ends(&ends);
}

/* Checks that the options give no context, for the reason `expected`. */
static void check_refused(const char *const over[TLS_OPTIONS], const char *expected) {
    struct tls_options options = {.prefix = NULL};
    struct tls_context *context = NULL;
    char why[400] = "";
    CHECK(tls_options_override(&options, over));
    CHECK_EQ_INT(tls_context_new(&options, &context, why, sizeof why), REDLATCH_INVALID);
    CHECK(context == NULL);
    CHECK_STR(why, expected);
    tls_options_free(&options);
}

static void files_that_cannot_be_used(void) {
    char certificate[PEM_PATH_SIZE];
    char key[PEM_PATH_SIZE];
    char locked[PEM_PATH_SIZE];
    char why[200];
    EVP_PKEY *another = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    write_pem(own, NULL, certificate);
    write_pem(NULL, another, key);
    write_pem(NULL, NULL, locked);
    FILE *file = fopen(locked, "w");
    CHECK(file && PEM_write_PrivateKey(file, tls_key, EVP_aes_128_cbc(), (const unsigned char *)"x", 1, NULL, NULL));
    fclose(file);
    const char *missing[TLS_OPTIONS] = {[TLS_CA_FILE] = "/nowhere/ca.pem"};
    check_refused(missing, "tls_ca_file \"/nowhere/ca.pem\": No such file or directory: "
                           "expected CA certificates in PEM");
    const char *no_certificate[TLS_OPTIONS] = {[TLS_CA_FILE] = key};
    snprintf(why, sizeof why, "tls_ca_file \"%s\": expected CA certificates in PEM", key);
    check_refused(no_certificate, why);
    const char *no_chain[TLS_OPTIONS] = {[TLS_CERT_FILE] = key};
    snprintf(why, sizeof why, "tls_cert_file \"%s\": expected the client's certificate chain in PEM", key);
    check_refused(no_chain, why);
    static const char no_passphrase[] = "expected the private key of the certificate in PEM, without a passphrase";
    const char *no_key[TLS_OPTIONS] = {[TLS_CERT_FILE] = certificate};
    snprintf(why, sizeof why, "tls_cert_file \"%s\": %s", certificate, no_passphrase);
    check_refused(no_key, why);
    const char *protected_key[TLS_OPTIONS] = {[TLS_CERT_FILE] = certificate, [TLS_KEY_FILE] = locked};
    snprintf(why, sizeof why, "tls_key_file \"%s\": %s", locked, no_passphrase);
    check_refused(protected_key, why);
    const char *of_another[TLS_OPTIONS] = {[TLS_CERT_FILE] = certificate, [TLS_KEY_FILE] = key};
    snprintf(why, sizeof why, "tls_key_file \"%s\": %s", key, no_passphrase);
    check_refused(of_another, why);
    EVP_PKEY_free(another);
    another = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    unlink(key);
    write_pem(NULL, another, key);
    const char *of_another_type[TLS_OPTIONS] = {[TLS_CERT_FILE] = certificate, [TLS_KEY_FILE] = key};
    snprintf(why, sizeof why, "tls_key_file \"%s\": expected the private key of the certificate", key);
    check_refused(of_another_type, why);
    unlink(certificate);
    unlink(key);
    unlink(locked);
    EVP_PKEY_free(another);
}

/* A folder has CAs if OpenSSL would find one in it. */
static void folders_of_cas(void) {
    static const char *const strange[] = {"README", "1234567.0", "12345678.x", "1234567g.0", "12345678-0"};
    char folder[] = "/tmp/redlatch-tls-XXXXXX";
    char name[100];
    char why[300];
    char pem[PEM_PATH_SIZE];
    CHECK(mkdtemp(folder) != NULL);
    for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
        snprintf(name, sizeof name, "%s/%s", folder, strange[i]);
        FILE *file = fopen(name, "w");
        CHECK(file != NULL);
        fclose(file);
    }
    const char *more[TLS_OPTIONS] = {[TLS_CA_DIR] = folder};
    snprintf(why, sizeof why, "tls_ca_dir \"%s\": expected a folder of CA certificates, prepared by openssl rehash",
             folder);
    check_refused(more, why);
    X509 *const trusted[] = {other, own};
    for (int i = 0; i < 2; i++) {
        char hashed[100];
        snprintf(hashed, sizeof hashed, "%s/%08lx.0", folder, X509_subject_name_hash(trusted[i]));
        write_pem(trusted[i], NULL, pem);
        CHECK(rename(pem, hashed) == 0);
        CHECK_EQ_INT(outcome(own, NULL, "here", more, i ? "" : "expected one of tls_ca_dir \"/tmp/redlatch-tls-"),
                     i ? REDLATCH_OK : REDLATCH_AUTHENTICATION);
        CHECK_EQ_INT(outcome(own, own, "here", more, ""), REDLATCH_OK); /* or the CA of a file beside it */
        unlink(hashed);
    }
    for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
        snprintf(name, sizeof name, "%s/%s", folder, strange[i]);
        unlink(name);
    }
    rmdir(folder);
}

/* Without options OpenSSL's environment variables name the CAs, and without these the system does. */
static void cas_of_the_environment(void) {
    X509 *const trusted[] = {other, own};
    static const char unknown[] = "unknown CA: expected one of $SSL_CERT_FILE \"/tmp/redlatch-tls-";
    for (int i = 0; i < 2; i++) {
        char pem[PEM_PATH_SIZE];
        write_pem(trusted[i], NULL, pem);
        setenv("SSL_CERT_FILE", pem, 1);
        CHECK_EQ_INT(outcome(own, NULL, "here", NULL, i ? "" : unknown), i ? REDLATCH_OK : REDLATCH_AUTHENTICATION);
        unlink(pem);
    }
    setenv("SSL_CERT_FILE", "", 1);
    setenv("SSL_CERT_DIR", "/nowhere", 1);
    CHECK_EQ_INT(outcome(own, NULL, "here", NULL, "unknown CA: expected one of $SSL_CERT_DIR \"/nowhere\""),
                 REDLATCH_AUTHENTICATION);
    unsetenv("SSL_CERT_FILE");
    unsetenv("SSL_CERT_DIR");
    CHECK_EQ_INT(outcome(own, NULL, "here", NULL, "unknown CA: expected one of "), REDLATCH_AUTHENTICATION);
}

/* Appends a CRL with one revoked serial number, by the issuer of all certificates of this test. */
static void append_revocations(const char *path, long serial) {
    X509_CRL *list = X509_CRL_new();
    X509_REVOKED *revoked = X509_REVOKED_new();
    ASN1_INTEGER *number = ASN1_INTEGER_new();
    ASN1_TIME *time = X509_gmtime_adj(NULL, -DAY);
    X509_CRL_set_issuer_name(list, X509_get_subject_name(own));
    X509_CRL_set1_lastUpdate(list, time);
    X509_REVOKED_set_revocationDate(revoked, time);
    X509_gmtime_adj(time, DAY);
    X509_CRL_set1_nextUpdate(list, time);
    ASN1_INTEGER_set(number, serial);
    X509_REVOKED_set_serialNumber(revoked, number);
    CHECK(X509_CRL_add0_revoked(list, revoked) == 1 && X509_CRL_sign(list, tls_key, EVP_sha256()) > 0);
    FILE *file = fopen(path, "a");
    CHECK(file && PEM_write_X509_CRL(file, list) == 1);
    fclose(file);
    ASN1_INTEGER_free(number);
    ASN1_TIME_free(time);
    X509_CRL_free(list);
}

static void revoked_certificates(void) {
    for (long serial = 1; serial <= 2; serial++) {
        char pem[PEM_PATH_SIZE];
        const char *more[TLS_OPTIONS] = {[TLS_CA_FILE] = pem};
        write_pem(own, NULL, pem);
        append_revocations(pem, serial); /* the certificate has number 1 */
        CHECK_EQ_INT(outcome(own, NULL, "here", more, serial == 1 ? "it is revoked: expected another" : ""),
                     serial == 1 ? REDLATCH_AUTHENTICATION : REDLATCH_OK);
        unlink(pem);
    }
}

/* What the host has in its OpenSSL error queue stays there, with its texts. */
static void errors_of_the_host_stay(void) {
    struct ends ends = open_ends(own, own, "here", NULL);
    const char *file, *function, *data;
    int line, flags;
    ERR_clear_error();
    for (int i = 1; i < TLS_QUEUE_MAX; i++) {
        ERR_new();
        ERR_set_debug("host.c", 100 + i, "host_function");
        ERR_set_error(ERR_LIB_USER, i, i == 2 ? "%s" : NULL, "100 % of it");
    }
    connect_ends(&ends);
    for (int i = 1; i < TLS_QUEUE_MAX; i++) {
        unsigned long code = ERR_get_error_all(&file, &line, &function, &data, &flags);
        CHECK_EQ_INT(ERR_GET_LIB(code), ERR_LIB_USER);
        CHECK_EQ_INT(ERR_GET_REASON(code), i);
        CHECK_EQ_INT(line, 100 + i);
        CHECK_STR(file, "host.c");
        CHECK_STR(function, "host_function");
        CHECK_STR(data, i == 2 ? "100 % of it" : "");
    }
    CHECK_EQ_INT(ERR_get_error(), 0);
    close_ends(&ends);
}

/* The settings of OpenSSL: it frees the buffers of idle connections, keeps no sessions itself, and allows neither
 * renegotiation nor compression. */
static void settings_of_a_context(void) {
    const char *newest[TLS_OPTIONS] = {[TLS_MIN_VERSION] = "1.3"};
    for (int i = 0; i < 2; i++) {
        struct ends ends = open_ends(own, own, "here", i ? newest : NULL);
        SSL_CTX *ctx = ends.context->ctx;
        const uint64_t options = SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION;
        CHECK((SSL_CTX_get_options(ctx) & options) == options);
        CHECK(SSL_CTX_get_mode(ctx) & SSL_MODE_RELEASE_BUFFERS);
        CHECK_EQ_INT(SSL_CTX_get_session_cache_mode(ctx), SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
        CHECK_EQ_INT(SSL_CTX_get_min_proto_version(ctx), i ? TLS1_3_VERSION : TLS1_2_VERSION);
        CHECK_EQ_INT(SSL_CTX_get_verify_mode(ctx), SSL_VERIFY_PEER);
        close_ends(&ends);
    }
}

/* A server of TLS 1.2 that wants another handshake gets an alert, and the session goes on. */
static void nothing_is_negotiated_again(void) {
    struct ends ends = open_ends(own, own, "here", NULL);
    SSL_CTX_set_max_proto_version(ends.server_ctx, TLS1_2_VERSION);
    CHECK_EQ_INT(shaken(&ends, ""), REDLATCH_OK);
    char bytes[1000];
    CHECK(SSL_renegotiate(ends.server) == 1 && SSL_do_handshake(ends.server) == 1);
    int got = BIO_read(SSL_get_wbio(ends.server), bytes, sizeof bytes);
    CHECK(tls_session_receive(ends.session, bytes, (size_t)got));
    CHECK_EQ_INT(tls_session_read(ends.session, bytes, sizeof bytes), 0);
    CHECK_EQ_INT(tls_session_status(ends.session), REDLATCH_OK);
    CHECK(tls_session_seal(ends.session, &ends.output, &ends.sealed));
    CHECK(output_pending(&ends.sealed) > 0);
    CHECK_EQ_INT(ends.sealed.bytes[ends.sealed.begin], 0x15); /* an alert, and no handshake */
    close_ends(&ends);
}

/* The texts of failures that no OpenSSL server can be made to cause here. */
static void failures_in_words(void) {
    static const struct {
        int library;
        int reason; /* 0: the queue is empty */
        int status;
        const char *failure;
    } rows[] = {
        {ERR_LIB_SSL, ERR_R_MALLOC_FAILURE, REDLATCH_NO_MEMORY, "out of memory"},
        {ERR_LIB_SSL, SSL_R_HTTP_REQUEST, REDLATCH_PROTOCOL, "the server does not speak TLS: expected a TLS port"},
        {ERR_LIB_SSL, SSL_R_WRONG_VERSION_NUMBER, REDLATCH_PROTOCOL, "the server does not speak TLS: expected a TLS"},
        {ERR_LIB_SSL, SSL_R_BAD_LENGTH, REDLATCH_PROTOCOL, "TLS failed: bad length"},
        {ERR_LIB_SSL, 0, REDLATCH_PROTOCOL, "TLS failed: unknown error"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct tls_session session = {.alert = NO_ALERT};
        ERR_clear_error();
        if (rows[i].reason) {
            ERR_raise(rows[i].library, rows[i].reason);
        }
        CHECK_EQ_INT(tls_explain_failure(&session), rows[i].status);
        if (strncmp(session.failure, rows[i].failure, strlen(rows[i].failure)) != 0) {
            CHECK_STR(session.failure, rows[i].failure);
        }
    }
    ERR_clear_error();
    struct tls_session explained = {.alert = SSL_AD_UNKNOWN_CA, .failure = "the certificate"};
    CHECK_EQ_INT(tls_explain_failure(&explained), REDLATCH_AUTHENTICATION);
    CHECK_STR(explained.failure, "the certificate");
}

/* Which alerts are about the client's certificate. */
static void alerts_in_words(void) {
    struct tls_context without = {.has_certificate = false};
    static const int of_certificate[] = {SSL_AD_BAD_CERTIFICATE,     SSL_AD_UNSUPPORTED_CERTIFICATE,
                                         SSL_AD_CERTIFICATE_REVOKED, SSL_AD_CERTIFICATE_EXPIRED,
                                         SSL_AD_CERTIFICATE_UNKNOWN, SSL_AD_UNKNOWN_CA,
                                         SSL_AD_ACCESS_DENIED,       SSL_AD_CERTIFICATE_REQUIRED};
    for (int alert = 0; alert < 121; alert++) {
        struct tls_session session = {.context = &without, .alert = alert, .certificate_requested = true};
        bool expected = alert == SSL_AD_HANDSHAKE_FAILURE; /* if a certificate was requested */
        for (size_t i = 0; i < sizeof of_certificate / sizeof of_certificate[0]; i++) {
            expected = expected || alert == of_certificate[i];
        }
        CHECK_EQ_INT(tls_explain_failure(&session), expected ? REDLATCH_AUTHENTICATION : REDLATCH_PROTOCOL);
        CHECK_EQ_INT(strstr(session.failure, "refused a client without a certificate (TLS alert ") != NULL, expected);
        CHECK_EQ_INT(strstr(session.failure, "refused the TLS connection (TLS alert ") != NULL, !expected);
        CHECK_EQ_INT(strstr(session.failure, ": expected one that it accepts, in tls_cert_file") != NULL, expected);
    }
    struct tls_session session = {.context = &without, .alert = SSL_AD_CERTIFICATE_REQUIRED};
    tls_explain_failure(&session);
    CHECK_STR(session.failure, "the server refused a client without a certificate (TLS alert 116, certificate "
                               "required): expected one that it accepts, in tls_cert_file");
}

int main(void) {
    unsetenv("SSL_CERT_FILE");
    unsetenv("SSL_CERT_DIR");
    tls_key = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    own = certificate_of("DNS:here,IP:127.0.0.1,IP:::1", -DAY, DAY);
    other = certificate_named("stranger", "DNS:here", -DAY, DAY);
    RUN(what_is_verified);
    RUN(the_refused_one_of_a_chain_is_shown);
    RUN(the_server_learns_its_name);
    RUN(versions);
    RUN(a_client_has_a_certificate);
    RUN(one_alert_for_two_reasons);
    RUN(files_that_cannot_be_used);
    RUN(folders_of_cas);
    RUN(cas_of_the_environment);
    RUN(revoked_certificates);
    RUN(errors_of_the_host_stay);
    RUN(settings_of_a_context);
    RUN(nothing_is_negotiated_again);
    RUN(failures_in_words);
    RUN(alerts_in_words);
    X509_free(own);
    X509_free(other);
    EVP_PKEY_free(tls_key);
    return unit_done();
}
