/* The pauses of waiters that poll.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef BACK_OFF_H
#define BACK_OFF_H

#include "engine.h"

/* Returns the next pause of a waiter that polls, in ms. */
int64_t back_off_next(struct engine *engine, struct back_off *back_off);

#endif
