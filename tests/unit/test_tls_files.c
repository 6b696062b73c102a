/* Files of TLS that are renewed on disk: what the next session uses, and what it does not resume.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "tls_fixture.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "redlatch.h"
#include "tls_parts.h"
#include "unit.h"

static X509 *own;   /* of the server */
static X509 *other; /* of a stranger */

/* Puts a new file in place of the old one, as tools that renew certificates do. */
static void renew(const char *path, X509 *certificate, EVP_PKEY *key) {
    char fresh[PEM_PATH_SIZE];
    write_pem(certificate, key, fresh);
    CHECK_EQ_INT(rename(fresh, path), 0);
}

static void write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0);
    fclose(file);
}

/* Does another handshake. Returns the status of the client's session. */
static int shaken(struct ends *ends) {
    disconnect_ends(ends);
    connect_ends(ends);
    exchange(ends);
    return tls_session_status(ends->session);
}

static void new_cas_count(void) {
    struct ends ends = open_ends(own, other, "here", NULL);
    CHECK_EQ_INT(shaken(&ends), REDLATCH_AUTHENTICATION);
    const SSL_CTX *before = ends.context->ctx;
    CHECK_EQ_INT(shaken(&ends), REDLATCH_AUTHENTICATION);
    CHECK(ends.context->ctx == before);
    CHECK(!strstr(tls_session_failure(ends.session), "on disk"));
    renew(ends.path, own, NULL);
    CHECK_EQ_INT(shaken(&ends), REDLATCH_OK);
    CHECK(tls_session_is_established(ends.session));
    renew(ends.path, other, NULL);
    CHECK_EQ_INT(shaken(&ends), REDLATCH_AUTHENTICATION); /* no earlier session is resumed */
    close_ends(&ends);
}

/* Once with a file that cannot be used, and once with a missing one. */
static void an_unusable_file_leaves_the_old_one(void) {
    static const char *const contents[] = {"half of a", NULL};
    for (int i = 0; i < 2; i++) {
        struct ends ends = open_ends(own, own, "here", NULL);
        if (contents[i]) {
            write_text(ends.path, contents[i]);
        } else {
            unlink(ends.path);
        }
        CHECK_EQ_INT(shaken(&ends), REDLATCH_OK);
        ends.host = "there";
        CHECK_EQ_INT(shaken(&ends), REDLATCH_AUTHENTICATION);
        char expected[100];
        snprintf(expected, sizeof expected, "; the file on disk is not used: tls_ca_file \"%s\": ", ends.path);
        CHECK(strstr(tls_session_failure(ends.session), expected));
        renew(ends.path, other, NULL);
        CHECK_EQ_INT(shaken(&ends), REDLATCH_AUTHENTICATION);
        CHECK(strstr(tls_session_failure(ends.session), "unknown CA"));
        CHECK(!strstr(tls_session_failure(ends.session), "on disk"));
        close_ends(&ends);
    }
}

/* Returns the serial number of the certificate that the client showed to the server; -1 if none. */
static long serial_at(const struct ends *ends) {
    const X509 *shown = SSL_get0_peer_certificate(ends->server);
    return shown ? ASN1_INTEGER_get(X509_get0_serialNumber(shown)) : -1;
}

static int accept_any(int accepted, X509_STORE_CTX *chain) {
    (void)accepted, (void)chain;
    return 1;
}

