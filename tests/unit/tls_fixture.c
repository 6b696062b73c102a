/* Certificates and both ends of a session.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "tls_fixture.h"

#include <string.h>
#include <unistd.h>

#include "redlatch.h"
#include "unit.h"

EVP_PKEY *tls_key;

X509 *certificate_named(const char *common_name, const char *names, long from, long to) {
    X509 *certificate = X509_new();
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), from);
    X509_gmtime_adj(X509_getm_notAfter(certificate), to);
    X509_set_pubkey(certificate, tls_key);
    X509_NAME *name = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)common_name, -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    if (names) {
        X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, names);
        X509_add_ext(certificate, extension, -1);
        X509_EXTENSION_free(extension);
    }
    CHECK(X509_sign(certificate, tls_key, EVP_sha256()) > 0);
    return certificate;
}

X509 *certificate_of(const char *names, long from, long to) {
    return certificate_named("server", names, from, to);
}

void write_pem(X509 *certificate, EVP_PKEY *key, char path[PEM_PATH_SIZE]) {
    memcpy(path, "/tmp/redlatch-tls-XXXXXX", sizeof "/tmp/redlatch-tls-XXXXXX");
    FILE *file = fdopen(mkstemp(path), "w");
    CHECK(file && (!certificate || PEM_write_X509(file, certificate) == 1));
    CHECK(!key || PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL) == 1);
    fclose(file);
}

struct ends open_ends(X509 *served, X509 *trusted, const char *host, const char *const more[TLS_OPTIONS]) {
    struct ends ends = {.host = host};
    ends.server_ctx = SSL_CTX_new(TLS_server_method());
    CHECK(SSL_CTX_use_certificate(ends.server_ctx, served) == 1);
    CHECK(SSL_CTX_use_PrivateKey(ends.server_ctx, tls_key) == 1);
    struct tls_options options = {.prefix = NULL};
    if (trusted) {
        write_pem(trusted, NULL, ends.path);
        const char *over[TLS_OPTIONS] = {[TLS_CA_FILE] = ends.path};
        CHECK(tls_options_override(&options, over));
    }
    CHECK(!more || tls_options_override(&options, more));
    char why[400] = "";
    CHECK_EQ_INT(tls_context_new(&options, &ends.context, why, sizeof why), REDLATCH_OK);
    CHECK_STR(why, "");
    tls_options_free(&options);
    return ends;
}

void connect_ends(struct ends *ends) {
    ends->server = SSL_new(ends->server_ctx);
    SSL_set_bio(ends->server, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_accept_state(ends->server);
    ends->session = tls_session_new(ends->context, ends->host);
    CHECK(ends->session != NULL);
}

void exchange(struct ends *ends) {
    for (int turn = 0; turn < 6; turn++) {
        tls_session_seal(ends->session, &ends->output, &ends->sealed);
        BIO_write(SSL_get_rbio(ends->server), ends->sealed.bytes + ends->sealed.begin,
                  (int)output_pending(&ends->sealed));
        output_clear(&ends->sealed);
        SSL_do_handshake(ends->server);
        char bytes[16384];
        int got = BIO_read(SSL_get_wbio(ends->server), bytes, sizeof bytes);
        if (got > 0) {
            CHECK(tls_session_receive(ends->session, bytes, (size_t)got));
            char plain[16];
            CHECK_EQ_INT(tls_session_read(ends->session, plain, sizeof plain), 0);
        }
    }
    ERR_clear_error();
}

void disconnect_ends(struct ends *ends) {
    tls_session_free(ends->session);
    SSL_free(ends->server);
    output_free(&ends->output);
    output_free(&ends->sealed);
    ends->session = NULL;
    ends->server = NULL;
    memset(&ends->output, 0, sizeof ends->output);
    memset(&ends->sealed, 0, sizeof ends->sealed);
}

void close_ends(struct ends *ends) {
    disconnect_ends(ends);
    tls_context_free(ends->context);
    SSL_CTX_free(ends->server_ctx);
    if (ends->path[0]) {
        unlink(ends->path);
    }
}
