/* redlatch wait: waits until a lock is free, a semaphore has a permit or a latch is open, without taking it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "found.h"

static const char usage[] =
    "usage: redlatch wait [OPTION...] NAME\n"
    "\n"
    "Waits until nobody holds the lock NAME. When it returns, somebody else may hold it already: to do something\n"
    "under the lock, use redlatch run. Status: 0 it was free, 1 it was not free in time, 65 the key is no lock.\n"
    "\n"
    "  -w, --wait TIME     waits at most this long; 0 checks once\n"
    "  -q, --quiet         prints nothing if it was not free in time\n"
    "      --kind KIND     the kind of a NAME that is not a lock: semaphore, until it has a permit; permit-semaphore;\n"
    "                      or latch, until it is open. Without it a number above zero is waited for as a latch\n"
    "  -u, --url URL       the server; default: REDIS_URL, or redis://127.0.0.1:6379/0\n"
    "      --password-file FILE  its first line is the password; default: the URL's, or REDISCLI_AUTH\n"
    "      --tls-ca-file FILE  CA certificates for a rediss URL; `man redlatch` has the options of TLS\n"
    "      --prefix TEXT   the prefix of the name\n"
    "  -h, --help          prints this text\n";

static const struct option long_options[] = {
    {"wait", required_argument, NULL, 'w'},
    {"timeout", required_argument, NULL, 'w'},
    {"kind", required_argument, NULL, OPTION_KIND},
    {"quiet", no_argument, NULL, 'q'},
    SERVER_OPTIONS,
};

static bool is_no_lock(int kind) {
    return kind == REDLATCH_SEMAPHORE || kind == REDLATCH_PERMIT_SEMAPHORE || kind == REDLATCH_LATCH;
}

/* How long a semaphore is waited for between two checks of its count. */
static const int64_t RECHECK_MS = 5000;

/* Returns the count that a name is, or 0 if it is none. With `bare`, the count of a permit semaphore is none. A failed
 * inspection is not reported, as the wait itself fails, too. */
static int64_t number_of(redlatch_client *client, const char *name, bool bare) {
    redlatch_report *report;
    if (redlatch_client_inspect(client, name, strlen(name), NULL, &report) != REDLATCH_OK) {
        return 0;
    }
    struct found found;
    bool good = found_read(&found, report) && found_is_count(&found);
    int64_t number = good && !(bare && found.facts.detected_kind != REDLATCH_DETECTED_COUNT) ? found.facts.count : 0;
    redlatch_report_free(report);
    return number;
}

static int wait_for_latch(redlatch_client *client, const char *name, int64_t wait_ms) {
    redlatch_latch *latch;
    int status = redlatch_latch_new(client, name, strlen(name), &latch);
    if (status == REDLATCH_OK) {
        status = redlatch_latch_wait(latch, wait_ms, NULL);
        redlatch_latch_free(latch);
    }
    return status;
}

/* Inspects a semaphore. Returns STATUS_NOT_OBTAINED if it has no permit, and STATUS_GOOD if it has one. Otherwise
 * returns another exit status after a complaint. */
static int query_semaphore(redlatch_client *client, const char *name) {
    struct found found;
    int exit_status = found_inspect(client, name, NULL, &found);
    if (exit_status != STATUS_GOOD) {
        return exit_status;
    }
    if (found.facts.detected_kind == REDLATCH_DETECTED_NOTHING) {
        exit_status = complain(STATUS_NO_LOCK, "there is no semaphore \"%s\": expected one that exists", name);
    } else if (!found_is_count(&found)) {
        exit_status = complain(STATUS_NO_LOCK, "\"%s\" is no semaphore (%s, a %s)", name,
                               redlatch_detected_kind_name(found.facts.detected_kind), found.facts.type);
    } else if (found.facts.count <= 0) {
        exit_status = STATUS_NOT_OBTAINED;
    }
    redlatch_report_free(found.report);
    return exit_status;
}

