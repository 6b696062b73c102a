/* Planted faults in which server a client is on and in its password: the schedule has to find each.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FIND_PLANTED_H
#define FIND_PLANTED_H

#include <stdbool.h>
#include <stdint.h>

/* Plays a scenario with a seed, in a process of its own; true if something was wrong, which is printed. */
typedef bool plays_with_fault(const char *scenario, uint64_t seed);

/* Plants one fault after the other; the exit status. */
int find_planted(plays_with_fault *plays);

#endif