static void a_new_certificate_is_shown(void) {
    char certificate[PEM_PATH_SIZE];
    char key[PEM_PATH_SIZE];
    write_pem(own, NULL, certificate);
    write_pem(NULL, tls_key, key);
    const char *more[TLS_OPTIONS] = {[TLS_CERT_FILE] = certificate, [TLS_KEY_FILE] = key};
    struct ends ends = open_ends(own, own, "here", more);
    SSL_CTX_set_verify(ends.server_ctx, SSL_VERIFY_PEER, accept_any);
    CHECK(SSL_CTX_set_session_id_context(ends.server_ctx, (const unsigned char *)"x", 1) == 1);
    CHECK_EQ_INT(shaken(&ends), REDLATCH_OK);
    CHECK_EQ_INT(serial_at(&ends), 1);
    CHECK_EQ_INT(shaken(&ends), REDLATCH_OK);
    CHECK(SSL_session_reused(ends.server));

    X509 *renewed = X509_dup(own);
    EVP_PKEY *another = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    ASN1_INTEGER_set(X509_get_serialNumber(renewed), 7);
    CHECK(X509_sign(renewed, tls_key, EVP_sha256()) > 0);
    renew(key, NULL, another); /* the key comes first, and does not fit the certificate yet */
    CHECK_EQ_INT(shaken(&ends), REDLATCH_OK);
    CHECK(SSL_session_reused(ends.server));
    X509_set_pubkey(renewed, another);
    CHECK(X509_sign(renewed, tls_key, EVP_sha256()) > 0);
    renew(certificate, renewed, NULL);
    CHECK_EQ_INT(shaken(&ends), REDLATCH_OK);
    CHECK(!SSL_session_reused(ends.server));
    CHECK_EQ_INT(serial_at(&ends), 7);
    X509_free(renewed);
    EVP_PKEY_free(another);
    close_ends(&ends);
    unlink(certificate);
    unlink(key);
}

/* The server gives a session to a connection with the old files, when the new ones are in use. */
static void a_late_session_of_old_files_is_not_kept(void) {
    struct ends old = open_ends(own, own, "here", NULL);
    SSL_CTX_set_num_tickets(old.server_ctx, 0);
    connect_ends(&old);
    exchange(&old);
    CHECK(tls_session_is_established(old.session) && !old.context->resumed);
    renew(old.path, own, NULL);
    struct tls_session *next = tls_session_new(old.context, "here");
    CHECK(next && SSL_get_SSL_CTX(old.session->ssl) != old.context->ctx);
    CHECK_EQ_INT(SSL_new_session_ticket(old.server), 1);
    exchange(&old);
    CHECK(!old.context->resumed);
    tls_session_free(next);
    close_ends(&old);
}

/* Makes a folder of CAs with one certificate, as `openssl rehash` does. */
static void make_folder_of_cas(X509 *certificate, char folder[PEM_PATH_SIZE], char hashed[PATH_MAX]) {
    char path[PEM_PATH_SIZE];
    snprintf(folder, PEM_PATH_SIZE, "/tmp/cas-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    snprintf(hashed, PATH_MAX, "%s/%08lx.0", folder, X509_subject_name_hash(certificate));
    write_pem(certificate, NULL, path);
    CHECK_EQ_INT(rename(path, hashed), 0);
}

static void relative_paths_begin_where_the_client_was_opened(void) {
    char folder[PATH_MAX];
    CHECK(getcwd(folder, sizeof folder) != NULL);
    CHECK_EQ_INT(chdir("/tmp"), 0);
    char path[PEM_PATH_SIZE];
    write_pem(own, NULL, path);
    char cas[PEM_PATH_SIZE], hashed[PATH_MAX];
    make_folder_of_cas(other, cas, hashed);
    const char *more[TLS_OPTIONS] = {[TLS_CA_FILE] = path + strlen("/tmp/"), [TLS_CA_DIR] = cas + strlen("/tmp/")};
    struct ends ends = open_ends(own, NULL, "here", more);
    CHECK_EQ_INT(chdir("/"), 0);
    CHECK_EQ_INT(shaken(&ends), REDLATCH_OK);
    renew(path, other, NULL);
    CHECK_EQ_INT(shaken(&ends), REDLATCH_AUTHENTICATION);
    CHECK(!strstr(tls_session_failure(ends.session), "on disk"));
    close_ends(&ends);
    unlink(path);
    unlink(hashed);
    rmdir(cas);
    CHECK_EQ_INT(chdir(folder), 0);
}

int main(void) {
    tls_key = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    own = certificate_of("DNS:here", -DAY, DAY);
    other = certificate_named("stranger", "DNS:here", -DAY, DAY);
    RUN(new_cas_count);
    RUN(an_unusable_file_leaves_the_old_one);
    RUN(a_new_certificate_is_shown);
    RUN(a_late_session_of_old_files_is_not_kept);
    RUN(relative_paths_begin_where_the_client_was_opened);
    X509_free(own);
    X509_free(other);
    EVP_PKEY_free(tls_key);
    return unit_done();
}
