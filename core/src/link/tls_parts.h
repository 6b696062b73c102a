/* What the files of TLS share, with the types of OpenSSL. The functions that call OpenSSL restore the thread's error
 * queue afterwards: a program that uses OpenSSL itself judges its own calls by that queue.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_PARTS_H
#define TLS_PARTS_H

#include <sys/stat.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "tls.h"

/* The state of a file when it was read. A size of -1: there was none. */
enum { TLS_FILES = 3 };
struct tls_stamp {
    dev_t device;
    ino_t node;
    off_t size;
    struct timespec changed;
};

struct tls_context {
    SSL_CTX *ctx;
    SSL_SESSION *resumed; /* of the last connection; the next one to the same server name resumes it. NULL: none */
    char *resumed_name;
    struct tls_values values;
    bool has_certificate;       /* of the client */
    char ca_shown[120];         /* where the CAs come from */
    struct tls_options options; /* with absolute paths, for a renewal */
    struct tls_stamp stamps[TLS_FILES];
    char not_renewed[240]; /* why changed files are not used; else empty */
};

/* A context that is being made, its options, and where to write why it cannot be made. */
struct tls_making {
    struct tls_context *context;
    const struct tls_options *options;
    char *why;
    size_t why_size;
};

/* Writes why a file cannot be used. Returns INVALID. */
int tls_refuse_file(const struct tls_making *making, const char *what, const char *path, const char *expected);

/* Makes the SSL_CTX of making->context, with all that belongs to it. Returns OK, INVALID, NO_MEMORY or SYSTEM. */
int tls_context_fill(const struct tls_making *making);

/* Notes the options and the state of the files, before the files are read. Returns false if there was no memory. */
bool tls_files_watch(struct tls_context *context, const struct tls_options *options);

/* Reads the files again if they changed. If the new ones cannot be used, those that were read before stay in use. */
void tls_files_renew(struct tls_context *context);

/* Loads the CAs. Returns OK or INVALID. */
int tls_load_cas(const struct tls_making *making);

enum { TLS_FAILURE_SIZE = 440, NO_ALERT = -1 };

struct tls_session {
    struct tls_context *context;
    SSL *ssl;
    char *server_name;          /* that the certificate must be for; sent as SNI, unless it is an address */
    int status;                 /* OK while it works */
    int alert;                  /* the last one that the server sent; or NO_ALERT */
    bool certificate_requested; /* by the server, of the client */
    char failure[TLS_FAILURE_SIZE];
};

/* The errors that the host had in the queue of this thread; long texts are cut. */
enum { TLS_QUEUE_MAX = 16 };
struct tls_queue {
    int count;
    struct tls_queued {
        unsigned long code;
        int line;
        char file[80], function[48], data[100];
    } errors[TLS_QUEUE_MAX];
};

/* The first saves and empties the thread's queue, the second restores it. */
void tls_queue_put_aside(struct tls_queue *queue);
void tls_queue_put_back(const struct tls_queue *queue);

/* Writes to session->failure why a certificate of the server is refused: whose it is, who issued it, what was
 * expected. */
void tls_explain_certificate(struct tls_session *session, X509_STORE_CTX *chain);

/* Judges a failed step of a session by the server's alert, or else by the last error of OpenSSL. Returns the status.
 * Writes why to session->failure, unless a refused certificate is explained there already. */
int tls_explain_failure(struct tls_session *session);

#endif
