/* What the commands of `redlatch` share: exit statuses, complaints, options that all of them take.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_H
#define CLI_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

#include "redlatch.h"

/* Exit statuses; from 64 on as in sysexits.h. */
enum {
    STATUS_GOOD = 0,
    STATUS_NOT_OBTAINED = 1,
    STATUS_WARNING = 1, /* these two of `doctor` */
    STATUS_PROBLEM = 2,
    STATUS_FREE = 3,
    STATUS_USAGE = 64,
    STATUS_NO_LOCK = 65,
    STATUS_UNREACHABLE = 69,
    STATUS_LOST = 70,
    STATUS_SYSTEM = 71,
    STATUS_OUTPUT = 74,
    STATUS_CANNOT_RUN = 126,
    STATUS_NOT_FOUND = 127,
    STATUS_BY_SIGNAL = 128
};

/* One for each command: its exit status. */
int command_run(int argc, char **argv);
int command_elect(int argc, char **argv);
int command_list(int argc, char **argv);
int command_show(int argc, char **argv);
int command_wait(int argc, char **argv);
int command_unlock(int argc, char **argv);
int command_acquire(int argc, char **argv);
int command_release(int argc, char **argv);
int command_extend(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_complete(int argc, char **argv);
int command_top(int argc, char **argv);

enum { TLS_COUNT = 7 };

/* Which server, how it lets us in, and what stands before every name; of every command. */
struct server_options {
    const char *url;
    const char *prefix;
    const char *password_file;
    const char *tls[TLS_COUNT]; /* in the order of SERVER_OPTIONS; NULL: not given */
};

/* Letters of options that have no short form. */
enum {
    OPTION_PREFIX = 256,
    OPTION_JSON,
    OPTION_WIDE,
    OPTION_FORCE,
    OPTION_LEASE,
    OPTION_MAX_HOLD,
    OPTION_AT_LEAST,
    OPTION_ONCE,
    OPTION_GRACE,
    OPTION_KIND,
    OPTION_PERMITS,
    OPTION_LIMIT,
    OPTION_KEY_TEMPLATE,
    OPTION_LABEL,
    OPTION_OWNER,
    OPTION_MINE,
    OPTION_VERBOSE,
    OPTION_PASSWORD_FILE,
    OPTION_TLS /* the first of TLS_COUNT */
};

#define SERVER_OPTIONS \
    {"url", required_argument, NULL, 'u'}, {"prefix", required_argument, NULL, OPTION_PREFIX}, \
        {"password-file", required_argument, NULL, OPTION_PASSWORD_FILE}, \
        {"tls-ca-file", required_argument, NULL, OPTION_TLS}, {"tls-ca-dir", required_argument, NULL, OPTION_TLS + 1}, \
        {"tls-cert-file", required_argument, NULL, OPTION_TLS + 2}, \
        {"tls-key-file", required_argument, NULL, OPTION_TLS + 3}, \
        {"tls-server-name", required_argument, NULL, OPTION_TLS + 4}, \
        {"tls-verify", required_argument, NULL, OPTION_TLS + 5}, \
        {"tls-min-version", required_argument, NULL, OPTION_TLS + 6}, {"help", no_argument, NULL, 'h'}, \
        {NULL, 0, NULL, 0}

/* getopt_long, but that a mistake is complained of in a way that is fit to be shown: '?' then. `letters` begin with a
 * colon, perhaps after a plus sign. */
int next_option(int argc, char **argv, const char *letters, const struct option *options, const char *command);

/* Takes one of SERVER_OPTIONS, or what next_option makes of a mistake. false: there is nothing more to do, and
 * *status_out is how to exit. */
bool take_server_option(struct server_options *server, int letter, const char *usage, int *status_out);

/* The one operand of a command that takes a name; NULL after a complaint. */
const char *only_name(int argc, char **argv, const char *command);

/* Says what is wrong on standard error and returns the exit status. Names and the like may be of any bytes: what cannot
 * be shown stands there as \xNN. */
int complain(int exit_status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same where there is no exit status to return. */
void notice(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same for a failed call of the library, with its own words, and on a line of its own what to do. */
int complain_of(int status);

/* Which command it is, for messages; NULL before it is known. */
void set_command(const char *name);
const char *current_command(void);

/* nearest.c: of words, which `word` returns by their index and NULL behind the last, the one that was probably meant;
 * NULL if none is near. */
const char *nearest_word(const char *typed, const char *(*word)(const void *words, size_t index), const void *words);

/* advice.c: what to do about a failed call; NULL where its message is enough. */
const char *advice_for(const struct server_options *server, int status, const char *message);

/* The same for one that waited. */
int complain_of_wait(int status);

/* Opens the client that a command works with, whose own options may be NULL: an exit status, and why not is said. */
int open_client(const struct server_options *server, const redlatch_client_options *own, redlatch_client **client_out);

/* What open_client was last called with; all unset before. */
const struct server_options *server_opened(void);

/* The URL of the server: the given one, that of the environment, or what it is without either. */
const char *server_url(const struct server_options *server);

/* In new memory; NULL without. */
char *url_without_password(const char *url);

/* `run` tells its CMD by the environment where its server is, without secrets: a password comes from where `run` had
 * it, unless that was the command line. false without memory. */
bool server_export(const struct server_options *server);

/* Where the `run` that runs this has its server, as far as nothing else is given; and whether a place is that. */
struct server_options server_of_run(const struct server_options *given);
bool server_is_of_run(const struct server_options *server);

/* A URL whose relative paths begin in a folder: they lead to the same files from every directory. In new memory; NULL
 * without. */
char *tls_url_from(const char *url, const char *folder);

/* The options of TLS: into those of a client; into the environment of CMD; from there, as far as not given. */
void tls_fill(const struct server_options *server, redlatch_client_options *options);
bool tls_export(const struct server_options *server);
void tls_of_run(struct server_options *server);

/* The library's words, with the options of TLS by the names that the user has for them: --tls-ca-file, unless it was
 * given in the URL as tls_ca_file. In new memory; NULL without. */
char *tls_complaint(const char *message);

/* The key of a name as a template makes it, which may be NULL; in new memory, NULL without. */
char *key_of_template(const char *template, const char *name);

/* The last place of a byte in a text of that size; NULL without one. */
char *find_last(const char *text, char byte, size_t size);

/* Sets a variable of the environment, or unsets it if the text is NULL; false without memory. */
bool set_variable(const char *name, const char *text);

/* What read_duration takes at most: nine years and a half, as the library takes ten. */
enum { SECONDS_MAX = 300000000 };

/* A duration as milliseconds, from `low_ms` to `high` seconds: seconds with a fraction, or a number and one of ms, s,
 * m, h and d; false after a complaint that names the option. */
bool read_duration(const char *option, const char *text, int64_t low_ms, int high, int64_t *ms_out);

/* A whole number in a range; false after a complaint. */
bool read_number(const char *option, const char *text, long low, long high, int *number_out);

/* A kind as options name it: "permit-semaphore". Valid until the next call. */
const char *kind_option(int kind);

/* One of the kinds (enum redlatch_kind) that it may be, by its name; false after a complaint. */
bool read_kind(const char *option, const char *text, bool (*may_be)(int kind), int *kind_out);

/* Ends a command that has printed: STATUS_OUTPUT if standard output did not take it, else `exit_status`. */
int finish_output(int exit_status);

#endif
