/* redlatch complete: prints the names that a shell offers for what is typed. They are those of REDLATCH_COMPLETE, and
 * locks from one page of keys for each of its patterns; without that variable, locks from one page of all keys. It ends
 * within a tenth of a second.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "found.h"
#include "typed.h"

static const char usage[] =
    "usage: redlatch complete WORD...\n"
    "\n"
    "For the completions of shells: prints the names of locks that begin with the last WORD of a command line as\n"
    "it is typed. REDLATCH_COMPLETE has names and patterns (* ? [a-z]), parted by blanks: these names are printed,\n"
    "and the server is asked for one page of the keys that match a pattern. Without it one page of all keys is\n"
    "asked for; if it is empty, nothing. The server is that of the words. It ends after 0.1 s, whatever the server\n"
    "does.\n";

enum { TIME_MAX_US = 90000, PATTERN_MAX = 4096 };

/* The names to print. All are printed at the end: if the time is up before, none is. */
struct names {
    char **name;
    size_t count;
};

/* Ends the program when its time is up. What it has found is not wanted any more. */
static void end_late(int number) {
    (void)number;
    _exit(STATUS_GOOD);
}

static void limit_time(void) {
    struct sigaction action = {.sa_handler = end_late};
    struct itimerval time = {.it_value = {.tv_usec = TIME_MAX_US}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &time, NULL);
}

/* Keeps a name that begins with what is typed, unless it has bytes that cannot be shown, and so cannot be typed. */
static void add_name(struct names *names, const char *name, size_t size, const char *typed) {
    bool fits = size >= strlen(typed) && memcmp(name, typed, strlen(typed)) == 0;
    int width;
    char *shown = fits ? text_shown(name, size, 0, &width) : NULL;
    bool as_it_is = shown && strlen(shown) == size && memcmp(shown, name, size) == 0;
    char **longer = as_it_is ? realloc(names->name, (names->count + 1) * sizeof *longer) : NULL;
    if (longer) {
        names->name = longer;
        names->name[names->count++] = shown;
    } else {
        free(shown);
    }
}

static int compare(const void *one, const void *other) {
    return strcmp(*(char *const *)one, *(char *const *)other);
}

static void print_names(const struct names *names) {
    if (names->count > 0) {
        qsort(names->name, names->count, sizeof *names->name, compare);
    }
    for (size_t i = 0; i < names->count; i++) {
        if (i == 0 || strcmp(names->name[i], names->name[i - 1]) != 0) {
            puts(names->name[i]);
        }
    }
    for (size_t i = 0; i < names->count; i++) {
        free(names->name[i]);
    }
    free(names->name);
}

static void add_report(struct names *names, redlatch_report *report, const char *typed) {
    struct found found;
    if (report && found_read(&found, report)) {
        add_name(names, found.name, (size_t)found.facts.name_size, typed);
    }
    redlatch_report_free(report);
}

/* Adds the locks of one page of the keys that match. Sends one command. */
static void add_page(struct names *names, redlatch_client *client, const char *pattern, const char *typed) {
    redlatch_scan *scan;
    if (redlatch_scan_new(client, pattern, strlen(pattern), &scan) != REDLATCH_OK) {
        return;
    }
    redlatch_event event;
    do {
        found_scan_step(client, scan, &event);
        add_report(names, event.report, typed);
    } while (event.report && redlatch_scan_is_ready(scan));
    redlatch_scan_free(scan);
}

/* Makes a glob that matches what begins with a text. Returns false if it is too long. */
static bool make_pattern(const char *typed, char pattern[PATTERN_MAX]) {
    size_t size = 0;
    for (const char *at = typed; *at; at++) {
        if (size + 4 > PATTERN_MAX) {
            return false;
        }
        if (strchr("*?[]\\", *at)) {
            pattern[size++] = '\\';
        }
        pattern[size++] = *at;
    }
    pattern[size] = '*';
    pattern[size + 1] = '\0';
    return true;
}

/* Adds the names of REDLATCH_COMPLETE, and a page of keys for each pattern in it. Opens the client at the first
 * pattern. */
static void add_configured(struct names *names, const struct typed *typed, const char *configured) {
    redlatch_client *client = NULL;
    char *copy = strdup(configured);
    char *rest = copy;
    char *entry;
    while (copy && (entry = strsep(&rest, " \t\n")) != NULL) {
        bool pattern = strpbrk(entry, "*?[") != NULL;
        if (pattern && !client && open_client(&typed->server, NULL, &client) != STATUS_GOOD) {
            break;
        }
        if (pattern) {
            add_page(names, client, entry, typed->last);
        } else if (*entry) {
            add_name(names, entry, strlen(entry), typed->last);
        }
    }
    redlatch_client_free(client);
    free(copy);
}

static void add_from_server(struct names *names, const struct typed *typed) {
    char pattern[PATTERN_MAX];
    redlatch_client *client;
    if (make_pattern(typed->last, pattern) && open_client(&typed->server, NULL, &client) == STATUS_GOOD) {
        add_page(names, client, pattern, typed->last);
        redlatch_client_free(client);
    }
}

int command_complete(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(usage, stdout);
        return finish_output(STATUS_GOOD);
    }
    limit_time();
    struct typed typed;
    struct names names = {.name = NULL};
    const char *configured = getenv("REDLATCH_COMPLETE");
    bool good = typed_read(&typed, argc - 1, argv + 1);
    if (good && configured) {
        add_configured(&names, &typed, configured);
    } else if (good) {
        add_from_server(&names, &typed);
    }
    print_names(&names);
    typed_free(&typed);
    return finish_output(STATUS_GOOD);
}
