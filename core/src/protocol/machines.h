/* The machines of each kind.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MACHINES_H
#define MACHINES_H

#include "machine.h"

extern const struct machines machines;

#endif
