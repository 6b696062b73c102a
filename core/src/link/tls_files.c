/* The files of a TLS context may be renewed on disk: then the next connection uses the new ones.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "redlatch.h"
#include "system.h"
#include "tls_parts.h"

/* OpenSSL looks into the folder of CAs by itself, at each certificate that it does not know. */
static const enum tls_option watched[TLS_FILES] = {TLS_CA_FILE, TLS_CERT_FILE, TLS_KEY_FILE};

static void take_stamps(const struct tls_options *options, struct tls_stamp stamps[TLS_FILES]) {
    for (int i = 0; i < TLS_FILES; i++) {
        const char *path = options->texts[watched[i]];
        struct stat found;
        stamps[i] = (struct tls_stamp){.size = -1};
        if (path && stat(path, &found) == 0) {
            stamps[i] = (struct tls_stamp){found.st_dev, found.st_ino, found.st_size, system_changed_at(&found)};
        }
    }
}

static bool is_same(const struct tls_stamp *one, const struct tls_stamp *other) {
    return one->device == other->device && one->node == other->node && one->size == other->size &&
           one->changed.tv_sec == other->changed.tv_sec && one->changed.tv_nsec == other->changed.tv_nsec;
}

/* Makes a path absolute, as the host may change its working directory. Symbolic links are not followed: a renewal may
 * change where they lead. */
static bool make_absolute(char **path) {
    char folder[PATH_MAX];
    char *absolute = NULL;
    if (!*path || **path == '/' || !getcwd(folder, sizeof folder)) {
        return true;
    }
    if (asprintf(&absolute, "%s/%s", folder, *path) < 0) {
        return false;
    }
    free(*path);
    *path = absolute;
    return true;
}

bool tls_files_watch(struct tls_context *context, const struct tls_options *options) {
    const char *over[TLS_OPTIONS];
    for (int i = 0; i < TLS_OPTIONS; i++) {
        over[i] = options->texts[i];
    }
    bool done = tls_options_override(&context->options, over) && make_absolute(&context->options.texts[TLS_CA_DIR]);
    for (int i = 0; done && i < TLS_FILES; i++) {
        done = make_absolute(&context->options.texts[watched[i]]);
    }
    context->options.prefix = options->prefix;
    take_stamps(&context->options, context->stamps);
    return done;
}

void tls_files_renew(struct tls_context *context) {
    struct tls_stamp stamps[TLS_FILES];
    bool same = true;
    take_stamps(&context->options, stamps);
    for (int i = 0; i < TLS_FILES; i++) {
        same = same && is_same(&stamps[i], &context->stamps[i]);
    }
    context->not_renewed[0] = '\0';
    if (same) {
        return;
    }
    struct tls_context fresh = {.values = context->values};
    struct tls_making making = {&fresh, &context->options, context->not_renewed, sizeof context->not_renewed};
    if (tls_context_fill(&making) != REDLATCH_OK) { /* half written perhaps: tried again at the next connection */
        SSL_CTX_free(fresh.ctx);
        return;
    }
    SSL_CTX_free(context->ctx); /* open connections keep it */
    SSL_SESSION_free(context->resumed);
    context->ctx = fresh.ctx;
    context->resumed = NULL; /* it would still be that of the old certificate */
    context->has_certificate = fresh.has_certificate;
    memcpy(context->ca_shown, fresh.ca_shown, sizeof context->ca_shown);
    memcpy(context->stamps, stamps, sizeof stamps);
}
