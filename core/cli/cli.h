/* What the commands of `redlatch` share: exit statuses, complaints, options that all of them take.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_H
#define CLI_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

#include "redlatch.h"

/* Exit statuses. 64 to 74 have their meanings of sysexits.h, those from 126 on have theirs of shells. */
enum {
    STATUS_GOOD = 0,
    STATUS_NOT_OBTAINED = 1,
    STATUS_WARNING = 1, /* of `doctor`, as the next one */
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

/* The commands. Each returns its exit status. */
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

/* The options that every command takes: the server, how to log in, and the prefix of names. */
struct server_options {
    const char *url;
    const char *prefix;
    const char *password_file;
    const char *tls[TLS_COUNT]; /* in the order of SERVER_OPTIONS; NULL if not given */
};

/* What next_option returns for options that have no short form. */
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

/* Works as getopt_long, but after a mistake prints a complaint, with unprintable bytes escaped, and returns '?'.
 * `letters` must begin with ":" or "+:". */
int next_option(int argc, char **argv, const char *letters, const struct option *options, const char *command);

/* Stores one of SERVER_OPTIONS in `server`. Returns false if the command is to exit with *status_out: after --help, or
 * if next_option has complained. */
bool take_server_option(struct server_options *server, int letter, const char *usage, int *status_out);

/* Returns the only operand of a command that takes a name. Returns NULL after a complaint. */
const char *only_name(int argc, char **argv, const char *command);

/* Prints a message on standard error and returns `exit_status`. Bytes that cannot be shown are printed as \xNN. */
int complain(int exit_status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints a message as `complain` does. */
void notice(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Complains of a failed call of the library with its error text. Adds advice on a second line if there is any. Returns
 * the exit status for `status`. */
int complain_of(int status);

/* The name of the command, for messages. NULL before it is known. */
void set_command(const char *name);
const char *current_command(void);

/* nearest.c: returns the word that `typed` was probably meant to be, or NULL if none is near. `word` returns the word
 * of an index, and NULL behind the last. */
const char *nearest_word(const char *typed, const char *(*word)(const void *words, size_t index), const void *words);

/* advice.c: returns what to do about a failed call. Returns NULL if the error text is enough. */
const char *advice_for(const struct server_options *server, int status, const char *message);

/* As complain_of, for a call that waited. If the server is unreachable, the complaint begins with that. */
int complain_of_wait(int status);

/* Opens the client of a command. `own` are client options of the command, or NULL. Returns an exit status, after a
 * complaint unless it is STATUS_GOOD. */
int open_client(const struct server_options *server, const redlatch_client_options *own, redlatch_client **client_out);

/* Returns the options that open_client was last called with. Before the first call all of them are NULL. */
const struct server_options *server_opened(void);

/* Returns the URL of the server: the given one, else REDIS_URL, else redis://127.0.0.1:6379/0. */
const char *server_url(const struct server_options *server);

/* Returns the URL without the passwords in it, also without that of sentinels. In new memory, or NULL if there is
 * none. */
char *url_without_password(const char *url);

/* Sets the environment variables of CMD that name the server of `run`. They have no secrets: a password is read from
 * where `run` read it, unless that was the command line. Returns false if there was no memory. */
bool server_export(const struct server_options *server);

/* server_of_run returns the server of the `run` around this command, by its environment variables; options in `given`
 * come first. server_is_of_run returns whether `server` is that server. */
struct server_options server_of_run(const struct server_options *given);
bool server_is_of_run(const struct server_options *server);

/* Returns the URL with `folder` before the relative paths of its options, so that they name the same files in every
 * directory. In new memory, or NULL if there is none. */
char *tls_url_from(const char *url, const char *folder);

/* The options of TLS. tls_fill stores them in the options of a client. tls_export sets them as environment variables of
 * CMD, and returns false if there was no memory. tls_of_run reads from those variables what was not given. */
void tls_fill(const struct server_options *server, redlatch_client_options *options);
bool tls_export(const struct server_options *server);
void tls_of_run(struct server_options *server);

/* Returns an error text of the library with the names of TLS options as the user knows them: --tls-ca-file, or
 * tls_ca_file if it was given in the URL. In new memory, or NULL if there is none. */
char *tls_complaint(const char *message);

/* Returns the key that `template` makes of a name; if `template` is NULL, the name. In new memory, or NULL if there is
 * none. */
char *key_of_template(const char *template, const char *name);

/* Returns the last position of a byte in a text of that size. Returns NULL if there is none. */
char *find_last(const char *text, char byte, size_t size);

/* Sets an environment variable, or unsets it if `text` is NULL. Returns false if there was no memory. */
bool set_variable(const char *name, const char *text);

/* The longest duration of an option: nine and a half years. The library takes ten. */
enum { SECONDS_MAX = 300000000 };

/* Reads a duration: seconds, which may have a fraction, or a number followed by ms, s, m, h or d. It must be from
 * `low_ms` milliseconds to `high` seconds. Returns false after a complaint that names the option. */
bool read_duration(const char *option, const char *text, int64_t low_ms, int high, int64_t *ms_out);

/* Reads a whole number from `low` to `high`. Returns false after a complaint. */
bool read_number(const char *option, const char *text, long low, long high, int *number_out);

/* Returns the name of a kind as options have it, such as "permit-semaphore". It is valid until the next call. */
const char *kind_option(int kind);

/* Reads the name of a kind (enum redlatch_kind) for which `may_be` returns true. Returns false after a complaint. */
bool read_kind(const char *option, const char *text, bool (*may_be)(int kind), int *kind_out);

/* Flushes standard output at the end of a command. Returns STATUS_OUTPUT after a complaint if that or an earlier write
 * failed, else `exit_status`. */
int finish_output(int exit_status);

#endif
