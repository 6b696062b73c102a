/* redlatch top: the locks of a server, as they change.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "top.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nodes.h"
#include "run.h"
#include "top_screen.h"

static const char usage[] =
    "usage: redlatch top [OPTION...] [PATTERN]\n"
    "\n"
    "Shows the locks whose names match PATTERN on a terminal, those first that change hands most: holders, hosts,\n"
    "leases, connections that wait for a release, and how often the holder changes. Of the locks on the screen the\n"
    "holder is asked for ten times a second, so of changes in between one is seen; of a fenced lock its tokens tell\n"
    "all. At most 2000 keys are looked through for each refresh. The key q ends it.\n"
    "\n"
    "  -d, --delay TIME   the time between two refreshes (1)\n"
    "  -u, --url URL      the server; default: REDIS_URL, or redis://127.0.0.1:6379/0\n"
    "      --password-file FILE  its first line is the password; default: the URL's, or REDISCLI_AUTH\n"
    "      --tls-ca-file FILE  CA certificates for a rediss URL; `man redlatch` has the options of TLS\n"
    "      --prefix TEXT  only names that begin with TEXT, shown without it\n"
    "  -h, --help         prints this text\n";

static const struct option long_options[] = {
    {"delay", required_argument, NULL, 'd'},
    SERVER_OPTIONS,
};

/* A page has about a hundred keys. */
enum { PAGES_PER_REFRESH = 20, SAMPLE_MS = 100 };

struct top {
    redlatch_client *client;
    redlatch_scan *scan; /* NULL: the next walk has not begun */
    bool under_way;      /* a node has replied to the walk */
    const char *pattern;
    const char *prefix;
    struct top_locks locks;
    struct top_lock **shown; /* the locks on the screen; invalid once `locks` has changed */
    size_t shown_count;
    char *problem;
};

/* Keeps an error text for the screen, and ends the walk. The next refresh begins a new one. */
static void note_problem(struct top *top, const char *problem) {
    free(top->problem);
    top->problem = strdup(problem);
    redlatch_scan_free(top->scan);
    top->scan = NULL;
}

/* Continues the walk over the keys, by some pages. Returns an error text, or NULL if all went well. */
static const char *walk(struct top *top) {
    for (int pages = 0; pages < PAGES_PER_REFRESH;) {
        redlatch_event event;
        if (!top->scan &&
            redlatch_scan_new(top->client, top->pattern, strlen(top->pattern), &top->scan) != REDLATCH_OK) {
            return redlatch_last_error();
        }
        pages += !redlatch_scan_is_ready(top->scan);
        found_scan_step(top->client, top->scan, &event);
        if (event.status == REDLATCH_OK && event.report && !top_take(&top->locks, event.report)) {
            return "no memory for the locks";
        }
        if (event.status == REDLATCH_OK && !event.report) {
            redlatch_scan_free(top->scan);
            top->scan = NULL;
            top->under_way = false;
            top_end_pass(&top->locks, true);
            return NULL;
        }
        if (event.status != REDLATCH_OK && event.status != REDLATCH_AGAIN) {
            return event.message; /* of an event, redlatch_last_error has nothing */
        }
        top->under_way = true;
    }
    return NULL;
}

/* Returns the sum of all nodes. It is negative if a node does not report its number. */
static double commands_per_second(struct top *top) {
    static char info[1 << 16];
    const char *words[] = {"INFO", "stats"};
    struct nodes nodes;
    double sum = nodes_load(&nodes, top->client) == REDLATCH_OK ? 0 : -1;
    for (size_t i = 0; i < nodes.count && sum >= 0; i++) {
        int status = redlatch_client_command(top->client, nodes.node[i], words, 2, info, sizeof info, NULL);
        const char *found = status == REDLATCH_OK ? strstr(info, "instantaneous_ops_per_sec:") : NULL;
        sum = found ? sum + strtod(strchr(found, ':') + 1, NULL) : -1;
    }
    nodes_free(&nodes);
    return sum;
}

static void refresh(struct top *top, double seconds) {
    int rows;
    int columns;
    screen_size(&rows, &columns);
    hosts_free(&top->locks.hosts);
    hosts_load(&top->locks.hosts, top->client);
    free(top->shown);
    const char *problem = walk(top);
    if (problem && top->under_way) {
        top_end_pass(&top->locks, false);
        top->under_way = false;
    }
    top_age(&top->locks, seconds);
    top->shown = top_choose(&top->locks, rows > 3 ? (size_t)rows - 3 : 1, &top->shown_count);
    if (!problem) {
        free(top->problem);
        top->problem = NULL;
        top_count_waiting(top->client, top->prefix, top->shown, top->shown_count);
    } else {
        note_problem(top, problem);
    }
    struct screen_head head = {.url = redlatch_client_url(top->client),
                               .problem = top->problem,
                               .cluster = nodes_are_of_cluster(top->client),
                               .commands_per_second = problem ? -1 : commands_per_second(top)};
    for (size_t i = 0; i < top->locks.count; i++) {
        head.held += top->locks.lock[i].holders > 0;
    }
    screen_draw(&head, &top->locks, top->shown, top->shown_count);
}

/* Refreshes the screen until a key or a signal ends it. */
static void watch(struct top *top, int64_t delay_ms) {
    int64_t refreshed = clock_ms() - delay_ms;
    int key = 0;
    while (key != 'q' && key >= 0) {
        int64_t now = clock_ms();
        if (now - refreshed >= delay_ms || key == ' ') {
            refresh(top, (double)(now - refreshed > 0 ? now - refreshed : 1) / 1000);
            refreshed = now;
        } else if (!top->problem && top->shown_count) {
            top_sample(&top->locks, top->client, top->prefix, top->shown, top->shown_count);
        }
        int64_t left = refreshed + delay_ms - clock_ms();
        key = screen_key((int)(left < 0 ? 0 : left < SAMPLE_MS ? left : SAMPLE_MS));
    }
}

static int show(struct top *top, int64_t delay_ms) {
    if (!screen_open()) {
        return complain(STATUS_USAGE, "top: standard input and output are no terminal: expected one; redlatch list"
                                      " --json prints the locks");
    }
    watch(top, delay_ms);
    screen_close();
    int number = screen_ended_by();
    return number ? STATUS_BY_SIGNAL + number : STATUS_GOOD;
}

int command_top(int argc, char **argv) {
    struct server_options server = {.url = NULL};
    struct top top = {.pattern = "*"};
    int64_t delay_ms = 1000;
    int exit_status;
    int letter;
    while ((letter = next_option(argc, argv, ":d:u:h", long_options, "top")) != -1) {
        if (letter == 'd') {
            if (!read_duration("-d", optarg, 100, 3600, &delay_ms)) {
                return STATUS_USAGE;
            }
        } else if (!take_server_option(&server, letter, usage, &exit_status)) {
            return exit_status;
        }
    }
    if (argc - optind > 1) {
        return complain(STATUS_USAGE, "top: got %d operands: expected at most one, a pattern", argc - optind);
    }
    top.pattern = argc > optind ? argv[optind] : top.pattern;
    top.prefix = server.prefix ? server.prefix : "";
    exit_status = open_client(&server, NULL, &top.client);
    if (exit_status != STATUS_GOOD) {
        return exit_status;
    }
    exit_status = show(&top, delay_ms);
    redlatch_scan_free(top.scan);
    redlatch_client_free(top.client);
    top_free(&top.locks);
    free(top.shown);
    free(top.problem);
    return exit_status;
}
