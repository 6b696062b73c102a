/* Faults planted into how clients follow their server and change their password. The schedule must find each.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FIND_PLANTED_H
#define FIND_PLANTED_H

#include <stdbool.h>
#include <stdint.h>

/* Plays a scenario with a seed in a process of its own. Returns true and prints a message if a check failed. */
typedef bool plays_with_fault(const char *scenario, uint64_t seed);

/* Plants one fault after the other. Returns the exit status. */
int find_planted(plays_with_fault *plays);

#endif
