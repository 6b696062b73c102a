/* Which CAs a TLS context trusts: those of the options, or else of the environment, or else of the system.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "redlatch.h"
#include "system.h"
#include "tls_parts.h"

/* Where distributions keep the CAs that they trust. */
static const char *const bundles[] = {
    "/etc/ssl/certs/ca-certificates.crt", /* Debian, Ubuntu, Arch, Alpine */
    "/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora, RHEL */
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem", /* SUSE */
    "/etc/ssl/cert.pem",
};

/* Returns whether OpenSSL finds a file of this name in a folder: the name is the hash of the subject, as 9d66eef0.0. */
static bool is_hashed(const char *name) {
    for (int i = 0; i < 8; i++) {
        if (!isxdigit((unsigned char)name[i])) {
            return false;
        }
    }
    return name[8] == '.' && isdigit((unsigned char)name[9]);
}

static bool has_hashed(const char *path) {
    DIR *folder = opendir(path);
    const struct dirent *entry = NULL;
    while (folder && (entry = readdir(folder)) != NULL && !is_hashed(entry->d_name)) {
    }
    if (folder) {
        closedir(folder);
    }
    return entry != NULL;
}

static int load_given(const struct tls_making *making, const char *file, const char *folder) {
    struct tls_context *context = making->context;
    const char *prefix = tls_options_prefix(making->options);
    if (file && SSL_CTX_load_verify_file(context->ctx, file) != 1) {
        return tls_refuse_file(making, "tls_ca_file", file, "CA certificates in PEM");
    }
    if (folder && (!has_hashed(folder) || SSL_CTX_load_verify_dir(context->ctx, folder) != 1)) {
        return tls_refuse_file(making, "tls_ca_dir", folder, "a folder of CA certificates, prepared by openssl rehash");
    }
    snprintf(context->ca_shown, sizeof context->ca_shown, "%s%s \"%.80s\"", prefix, file ? "tls_ca_file" : "tls_ca_dir",
             file ? file : folder);
    return REDLATCH_OK;
}

int tls_load_cas(const struct tls_making *making) {
    struct tls_context *context = making->context;
    const char *prefix = tls_options_prefix(making->options);
    const char *file = making->options->texts[TLS_CA_FILE];
    const char *folder = making->options->texts[TLS_CA_DIR];
    if (file || folder) {
        return load_given(making, file, folder);
    }
    file = system_environment("SSL_CERT_FILE");
    folder = system_environment("SSL_CERT_DIR");
    bool from_environment = (file && *file) || (folder && *folder);
    for (size_t i = 0; !from_environment && i < sizeof bundles / sizeof bundles[0]; i++) {
        if (access(bundles[i], R_OK) == 0 && SSL_CTX_load_verify_file(context->ctx, bundles[i]) == 1) {
            snprintf(context->ca_shown, sizeof context->ca_shown, "the system's, in %s; %stls_ca_file gives others",
                     bundles[i], prefix);
            return REDLATCH_OK;
        }
    }
    SSL_CTX_set_default_verify_paths(context->ctx); /* reads both variables, and ignores what is not there */
    if (from_environment) {
        bool of_file = file && *file;
        snprintf(context->ca_shown, sizeof context->ca_shown, "%s \"%.80s\"",
                 of_file ? "$SSL_CERT_FILE" : "$SSL_CERT_DIR", of_file ? file : folder);
    } else {
        snprintf(context->ca_shown, sizeof context->ca_shown, "%stls_ca_file, which was not given", prefix);
    }
    return REDLATCH_OK;
}
