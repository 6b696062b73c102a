/* Texts for failures of TLS: certificates that are refused, alerts of the server, peers that do not speak TLS.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "redlatch.h"
#include "tls_parts.h"

enum { SHOWN_MAX = 72 };

/* Reads a text from a memory BIO, cut if it is too long. It comes from the peer: quotation marks and bytes that are not
 * printable ASCII become dots. */
static void show(BIO *bio, char text[SHOWN_MAX]) {
    int size = BIO_read(bio, text, SHOWN_MAX - 1);
    text[size > 0 ? size : 0] = '\0';
    for (char *at = text; *at; at++) {
        *at = *at >= ' ' && *at <= '~' && *at != '"' ? *at : '.';
    }
}

static void show_name(const X509_NAME *name, char text[SHOWN_MAX]) {
    BIO *bio = BIO_new(BIO_s_mem());
    text[0] = '\0';
    if (bio && name) {
        X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253);
        show(bio, text);
    }
    BIO_free(bio);
}

static void show_time(const ASN1_TIME *time, char text[SHOWN_MAX]) {
    BIO *bio = BIO_new(BIO_s_mem());
    text[0] = '\0';
    if (bio && time) {
        ASN1_TIME_print(bio, time);
        show(bio, text);
    }
    BIO_free(bio);
}

static void print_address(BIO *bio, const ASN1_OCTET_STRING *address) {
    const unsigned char *bytes = ASN1_STRING_get0_data(address);
    int size = ASN1_STRING_length(address);
    for (int i = 0; size == 4 && i < size; i++) {
        BIO_printf(bio, i ? ".%d" : "%d", bytes[i]);
    }
    for (int i = 0; size == 16 && i < size; i += 2) {
        BIO_printf(bio, i ? ":%x" : "%x", bytes[i] << 8 | bytes[i + 1]);
    }
}

/* Writes the names that a certificate is for, or its subject if it has none. */
static void show_names(const X509 *certificate, char text[SHOWN_MAX]) {
    BIO *bio = BIO_new(BIO_s_mem());
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    const char *separator = "";
    for (int i = 0; bio && i < sk_GENERAL_NAME_num(names); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        if (name->type != GEN_DNS && name->type != GEN_IPADD) {
            continue;
        }
        BIO_printf(bio, "%s", separator);
        separator = ", ";
        BIO_puts(bio, name->type == GEN_DNS ? "DNS:" : "IP:");
        if (name->type == GEN_DNS) {
            BIO_write(bio, ASN1_STRING_get0_data(name->d.dNSName), ASN1_STRING_length(name->d.dNSName));
        } else {
            print_address(bio, name->d.iPAddress);
        }
    }
    if (bio && *separator) {
        show(bio, text);
    } else {
        show_name(X509_get_subject_name(certificate), text);
    }
    GENERAL_NAMES_free(names);
    BIO_free(bio);
}

/* Writes what is wrong and what was expected, for the end of the sentence. Returns whether no trusted CA issued the
 * certificate: then the issuer of the last certificate of the chain is the unknown one. */
static bool explain_error(const struct tls_session *session, const X509 *certificate, int error, char *text,
                          size_t size) {
    char shown[SHOWN_MAX];
    switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
        show_time(X509_get0_notAfter(certificate), shown);
        snprintf(text, size, "it expired on %s: expected a valid one", shown);
        break;
    case X509_V_ERR_CERT_NOT_YET_VALID:
        show_time(X509_get0_notBefore(certificate), shown);
        snprintf(text, size, "it is not valid before %s: expected a valid one", shown);
        break;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        show_names(certificate, shown);
        snprintf(text, size, "it is for %s: expected one for %s:%.60s", shown,
                 error == X509_V_ERR_HOSTNAME_MISMATCH ? "DNS" : "IP", session->server_name);
        break;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
        snprintf(text, size, "unknown CA: expected one of %s", session->context->ca_shown);
        return true;
    case X509_V_ERR_CERT_REVOKED:
        snprintf(text, size, "it is revoked: expected another");
        break;
    default:
        snprintf(text, size, "%s: expected a valid one", X509_verify_cert_error_string(error));
    }
    return false;
}

