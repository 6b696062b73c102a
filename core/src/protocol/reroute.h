/* Names that move to another server of the cluster: redirections, and a topology that changed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REROUTE_H
#define REROUTE_H

#include "engine.h"

/* Called after the driver changed engine->routes. The names of slots with a new route move to its server: their holds
 * are verified there, their channels are requested there, and their waiters recheck. */
void engine_routes_changed(struct engine *engine, int64_t now);

/* Commands to `server` that were not sent, or that are in doubt since its connection broke, go to the servers that have
 * their names now. A copy that is still on its way to `server` cannot run on the new one. */
void engine_reroute(struct engine *engine, struct server *server, int64_t now);

/* Called if the reply to the oldest unanswered command is MOVED: it was not run, and goes where engine->routes leads
 * now. Returns false if it has been redirected too often: then the driver passes the reply to engine_replied, which
 * makes a transient error of it. */
bool engine_redirected(struct engine *engine, struct pipeline *pipeline, int64_t now);

/* The same for ASK, for this one sending: the slot of the name migrates to `server`, and the old server does not have
 * the key any more. The driver writes ASKING before the command: see command->importing. */
bool engine_redirected_to_importer(struct engine *engine, struct pipeline *pipeline, struct server *server,
                                   int64_t now);

/* Called when an importer cannot be connected to, or only now. Commands that were to go there go back to the servers of
 * their names, and are redirected anew: the slot may have moved on meanwhile, and an importer runs what comes behind
 * ASKING whether it has the key or not. */
void engine_importer_failed(struct engine *engine, struct pipeline *importer);

/* Takes the next reply of the pipeline if it is the one to ASKING. Returns whether it is. */
bool engine_import_replied(struct pipeline *pipeline);

#endif
