/* What must hold while servers change their roles and passwords change. The first violation is kept.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MOVE_CHECKS_H
#define MOVE_CHECKS_H

#include <stdbool.h>

#include "redlatch.h"

/* Called before each run. `balanced`: one address leads to two servers, and no client can stay on one. `stays`: the old
 * server may remain a master, and a client that needs no new connection may stay on it. */
void checks_begin(bool balanced, bool stays);

/* Returns the first violation, or NULL if there was none. */
const char *checks_violation(void);
void checks_violated(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* From now on clients are led to this server. */
void checks_led_to(int server);

/* checks_quiet_for returns the microseconds since the last change. checks_changed reports a change that is no move. */
void checks_changed(void);
int64_t checks_quiet_for(void);

/* All connections of each client must lead to the server that it used last. */
void checks_all_moved(void);

/* Each client must have one connection for the messages of one sentinel. */
void checks_sentinels_followed(void);

/* A sentinel has published that another server is the master. checks_searched is called some time later: a client that
 * received it must have asked a sentinel for the master. */
void checks_sentinel_learned(int sentinel);
void checks_searched(void);

/* Returns how often the client with that UUID has moved to another server. */
int checks_moves(const char *uuid);

/* All connections of clients must have been authenticated with this password last. */
void checks_password(const char *password);

/* Checks the status that a call returned. */
void checks_status(const char *call, int status);

/* A hold that its client believes in must be on the server that the client uses, unless there was a recent change. */
void checks_hold(const char *uuid, const char *name, const redlatch_hold *hold);

#endif
