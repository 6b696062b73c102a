/* Carries out the faults of a seed's plan at their times.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef NEMESIS_H
#define NEMESIS_H

struct world;

void nemesis_start(struct world *world);

#endif
