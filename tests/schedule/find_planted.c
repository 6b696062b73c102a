/* The planted faults, and the scenarios that have to find them.
 * SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "find_planted.h"

#include <stdio.h>
#include <stdlib.h>

#include "planted.h"

static const uint64_t SEEDS_MAX = 60;

static const struct {
    enum planted_fault fault;
    const char *scenario;
    const char *name;
} faults[] = {
    {FAULT_OTHER_PROCESS_IGNORED, "moves_by_proxy", "another run id is not noticed"},
    {FAULT_ONE_CONNECTION_MOVES, "moves_by_proxy", "only the connection that noticed moves"},
    {FAULT_LISTENS_TO_OLD, "moves_by_proxy", "messages still come from the old server"},
    {FAULT_READ_ONLY_RETURNED, "moves_by_list", "READONLY is passed on"},
    {FAULT_REPLICA_TAKEN, "moves_by_list", "a replica is taken for the master"},
    {FAULT_MOVES_WITHOUT_END, "balanced", "moves back and forth are not counted"},
    {FAULT_MOVE_UNREPORTED, "moves_by_list", "a move is not told"},
    {FAULT_SWITCH_IGNORED, "moves_by_sentinel", "a sentinel's message of a new master is ignored"},
    {FAULT_SENTINEL_NOT_REPLACED, "moves_by_sentinel", "a sentinel that is gone has no successor"},
    {FAULT_NAME_NOT_WATCHED, "moves_by_name", "the name is not looked up again"},
    {FAULT_OLD_LOOKUP_BELIEVED, "moves_by_name", "a look-up of long ago is believed"},
    {FAULT_NO_AUTH_ON_OPEN, "passwords", "no AUTH on open connections"},
    {FAULT_AUTH_ON_ONE, "passwords", "AUTH on one connection only"},
    {FAULT_MESSAGES_KEEP_PASSWORD, "passwords", "the connection for messages keeps the old password"},
    {FAULT_SUCCESSOR_HEARS_LESS, "passwords", "its successor is not subscribed when it takes the place"},
    {FAULT_OLD_CLOSED_FIRST, "passwords", "it closes before its successor is there"},
    {FAULT_REFUSED_FOR_EVER, "passwords", "a refused successor is not tried again"},
    {FAULT_REFUSED_UNREPORTED, "passwords", "a refusal is not told"},
    {FAULT_REFUSED_REPORTED_AGAIN, "passwords", "a refusal is told again and again"},
    {FAULT_PASSWORD_NOT_WIPED, "passwords", "the old password is not wiped"},
};

enum { FAULTS = sizeof faults / sizeof faults[0] };

_Static_assert(FAULTS == FAULT_END - FAULT_COUNT - 1, "each fault behind FAULT_COUNT has a row");

int find_planted(plays_with_fault *plays) {
    int missed = 0;
    for (int i = 0; i < FAULTS; i++) {
        char number[12];
        snprintf(number, sizeof number, "%d", faults[i].fault);
        setenv("REDLATCH_PLANTED_FAULT", number, 1); /* a client reads it when it is opened */
        printf("%s: ", faults[i].name);
        uint64_t seed = 1;
        while (seed <= SEEDS_MAX && !plays(faults[i].scenario, seed)) {
            seed++;
        }
        if (seed > SEEDS_MAX) {
            printf("NOT FOUND in %d seeds of %s\n", (int)SEEDS_MAX, faults[i].scenario);
            missed++;
        }
    }
    printf("%d passed, %d failed\n", FAULTS - missed, missed);
    return missed ? 1 : 0;
}
