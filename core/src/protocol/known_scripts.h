/* Which scripts a server is known to have, for commands that must not fail for want of theirs.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef KNOWN_SCRIPTS_H
#define KNOWN_SCRIPTS_H

#include "engine.h"

/* A command is about to be written. It goes as text unless the server is known to have its script, if a refused EVALSHA
 * does harm: WAIT behind it would block the connection in vain, and what follows an unconfirmed release on the
 * connection would run before the release. */
void known_scripts_prepare(struct engine *engine, struct command *command);

/* The server replied to a command. When it lacks a script that it had, it has lost all of them. */
void known_scripts_replied(const struct engine *engine, const struct command *command, const struct reply *reply);

/* A connection to the server ended. The server may have been restarted, without its scripts. */
void known_scripts_forget(struct server *server);

#endif
