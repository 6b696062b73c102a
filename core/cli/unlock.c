/* redlatch unlock: takes a lock from whoever holds it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "found.h"

static const char usage[] =
    "usage: redlatch unlock --force [OPTION...] NAME\n"
    "\n"
    "Deletes a lock, whoever holds it, notifies its waiters, and prints its holders. A holder continues until it\n"
    "notices, at its next renewal. Status: 0 there was a lock, 3 it was free.\n"
    "\n"
    "      --force        confirms; without it only the holders are printed\n"
    "      --json         prints the lock as it was, as an object\n"
    "  -u, --url URL      the server; default: REDIS_URL, or redis://127.0.0.1:6379/0\n"
    "      --password-file FILE  its first line is the password; default: the URL's, or REDISCLI_AUTH\n"
    "      --tls-ca-file FILE  CA certificates for a rediss URL; `man redlatch` has the options of TLS\n"
    "      --prefix TEXT  the prefix of the name\n"
    "  -h, --help         prints this text\n";

static const struct option long_options[] = {
    {"force", no_argument, NULL, OPTION_FORCE},
    {"json", no_argument, NULL, OPTION_JSON},
    SERVER_OPTIONS,
};

/* The kind of lock by which one of this form is unlocked; 0: none. A read-write lock is tried by its other side,
 * too. */
static int kind_of_detected(int detected_kind) {
    switch (detected_kind) {
    case REDLATCH_DETECTED_MUTEX:
    case REDLATCH_DETECTED_FENCED:
    case REDLATCH_DETECTED_GROUP: /* all its values; who waits for any of them listens where a mutex is told of */
        return REDLATCH_MUTEX;
    case REDLATCH_DETECTED_FAIR:
        return REDLATCH_FAIR; /* the head of its queue is called */
    case REDLATCH_DETECTED_PLAIN:
        return REDLATCH_PLAIN;
    case REDLATCH_DETECTED_READ_WRITE:
        return REDLATCH_WRITE;
    default:
        return 0;
    }
}

static int force(redlatch_client *client, int kind, const char *name, int32_t *released) {
    redlatch_lock *lock;
    int status = redlatch_lock_new(client, kind, name, strlen(name), NULL, &lock);
    if (status == REDLATCH_OK) {
        status = redlatch_lock_force_release(lock, released);
        redlatch_lock_free(lock);
    }
    return status;
}

/* Says each holder by `say`, who is given a holder in words, and how many more there are that the report has not. */
static void name_holders(const struct found *found, void (*say)(const struct found *found, const char *holder)) {
    char text[256];
    redlatch_party party;
    uint64_t named = 0;
    for (uint64_t i = 0; found_party(found, i, &party); i++) {
        if (party.role != REDLATCH_WAITER) {
            bool sided = party.role != REDLATCH_HOLDER;
            bool valued = party.value[0] != '\0';
            snprintf(text, sizeof text, "%s, %s%s%s%scount %llu", party.owner, sided ? role_name(party.role) : "",
                     valued ? "value " : "", party.value, sided || valued ? ", " : "", (unsigned long long)party.count);
            say(found, text);
            named++;
        }
    }
    if (found->facts.holders > named) {
        snprintf(text, sizeof text, "%llu more", (unsigned long long)(found->facts.holders - named));
        say(found, text);
    }
}

static void print_was_held(const struct found *found, const char *holder) {
    (void)found;
    int width;
    char *shown = text_shown(holder, strlen(holder), 0, &width);
    printf("it was held by %s\n", shown ? shown : "?");
    free(shown);
}

static void print_is_held(const struct found *found, const char *holder) {
    int width;
    char *name = text_shown(found->name, (size_t)found->facts.name_size, 60, &width);
    complain(STATUS_USAGE, "\"%s\" is held by %s", name ? name : "?", holder);
    free(name);
}

/* Why this lock is not unlocked; STATUS_GOOD if it may be. */
static int reason(const struct found *found, bool forced) {
    const redlatch_facts *facts = &found->facts;
    int width;
    char *name = text_shown(found->name, (size_t)facts->name_size, 60, &width);
    int exit_status = STATUS_GOOD;
    if (facts->detected_kind == REDLATCH_DETECTED_UNKNOWN) {
        exit_status = complain(STATUS_NO_LOCK, "\"%s\" is a %s, which is no known lock: not changed", name,
                               facts->type);
    } else if (facts->detected_kind == REDLATCH_DETECTED_COUNT ||
               facts->detected_kind == REDLATCH_DETECTED_PERMIT_SEMAPHORE) {
        exit_status = complain(STATUS_USAGE, "\"%s\" is %s: expected a lock; not changed", name,
                               facts->detected_kind == REDLATCH_DETECTED_COUNT
                                   ? "a number, as semaphores and latches are"
                                   : "a permit semaphore");
    } else if (facts->holders == 0) {
        exit_status = complain(STATUS_FREE, "\"%s\" is free", name);
    } else if (!forced) {
        name_holders(found, print_is_held);
        exit_status = complain(STATUS_USAGE, "\"%s\" is not unlocked without --force", name);
    }
    free(name);
    return exit_status;
}

static int unlock(redlatch_client *client, const char *name, const struct found *found, bool forced, bool as_json) {
    int exit_status = reason(found, forced);
    if (exit_status != STATUS_GOOD) {
        return exit_status;
    }
    int32_t released = 0;
    int status = force(client, kind_of_detected(found->facts.detected_kind), name, &released);
    if (status == REDLATCH_OK && !released && found->facts.detected_kind == REDLATCH_DETECTED_READ_WRITE) {
        status = force(client, REDLATCH_READ, name, &released);
    }
    if (status != REDLATCH_OK) {
        return complain_of(status);
    }
    if (as_json && !json_print_one(found)) {
        return complain(STATUS_OUTPUT, "the lock could not be printed");
    }
    if (!as_json) {
        name_holders(found, print_was_held);
    }
    return finish_output(released ? STATUS_GOOD : STATUS_FREE);
}

int command_unlock(int argc, char **argv) {
    struct server_options server = {.url = NULL};
    bool forced = false;
    bool as_json = false;
    int exit_status;
    int letter;
    while ((letter = next_option(argc, argv, ":u:h", long_options, "unlock")) != -1) {
        if (letter == OPTION_FORCE) {
            forced = true;
        } else if (letter == OPTION_JSON) {
            as_json = true;
        } else if (!take_server_option(&server, letter, usage, &exit_status)) {
            return exit_status;
        }
    }
    const char *name = only_name(argc, argv, "unlock");
    if (!name) {
        return STATUS_USAGE;
    }
    redlatch_client *client;
    struct found found;
    exit_status = open_client(&server, NULL, &client);
    if (exit_status != STATUS_GOOD) {
        return exit_status;
    }
    exit_status = found_inspect(client, name, NULL, &found);
    if (exit_status == STATUS_GOOD) {
        exit_status = unlock(client, name, &found, forced, as_json);
        redlatch_report_free(found.report);
    }
    redlatch_client_free(client);
    return exit_status;
}