/* redlatch_client_wait_free waits for a permit if the count is zero. If the semaphore got a permit after
 * query_semaphore, it takes the count for a latch and waits for zero. So the count is checked again every
 * RECHECK_MS. */
static int wait_for_permit(redlatch_client *client, const char *name, int64_t wait_ms) {
    redlatch_wait *wait;
    int status = redlatch_client_begin_wait_free(client, name, strlen(name), wait_ms, NULL, &wait);
    if (status != REDLATCH_OK) {
        return status;
    }
    do {
        status = redlatch_wait_continue(wait, RECHECK_MS, NULL);
    } while (status == REDLATCH_AGAIN && number_of(client, name, false) <= 0);
    redlatch_wait_drop(wait);
    return status == REDLATCH_AGAIN ? REDLATCH_OK : status;
}

static int exit_status_of_wait(int status) {
    return status == REDLATCH_OK        ? STATUS_GOOD
           : status == REDLATCH_TIMEOUT ? STATUS_NOT_OBTAINED
                                        : complain_of_wait(status);
}

static int wait_for(redlatch_client *client, const char *name, int kind, int64_t wait_ms) {
    if (kind == REDLATCH_LATCH) {
        return exit_status_of_wait(wait_for_latch(client, name, wait_ms));
    }
    if (kind == REDLATCH_SEMAPHORE || kind == REDLATCH_PERMIT_SEMAPHORE) {
        int exit_status = query_semaphore(client, name);
        bool waits = exit_status == STATUS_NOT_OBTAINED && wait_ms != 0;
        return waits ? exit_status_of_wait(wait_for_permit(client, name, wait_ms)) : exit_status;
    }
    int64_t number = number_of(client, name, true);
    if (number > 0) {
        notice("\"%s\" is a number, %lld: waited for as a latch, until it is zero; --kind names its kind", name,
               (long long)number);
    }
    return exit_status_of_wait(redlatch_client_wait_free(client, name, strlen(name), wait_ms, NULL));
}

/* Prints who holds the name that was waited for in vain. */
static void say_what_is_there(redlatch_client *client, const char *name, int64_t wait_ms) {
    char wait[32];
    char gave_up[64] = "";
    text_duration(wait_ms, wait);
    if (wait_ms) {
        snprintf(gave_up, sizeof gave_up, "gave up after %s: ", wait);
    }
    if (!found_say_holder(client, name, NULL, gave_up)) {
        notice("%s\"%s\" was not free", gave_up, name);
    }
}

int command_wait(int argc, char **argv) {
    struct server_options server = {.url = NULL};
    int64_t wait_ms = REDLATCH_FOREVER;
    bool quiet = false;
    int kind = REDLATCH_MUTEX; /* without --kind: the kind that the data show */
    int exit_status;
    int letter;
    while ((letter = next_option(argc, argv, ":w:qu:h", long_options, "wait")) != -1) {
        if (letter == 'w') {
            if (!read_duration("-w", optarg, 0, SECONDS_MAX, &wait_ms)) {
                return STATUS_USAGE;
            }
        } else if (letter == 'q') {
            quiet = true;
        } else if (letter == OPTION_KIND) {
            if (!read_kind("--kind", optarg, is_no_lock, &kind)) {
                return STATUS_USAGE;
            }
        } else if (!take_server_option(&server, letter, usage, &exit_status)) {
            return exit_status;
        }
    }
    const char *name = only_name(argc, argv, "wait");
    if (!name) {
        return STATUS_USAGE;
    }
    redlatch_client *client;
    exit_status = open_client(&server, NULL, &client);
    if (exit_status == STATUS_GOOD) {
        exit_status = wait_for(client, name, kind, wait_ms);
        if (exit_status == STATUS_NOT_OBTAINED && !quiet) {
            say_what_is_there(client, name, wait_ms);
        }
        redlatch_client_free(client);
    }
    return exit_status;
}
