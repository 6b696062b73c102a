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

static void print_message(const char *format, va_list arguments) {
    char *message = NULL;
    int size = vasprintf(&message, format, arguments);
    char *shown = size < 0 ? NULL : text_shown(message, (size_t)size, 0, &(int){0});
    fprintf(stderr, "redlatch: %s\n", shown ? shown : "out of memory");
    free(shown);
    if (size >= 0) {
        free(message);
    }
}

int complain(int exit_status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_message(format, arguments);
    va_end(arguments);
    return exit_status;
}

void notice(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_message(format, arguments);
    va_end(arguments);
}

/* Returns the exit status for a status of the library. Misuse is the user's fault, and from -500 down the fault is this
 * machine's. All others are the fault of the server or the network. */
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
    if (status == REDLATCH_WRONG_TYPE) { /* not transient: the key has other data */
        return STATUS_NO_LOCK;
    }
    return status <= -500 ? STATUS_SYSTEM : STATUS_UNREACHABLE;
}

static const char *command_name;

void set_command(const char *name) {
    command_name = name;
}

const char *current_command(void) {
    return command_name;
}

/* Returns the text of a NO_PERMISSION in the words of the command line: it begins with the command instead of the
 * library's verb, and names lack the prefix. In new memory, or NULL if there is none. */
static char *in_typed_words(const char *message) {
    const char *prefix = server_opened()->prefix ? server_opened()->prefix : "";
    const char *quote = strchr(message, '"');
    char *text = NULL;
    size_t size;
    FILE *out = quote && command_name ? open_memstream(&text, &size) : NULL;
    if (!out) {
        return strdup(message);
    }
    fprintf(out, "%s ", command_name);
    for (const char *at = quote; *at;) {
        bool begins = *at == '"' && *prefix && strncmp(at + 1, prefix, strlen(prefix)) == 0;
        putc(*at, out);
        at += begins ? 1 + strlen(prefix) : 1;
    }
    return fclose(out) == 0 ? text : NULL;
}

static int complain_behind(const char *words, int status) {
    char *message = tls_complaint(redlatch_last_error());
    char *error = message && status == REDLATCH_NO_PERMISSION ? in_typed_words(message) : NULL;
    const char *shown = error ? error : message ? message : "out of memory";
    int exit_status = complain(exit_status_of(status), "%s%s", words, shown);
    const char *advice = message ? advice_for(server_opened(), status, message) : NULL;
    if (advice) {
        notice("%s", advice);
    }
    free(error);
    free(message);
    return exit_status;
}

int complain_of(int status) {
    return complain_behind("", status);
}

int complain_of_wait(int status) {
    bool away = status == REDLATCH_UNREACHABLE || status == REDLATCH_NO_REPLY;
    return complain_behind(away ? "gave up waiting, the server is unreachable: " : "", status);
}

static const char *option_name(const void *options, size_t index) {
    return ((const struct option *)options)[index].name;
}

/* Complains of a long option, such as "--wai" or "--wai=5", that does not exist or abbreviates several. */
static void complain_of_option(const char *command, const char *behind, const char *argument,
                               const struct option *options) {
    char typed[64];
    size_t size = strcspn(argument + 2, "=");
    snprintf(typed, sizeof typed, "%.*s", (int)size, argument + 2);
    int begins = 0;
    for (size_t i = 0; options[i].name; i++) {
        begins += strncmp(options[i].name, typed, strlen(typed)) == 0;
    }
    const char *nearest = begins ? NULL : nearest_word(typed, option_name, options);
    notice("%s%s%s option --%s%s%s%s", command, behind, begins ? "several options begin with the" : "there is no",
           typed, nearest ? ": did you mean --" : "", nearest ? nearest : "", nearest ? "?" : "");
}

int next_option(int argc, char **argv, const char *letters, const struct option *options, const char *command) {
    opterr = 0; /* getopt's message would have the argument unescaped */
    int letter = getopt_long(argc, argv, letters, options, NULL);
    if (letter != '?' && letter != ':') {
        return letter;
    }
    const char *argument = argv[optind - 1]; /* the option, if it is a long one */
    char short_option[] = {'-', (char)optopt, '\0'};
    const char *behind = *command ? ": " : "";
    if (letter == ':') {
        bool is_long = strncmp(argument, "--", 2) == 0;
        notice("%s%s%s without a value: expected one after it", command, behind, is_long ? argument : short_option);
    } else if (optopt == 0) {
        complain_of_option(command, behind, argument, options);
    } else if (optopt < OPTION_PREFIX && !strchr(letters, optopt)) {
        notice("%s%sthere is no option %s", command, behind, short_option);
    } else {
        notice("%s%s%s: expected no value", command, behind, argument);
    }
    notice("see: redlatch%s%s --help", *command ? " " : "", command);
    return '?';
}

const char *only_name(int argc, char **argv, const char *command) {
    if (argc - optind > 1) {
        complain(STATUS_USAGE, "%s: got %d operands, '%s' and '%s'%s: expected one, the name of a lock", command,
                 argc - optind, argv[optind], argv[optind + 1], argc - optind > 2 ? " and more" : "");
        return NULL;
    }
    if (argc == optind) {
        complain(STATUS_USAGE, "%s: got no operand: expected one, the name of a lock", command);
        return NULL;
    }
    if (!argv[optind][0]) {
        complain(STATUS_USAGE, "%s: the name is empty: expected 1 to %d bytes", command, REDLATCH_NAME_SIZE_MAX);
        return NULL;
    }
    return argv[optind];
}

/* Returns the milliseconds of the unit behind a number; no unit means seconds. Returns 0 for an unknown unit. */
static double unit_ms(const char *unit) {
    static const struct {
        const char *name;
        double ms;
    } units[] = {{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(unit, units[i].name) == 0) {
            return units[i].ms;
        }
    }
    return 0;
}

bool read_duration(const char *option, const char *text, int64_t low_ms, int high, int64_t *ms_out) {
    char *end;
    errno = 0;
    double number = strtod(text, &end);
    double unit = unit_ms(end);
    double ms = ceil(number * unit);
    if (end == text || unit == 0 || errno || !isfinite(number) || number < 0 || ms > high * 1000.0 ||
        ms < (double)low_ms) {
        complain(STATUS_USAGE, "%s is '%s': expected seconds, or a number with ms, s, m, h or d, from %g to %d s",
                 option, text, (double)low_ms / 1000, high);
        return false;
    }
    *ms_out = (int64_t)ms;
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

char *find_last(const char *text, char byte, size_t size) {
    while (size > 0 && text[size - 1] != byte) {
        size--;
    }
    return size > 0 ? (char *)text + size - 1 : NULL;
}

int finish_output(int exit_status) {
    if (fflush(stdout) != 0 || ferror(stdout)) {
        return complain(STATUS_OUTPUT, "standard output: %s", strerror(errno));
    }
    return exit_status;
}
