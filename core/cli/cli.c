/* Options and complaints of all commands.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "found.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int complain(int exit_status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *message = NULL;
    int size = vasprintf(&message, format, arguments);
    va_end(arguments);
    char *shown = size < 0 ? NULL : text_shown(message, (size_t)size, 0, &(int){0});
    fprintf(stderr, "redlatch: %s\n", shown ? shown : "out of memory");
    free(shown);
    if (size >= 0) {
        free(message);
    }
    return exit_status;
}

/* Misuse is the user's, a failing system this machine's; whatever else the server or the way to it. */
static int exit_status_of(int status) {
    if (status == REDLATCH_TIMEOUT) {
        return STATUS_NOT_OBTAINED;
    }
    if (status == REDLATCH_LOST || status == REDLATCH_NOT_OWNED) {
        return STATUS_LOST;
    }
    if (status <= -200 && status > -300) {
        return STATUS_USAGE;
    }
    if (status == REDLATCH_WRONG_TYPE) { /* which no repetition will mend */
        return STATUS_NO_LOCK;
    }
    return status <= -500 ? STATUS_SYSTEM : STATUS_UNREACHABLE;
}

int complain_of(int status) {
    return complain(exit_status_of(status), "%s", redlatch_last_error());
}

int complain_of_wait(int status) {
    bool away = status == REDLATCH_UNREACHABLE || status == REDLATCH_NO_REPLY;
    return away ? complain(exit_status_of(status), "gave up waiting, the server is away: %s", redlatch_last_error())
                : complain_of(status);
}

bool take_place_option(struct place *place, int letter, const char *command, const char *usage, int *status_out) {
    switch (letter) {
    case 'u':
        place->url = optarg;
        return true;
    case OPTION_PREFIX:
        place->prefix = optarg;
        return true;
    case 'h':
        fputs(usage, stdout);
        *status_out = finish_output(STATUS_GOOD);
        return false;
    default: /* getopt_long has said what is wrong */
        *status_out = complain(STATUS_USAGE, "see: redlatch %s --help", command);
        return false;
    }
}

const char *only_name(int argc, char **argv, const char *command) {
    if (argc - optind != 1) {
        complain(STATUS_USAGE, "%s: got %d operands: expected one, the name of a lock", command, argc - optind);
        return NULL;
    }
    return argv[optind];
}

int open_client(const struct place *place, const redlatch_client_options *own, redlatch_client **client_out) {
    redlatch_client_options options;
    redlatch_client_options_init(&options, sizeof options);
    if (own) {
        options = *own;
    }
    if (place->prefix) {
        options.name_prefix = place->prefix;
        options.name_prefix_size = strlen(place->prefix);
    }
    return redlatch_client_open(place->url, &options, client_out);
}

int connect_client(const struct place *place, redlatch_client **client_out) {
    int status = open_client(place, NULL, client_out);
    return status == REDLATCH_OK ? STATUS_GOOD : complain_of(status);
}

const char *place_url(const struct place *place) {
    const char *environment = getenv("REDIS_URL");
    return place->url ? place->url : environment && *environment ? environment : "redis://127.0.0.1:6379/0";
}

bool read_seconds(const char *option, const char *text, int64_t low_ms, int high, int64_t *ms_out) {
    char *end;
    errno = 0;
    double seconds = strtod(text, &end);
    if (end == text || *end || errno || !isfinite(seconds) || seconds < 0 || seconds > high ||
        ceil(seconds * 1000) < (double)low_ms) {
        complain(STATUS_USAGE, "%s is '%s': expected seconds, from %g to %d", option, text, (double)low_ms / 1000,
                 high);
        return false;
    }
    *ms_out = (int64_t)ceil(seconds * 1000);
    return true;
}

bool read_number(const char *option, const char *text, long low, long high, int *number_out) {
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (end == text || *end || errno || number < low || number > high) {
        complain(STATUS_USAGE, "%s is '%s': expected a number from %ld to %ld", option, text, low, high);
        return false;
    }
    *number_out = (int)number;
    return true;
}

int finish_output(int exit_status) {
    if (fflush(stdout) != 0 || ferror(stdout)) {
        return complain(STATUS_OUTPUT, "standard output: %s", strerror(errno));
    }
    return exit_status;
}