/* The refused certificate may be old, because changed files cannot be used: adds why. */
static void add_not_renewed(struct tls_session *session) {
    const char *why = session->context->not_renewed;
    size_t used = strlen(session->failure);
    if (*why) {
        snprintf(session->failure + used, sizeof session->failure - used, "; the file on disk is not used: %s", why);
    }
}

void tls_explain_certificate(struct tls_session *session, X509_STORE_CTX *chain) {
    const X509 *certificate = X509_STORE_CTX_get_current_cert(chain);
    const X509 *own = X509_STORE_CTX_get0_cert(chain);
    char subject[SHOWN_MAX];
    char issuer[SHOWN_MAX];
    char error[240];
    if (!certificate) {
        snprintf(session->failure, sizeof session->failure, "the certificate was refused: %s",
                 X509_verify_cert_error_string(X509_STORE_CTX_get_error(chain)));
        return;
    }
    bool unknown = explain_error(session, certificate, X509_STORE_CTX_get_error(chain), error, sizeof error);
    show_name(X509_get_subject_name(unknown && own ? own : certificate), subject);
    show_name(X509_get_issuer_name(certificate), issuer);
    snprintf(session->failure, sizeof session->failure, "the certificate of \"%s\", issued by \"%s\", was refused: %s",
             subject, issuer, error);
    add_not_renewed(session);
}

/* Returns whether the alert is about the client's certificate, or about its absence. */
static bool is_of_certificate(const struct tls_session *session) {
    switch (session->alert) {
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_ACCESS_DENIED:
    case SSL_AD_CERTIFICATE_REQUIRED:
        return true;
    case SSL_AD_HANDSHAKE_FAILURE: /* in TLS 1.2 for a missing certificate; else nothing fits both sides */
        return session->certificate_requested;
    default:
        return false;
    }
}

/* The server has ended the session by an alert. */
static int explain_alert(struct tls_session *session) {
    int alert = session->alert;
    bool certificate = is_of_certificate(session);
    const char *own = session->context->has_certificate ? "the client's certificate" : "a client without a certificate";
    /* OpenSSL 3.0 has no text for the alert that its own servers send. */
    const char *name = alert == SSL_AD_CERTIFICATE_REQUIRED ? "certificate required"
                                                            : SSL_alert_desc_string_long(alert);
    int used = snprintf(session->failure, sizeof session->failure, "the server refused %s (TLS alert %d, %s)",
                        certificate ? own : "the TLS connection", alert, name);
    if (certificate) {
        snprintf(session->failure + used, sizeof session->failure - (size_t)used,
                 ": expected one that it accepts, in %stls_cert_file", tls_options_prefix(&session->context->options));
        add_not_renewed(session);
    }
    return certificate ? REDLATCH_AUTHENTICATION : REDLATCH_PROTOCOL;
}

int tls_explain_failure(struct tls_session *session) {
    unsigned long error = ERR_peek_last_error();
    int reason = ERR_GET_REASON(error);
    if (session->failure[0]) {
        return REDLATCH_AUTHENTICATION;
    }
    if (session->alert != NO_ALERT) {
        return explain_alert(session);
    }
    if (reason == ERR_R_MALLOC_FAILURE) {
        snprintf(session->failure, sizeof session->failure, "out of memory");
        return REDLATCH_NO_MEMORY;
    }
    if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST) {
        snprintf(session->failure, sizeof session->failure,
                 "the server does not speak TLS: expected a TLS port, or a redis:// URL");
        return REDLATCH_PROTOCOL;
    }
    const char *sentence = ERR_reason_error_string(error);
    snprintf(session->failure, sizeof session->failure, "TLS failed: %s", sentence ? sentence : "unknown error");
    return REDLATCH_PROTOCOL;
}
