/* redlatch wait: waits until a lock is free, without taking it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli.h"

static const char usage[] =
    "usage: redlatch wait [OPTION...] NAME\n"
    "\n"
    "Waits until nobody holds the lock NAME. When it returns, somebody else may hold it already: to do something\n"
    "under the lock, use redlatch run. Status: 0 it was free, 1 it was held all the time, 65 the key is no lock.\n"
    "\n"
    "  -w, --wait SECONDS  waits that long at most; 0 only looks\n"
    "  -u, --url URL       the server; else REDIS_URL, else redis://127.0.0.1:6379/0\n"
    "      --prefix TEXT   put before the name\n"
    "  -h, --help          this text\n";

static const struct option long_options[] = {
    {"wait", required_argument, NULL, 'w'},
    {"timeout", required_argument, NULL, 'w'},
    PLACE_OPTIONS,
};

int command_wait(int argc, char **argv) {
    struct place place = {NULL, NULL};
    int64_t wait_ms = REDLATCH_FOREVER;
    int exit_status;
    int letter;
    while ((letter = getopt_long(argc, argv, "w:u:h", long_options, NULL)) != -1) {
        if (letter == 'w') {
            if (!read_seconds("-w", optarg, 0, SECONDS_MAX, &wait_ms)) {
                return STATUS_USAGE;
            }
        } else if (!take_place_option(&place, letter, "wait", usage, &exit_status)) {
            return exit_status;
        }
    }
    const char *name = only_name(argc, argv, "wait");
    if (!name) {
        return STATUS_USAGE;
    }
    redlatch_client *client;
    int status = open_client(&place, NULL, &client);
    if (status == REDLATCH_OK) {
        status = redlatch_wait_free(client, name, strlen(name), wait_ms, NULL, REDLATCH_FOREVER);
        exit_status = status == REDLATCH_OK        ? STATUS_GOOD
                      : status == REDLATCH_TIMEOUT ? STATUS_NOT_OBTAINED
                                                   : complain_of(status);
        redlatch_client_free(client);
        return exit_status;
    }
    return complain_of(status);
}
