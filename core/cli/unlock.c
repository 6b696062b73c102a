/* redlatch unlock: takes a lock from one owner, or from whoever holds it.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "found.h"

static const char usage[] =
    "usage: redlatch unlock --owner ID [OPTION...] NAME\n"
    "       redlatch unlock --force [OPTION...] NAME\n"
    "\n"
    "Takes a lock from its holder, notifies its waiters, and prints whom it was taken from. A holder continues until\n"
    "it notices, at its next renewal. Status: 0 it was taken, 3 it was free, or not held by ID.\n"
    "\n"
    "      --owner ID     releases what ID holds, as show prints it, and nothing else; of a permit semaphore the\n"
    "                     permit ID\n"
    "      --force        deletes the lock, whoever holds it; asks first if this is a terminal\n"
    "  -y, --yes          does not ask\n"
    "      --json         prints the lock as it was, as an object\n"
    "  -u, --url URL      the server; default: REDIS_URL, or redis://127.0.0.1:6379/0\n"
    "      --password-file FILE  its first line is the password; default: the URL's, or REDISCLI_AUTH\n"
    "      --tls-ca-file FILE  CA certificates for a rediss URL; `man redlatch` has the options of TLS\n"
    "      --prefix TEXT  the prefix of the name\n"
    "  -h, --help         prints this text\n";

static const struct option long_options[] = {
    {"force", no_argument, NULL, OPTION_FORCE},
    {"owner", required_argument, NULL, OPTION_OWNER},
    {"yes", no_argument, NULL, 'y'},
    {"json", no_argument, NULL, OPTION_JSON},
    SERVER_OPTIONS,
};

/* Returns the kind of the handle that unlocks a detected kind. Returns 0 if there is none. `take` unlocks the other
 * mode of a read-write lock, too. */
