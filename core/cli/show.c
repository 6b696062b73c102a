/* redlatch show: everything known of one lock.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "found.h"

static const char usage[] =
    "usage: redlatch show [OPTION...] NAME\n"
    "       redlatch show --mine [OPTION...]\n"
    "\n"
    "Shows a lock, semaphore or latch of any library. Status: 0 held, 3 free, 65 the key is none of a known kind; of\n"
    "semaphores and latches, which have no holder as a whole, 0 if it exists.\n"
    "\n"
    "      --owner OWNER  status 0 only if OWNER holds it, else 3; OWNER is shown first\n"
    "      --mine         shows what the redlatch run around this command holds, by its environment variables;\n"
    "                     status 0 only if it still holds everything, else 3\n"
    "      --json         prints an object instead of lines\n"
    "  -u, --url URL      the server; default: REDIS_URL, or redis://127.0.0.1:6379/0\n"
    "      --password-file FILE  its first line is the password; default: the URL's, or REDISCLI_AUTH\n"
    "      --tls-ca-file FILE  CA certificates for a rediss URL; `man redlatch` has the options of TLS\n"
    "      --prefix TEXT  the prefix of the name\n"
    "  -h, --help         prints this text\n";

static const struct option long_options[] = {
    {"json", no_argument, NULL, OPTION_JSON},
    {"owner", required_argument, NULL, OPTION_OWNER},
    {"mine", no_argument, NULL, OPTION_MINE},
    SERVER_OPTIONS,
};

static int status_of(const struct found *found, const char *owner) {
    if (owner) {
        return found_is_held_by(found, owner) ? STATUS_GOOD : STATUS_FREE;
    }
    if (found->facts.detected_kind == REDLATCH_DETECTED_UNKNOWN) {
        return STATUS_NO_LOCK;
    }
    return found_is_held(found) || found_is_count(found) ? STATUS_GOOD : STATUS_FREE;
}

static int show(const struct found *found, const char *owner, bool as_json) {
    (as_json ? json_print_one : lines_print)(found);
    return finish_output(status_of(found, owner));
}

int command_show(int argc, char **argv) {
    struct server_options server = {.url = NULL};
    const char *owner = NULL;
    bool as_json = false;
    bool mine = false;
    int exit_status;
    int letter;
    while ((letter = next_option(argc, argv, ":u:h", long_options, "show")) != -1) {
        if (letter == OPTION_JSON) {
            as_json = true;
        } else if (letter == OPTION_OWNER) {
            owner = optarg;
        } else if (letter == OPTION_MINE) {
            mine = true;
        } else if (!take_server_option(&server, letter, usage, &exit_status)) {
            return exit_status;
        }
    }
    if (mine && (owner || optind < argc)) {
        return complain(STATUS_USAGE,
                        "show: %s with --mine: expected neither NAME nor --owner, which the environment has",
                        owner ? "--owner" : argv[optind]);
    }
    if (mine) {
        return show_mine(&server, as_json);
    }
    const char *name = only_name(argc, argv, "show");
    if (!name) {
        return STATUS_USAGE;
    }
    redlatch_client *client;
    struct found found;
    exit_status = open_client(&server, NULL, &client);
    if (exit_status != STATUS_GOOD) {
        return exit_status;
    }
    exit_status = found_inspect(client, name, owner, &found);
    redlatch_client_free(client);
    if (exit_status == STATUS_GOOD) {
        exit_status = show(&found, owner, as_json);
        redlatch_report_free(found.report);
    }
    return exit_status;
}
