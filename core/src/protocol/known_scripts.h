/* Which scripts a server is known to have, for commands that must not fail because theirs is missing.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef KNOWN_SCRIPTS_H
#define KNOWN_SCRIPTS_H

#include "engine.h"

/* Called before a command is written. If a refused EVALSHA does harm, the command goes as text unless the server is
 * known to have its script. A refusal does harm in two cases: a WAIT behind it blocks the connection in vain, or what
 * follows an unconfirmed release on the connection runs before the release. */
void known_scripts_prepare(struct engine *engine, struct command *command);

/* Called with the reply to a command. A server that lacks a script which it had before has lost all scripts. */
void known_scripts_replied(const struct engine *engine, const struct command *command, const struct reply *reply);

/* Called when a connection to the server ended. The server may have been restarted, without its scripts. */
void known_scripts_forget(struct server *server);

#endif
