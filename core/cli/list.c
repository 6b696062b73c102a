/* redlatch list: the locks on a server.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "found.h"

static const char usage[] =
    "usage: redlatch list [OPTION...] [PATTERN]\n"
    "\n"
    "Lists the locks whose names match PATTERN (* ? [a-z], as in Redis), those of Redisson included.\n"
    "\n"
    "      --wide         with the node of each lock, host:port: in a cluster one of the masters\n"
    "      --json         prints an array of objects instead of a table\n"
    "  -u, --url URL      the server; default: REDIS_URL, or redis://127.0.0.1:6379/0\n"
    "      --password-file FILE  its first line is the password; default: the URL's, or REDISCLI_AUTH\n"
    "      --tls-ca-file FILE  CA certificates for a rediss URL; `man redlatch` has the options of TLS\n"
    "      --prefix TEXT  only names that begin with TEXT, shown without it\n"
    "  -h, --help         prints this text\n";

static const struct option long_options[] = {
    {"wide", no_argument, NULL, OPTION_WIDE},
    {"json", no_argument, NULL, OPTION_JSON},
    SERVER_OPTIONS,
};

struct locks {
    struct found *found;
    size_t count;
    size_t capacity;
    struct hosts hosts;
};

static void free_locks(struct locks *locks) {
    for (size_t i = 0; i < locks->count; i++) {
        redlatch_report_free(locks->found[i].report);
    }
    free(locks->found);
    hosts_free(&locks->hosts);
}

/* Adds a report, which `locks` frees. Returns false after a complaint. */
static bool add(struct locks *locks, redlatch_report *report) {
    if (locks->count == locks->capacity) {
        size_t capacity = locks->capacity ? 2 * locks->capacity : 64;
        struct found *found = realloc(locks->found, capacity * sizeof *found);
        if (!found) {
            redlatch_report_free(report);
            notice("out of memory");
            return false;
        }
        locks->found = found;
        locks->capacity = capacity;
    }
    return found_read(&locks->found[locks->count++], report);
}

static int compare(const void *one, const void *other) {
    const struct found *first = one;
    const struct found *second = other;
    uint64_t size = first->facts.name_size < second->facts.name_size ? first->facts.name_size : second->facts.name_size;
    int order = memcmp(first->name, second->name, (size_t)size);
    if (order != 0) {
        return order;
    }
    return (first->facts.name_size > second->facts.name_size) - (first->facts.name_size < second->facts.name_size);
}

/* Sorts the locks by name and removes duplicates, since SCAN may return a key twice. */
static void sort(struct locks *locks) {
    if (locks->count == 0) {
        return;
    }
    qsort(locks->found, locks->count, sizeof *locks->found, compare);
    size_t kept = 1;
    for (size_t i = 1; i < locks->count; i++) {
        if (compare(&locks->found[i], &locks->found[kept - 1]) == 0) {
            redlatch_report_free(locks->found[i].report);
        } else {
            locks->found[kept++] = locks->found[i];
        }
    }
    locks->count = kept;
}

/* Collects all locks that match. Returns the exit status. */
static int collect(redlatch_client *client, const char *pattern, struct locks *locks) {
    redlatch_scan *scan;
    int status = redlatch_scan_new(client, pattern, strlen(pattern), &scan);
    if (status != REDLATCH_OK) {
        return complain_of(status);
    }
    int exit_status = STATUS_GOOD;
    redlatch_report *report = NULL;
    while (exit_status == STATUS_GOOD && (status = redlatch_scan_next(scan, &report)) == REDLATCH_OK && report) {
        exit_status = add(locks, report) ? STATUS_GOOD : STATUS_SYSTEM;
    }
    if (status != REDLATCH_OK) {
        exit_status = complain_of(status);
    }
    redlatch_scan_free(scan);
    sort(locks);
    return exit_status;
}

/* Looks up the locations of parties that have none. That takes one more command to each node, and none if there is no
 * such party. */
static void find_hosts(redlatch_client *client, struct locks *locks) {
    bool wanted = false;
    redlatch_party party;
    for (size_t i = 0; i < locks->count && !wanted; i++) {
        for (uint64_t j = 0; found_party(&locks->found[i], j, &party) && !wanted; j++) {
            wanted = hosts_may_know(&party);
        }
    }
    if (wanted) {
        hosts_load(&locks->hosts, client);
    }
    for (size_t i = 0; i < locks->count; i++) {
        locks->found[i].hosts = &locks->hosts;
    }
}

int command_list(int argc, char **argv) {
    struct server_options server = {.url = NULL};
    bool as_json = false;
    bool wide = false;
    int exit_status;
    int letter;
    while ((letter = next_option(argc, argv, ":u:h", long_options, "list")) != -1) {
        if (letter == OPTION_JSON) {
            as_json = true;
        } else if (letter == OPTION_WIDE) {
            wide = true;
        } else if (!take_server_option(&server, letter, usage, &exit_status)) {
            return exit_status;
        }
    }
    if (argc - optind > 1) {
        return complain(STATUS_USAGE, "list: got %d operands: expected at most one, a pattern", argc - optind);
    }
    redlatch_client *client;
    exit_status = open_client(&server, NULL, &client);
    if (exit_status != STATUS_GOOD) {
        return exit_status;
    }
    struct locks locks = {.found = NULL};
    exit_status = collect(client, argc > optind ? argv[optind] : "*", &locks);
    if (exit_status == STATUS_GOOD) {
        find_hosts(client, &locks);
    }
    redlatch_client_free(client);
    if (exit_status == STATUS_GOOD && as_json) {
        json_print_all(locks.found, locks.count);
    } else if (exit_status == STATUS_GOOD) {
        table_print(locks.found, locks.count, wide);
    }
    free_locks(&locks);
    return exit_status == STATUS_GOOD ? finish_output(STATUS_GOOD) : exit_status;
}
