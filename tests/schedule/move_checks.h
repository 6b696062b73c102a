/* What must hold while servers change their roles and passwords change. The first violation is kept.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MOVE_CHECKS_H
#define MOVE_CHECKS_H

#include <stdbool.h>

#include "redlatch.h"

/* Before each run. `balanced`: behind one address are two servers, and no client can stay on one. `stays`: the old
 * server may go on as a master, where a client that needs no new connection stays. */
void checks_begin(bool balanced, bool stays);

/* NULL: nothing was wrong. */
const char *checks_violation(void);
void checks_violated(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A server is the one that clients are led to from now on. */
void checks_led_to(int server);

/* Since when nothing changes, in microseconds; a change that is no move is told by checks_changed. */
void checks_changed(void);
int64_t checks_quiet_for(void);

/* All connections of each client lead to the server that it used last. */
void checks_all_moved(void);

/* How often the client with that UUID began to use another server. */
int checks_moves(const char *uuid);

/* All connections of clients were let in by that password last. */
void checks_password(const char *password);

/* What a call says. */
void checks_status(const char *call, int status);

/* A hold that its client believes in, since long enough, is on the server that the client uses. */
void checks_hold(const char *uuid, const char *name, const redlatch_hold *hold);

#endif