static int kind_of_detected(int detected_kind) {
    switch (detected_kind) {
    case REDLATCH_DETECTED_MUTEX:
    case REDLATCH_DETECTED_FENCED:
    case REDLATCH_DETECTED_GROUP: /* unlocks all its values; its waiters are notified on a mutex's channel */
        return REDLATCH_MUTEX;
    case REDLATCH_DETECTED_FAIR:
        return REDLATCH_FAIR; /* its release notifies the first waiter of the server queue */
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

/* What the command line says. */
struct unlocking {
    const char *name;
    const char *owner; /* NULL: whoever holds it */
    bool forced;
    bool as_json;
    bool sure; /* does not ask for confirmation */
};

/* Calls `say` with each holder in words, and with the number of holders that the report lacks. If `owner` is not NULL,
 * calls it with that owner only. */
static void name_holders(const struct found *found, const char *owner,
                         void (*say)(const struct found *found, const char *holder)) {
    redlatch_party party;
    uint64_t named = 0;
    for (uint64_t i = 0; found_party(found, i, &party); i++) {
        if (party.role == REDLATCH_WAITER || (owner && strcmp(party.owner, owner) != 0)) {
            continue;
        }
        bool by_role = party.role != REDLATCH_HOLDER;
        bool valued = party.value[0] != '\0';
        char *who = party_text(&party);
        char *text = NULL;
        if (who &&
            asprintf(&text, "%s, %s%s%s%scount %llu", who, by_role ? role_name(party.role) : "", valued ? "value " : "",
                     party.value, by_role || valued ? ", " : "", (unsigned long long)party.count) >= 0) {
            say(found, text);
            free(text);
        }
        free(who);
        named++;
    }
    if (found->facts.holders > named && !owner) {
        char text[40];
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
    notice("\"%s\" is held by %s", name ? name : "?", holder);
    free(name);
}

/* Returns STATUS_GOOD if what was found may be unlocked as the command line says. Otherwise returns another exit status
 * after a complaint. */
static int reason(const struct found *found, const struct unlocking *unlocking, const char *name) {
    const redlatch_facts *facts = &found->facts;
    if (facts->detected_kind == REDLATCH_DETECTED_UNKNOWN) {
        return complain(STATUS_NO_LOCK, "\"%s\" is a %s, which is no known lock: not changed", name, facts->type);
    }
    if (facts->detected_kind == REDLATCH_DETECTED_COUNT) {
        return complain(STATUS_USAGE, "\"%s\" is a number, as semaphores and latches are: expected a lock; not changed",
                        name);
    }
    if (facts->detected_kind == REDLATCH_DETECTED_PERMIT_SEMAPHORE && !unlocking->owner) {
        return complain(
            STATUS_USAGE,
            "\"%s\" is a permit semaphore: expected a lock, or --owner with the id of a permit; not changed", name);
    }
    if (facts->detected_kind == REDLATCH_DETECTED_GROUP && unlocking->owner) {
        return complain(STATUS_USAGE, "\"%s\" is a group lock: expected --force, which deletes all its values", name);
    }
    if (facts->holders == 0) {
        return complain(STATUS_FREE, "\"%s\" is free", name);
    }
    if (unlocking->owner && !found_is_held_by(found, unlocking->owner)) {
        char *holder = found_holder_text(found);
        complain(STATUS_FREE, "\"%s\" is not held by %s, but by %s: not changed", name, unlocking->owner,
                 holder ? holder : "another owner");
        free(holder);
        return STATUS_FREE;
    }
    if (!unlocking->owner && !unlocking->forced) {
        name_holders(found, NULL, print_is_held);
        return complain(STATUS_USAGE,
                        "\"%s\" is not unlocked: expected --owner ID, or --force to take it from any holder", name);
    }
    return STATUS_GOOD;
}

/* Returns whether to ask for confirmation, which needs somebody at a terminal. */
static bool wants_confirmation(const struct unlocking *unlocking) {
    return !unlocking->owner && !unlocking->sure && isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

static bool confirmed(const struct found *found) {
    name_holders(found, NULL, print_is_held);
    fputs("It continues until its next renewal. Delete its lock? [y/N] ", stderr);
    char reply[16] = "";
    bool read = fgets(reply, sizeof reply, stdin) != NULL;
    return read && (reply[0] == 'y' || reply[0] == 'Y');
}

/* Takes the lock from the owner, or from any holder. If somebody has confirmed it for a single holder, takes it from
 * that one only. */
static int take(redlatch_client *client, const struct found *found, const struct unlocking *unlocking, bool by_hand,
                bool *taken) {
    redlatch_party holder;
    bool single = found->facts.holders == 1 && found->facts.detected_kind != REDLATCH_DETECTED_GROUP;
    if (unlocking->owner || (by_hand && single && found_party(found, 0, &holder))) {
        return owner_change(client, found, unlocking->owner ? unlocking->owner : holder.owner, 0, taken);
    }
    int32_t released = 0;
    int status = force(client, kind_of_detected(found->facts.detected_kind), unlocking->name, &released);
    if (status == REDLATCH_OK && !released && found->facts.detected_kind == REDLATCH_DETECTED_READ_WRITE) {
        status = force(client, REDLATCH_READ, unlocking->name, &released);
    }
    *taken = released;
    return status;
}

static int unlock(redlatch_client *client, const struct found *found, const struct unlocking *unlocking) {
    int width;
    char *name = text_shown(found->name, (size_t)found->facts.name_size, 60, &width);
    int exit_status = reason(found, unlocking, name ? name : "?");
    bool by_hand = wants_confirmation(unlocking);
    if (exit_status == STATUS_GOOD && by_hand && !confirmed(found)) {
        exit_status = complain(STATUS_USAGE, "\"%s\" was not unlocked", name ? name : "?");
    }
    free(name);
    if (exit_status != STATUS_GOOD) {
        return exit_status;
    }
    bool taken = false;
    int status = take(client, found, unlocking, by_hand, &taken);
    if (status != REDLATCH_OK) {
        return complain_of(status);
    }
    if (unlocking->as_json) {
        json_print_one(found);
    } else if (taken) {
        name_holders(found, unlocking->owner, print_was_held);
    }
    if (!taken) {
        notice("it was released in the meantime");
    }
    return finish_output(taken ? STATUS_GOOD : STATUS_FREE);
}

int command_unlock(int argc, char **argv) {
    struct server_options server = {.url = NULL};
    struct unlocking unlocking = {.name = NULL};
    int exit_status;
    int letter;
    while ((letter = next_option(argc, argv, ":yu:h", long_options, "unlock")) != -1) {
        if (letter == OPTION_FORCE) {
            unlocking.forced = true;
        } else if (letter == OPTION_OWNER) {
            unlocking.owner = optarg;
        } else if (letter == 'y') {
            unlocking.sure = true;
        } else if (letter == OPTION_JSON) {
            unlocking.as_json = true;
        } else if (!take_server_option(&server, letter, usage, &exit_status)) {
            return exit_status;
        }
    }
    if (unlocking.owner && unlocking.forced) {
        return complain(STATUS_USAGE, "unlock: --owner with --force: expected one of them");
    }
    unlocking.name = only_name(argc, argv, "unlock");
    if (!unlocking.name) {
        return STATUS_USAGE;
    }
    redlatch_client *client;
    struct found found;
    exit_status = open_client(&server, NULL, &client);
    if (exit_status != STATUS_GOOD) {
        return exit_status;
    }
    exit_status = found_inspect(client, unlocking.name, unlocking.owner, &found);
    if (exit_status == STATUS_GOOD) {
        exit_status = unlock(client, &found, &unlocking);
        redlatch_report_free(found.report);
    }
    redlatch_client_free(client);
    return exit_status;
}
