/* Faults of the read-write lock's scripts.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PLANTED_SIDES_H
#define PLANTED_SIDES_H

#include "planted_scripts.h"

/* Ends with an entry whose name is NULL. */
extern const struct planted_edit planted_sides[];

#endif
