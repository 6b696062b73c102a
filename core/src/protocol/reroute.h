/* Names that go to another server of the cluster: redirections, and a topology that changed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REROUTE_H
#define REROUTE_H

#include "engine.h"

/* The driver has changed engine->routes: the names of changed slots go elsewhere. Their holds are verified there, their
 * channels are asked for there, and whoever waits for them rechecks. */
void engine_routes_changed(struct engine *engine, int64_t now);

/* Commands that a server was not sent, or that are in doubt since its connection broke, go to where their names are
 * now. What may still be under way to the old server cannot be carried out where the names are. */
void engine_reroute(struct engine *engine, struct server *server, int64_t now);

/* The reply to the oldest unanswered command says that its name is at another server: it was not carried out, and goes
 * to where engine->routes leads now. false if it has been redirected so often that engine_replied is to get the reply,
 * which makes a transient error of it. */
bool engine_redirected(struct engine *engine, struct pipeline *pipeline, int64_t now);

/* The same, for this once: the slot of the name is on its way to `server`, and the key is not at the old one any more.
 * The driver writes ASKING before it: see command->importing. */
bool engine_redirected_to_importer(struct engine *engine, struct pipeline *pipeline, struct server *server,
                                   int64_t now);

/* No connection to an importer, or only now: what was to be sent there goes back to where its names are, and is
 * redirected anew. The slot may have moved on meanwhile, and an importer runs what comes behind ASKING whether it has
 * the key or not. */
void engine_importer_failed(struct engine *engine, struct pipeline *importer);

/* Takes the next reply of the pipeline if it is that to ASKING; false if it is not. */
bool engine_import_replied(struct pipeline *pipeline);

#endif
