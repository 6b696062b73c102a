/* The same play with a cluster of two servers. Before a step, slots move, commands follow them or commands are
 * redirected. A step is about one of the servers. Without a cluster, a byte of the input has the same meaning.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_play.h"
#include "reroute.h"

static void move_slot(void) {
    const struct resource *resource = rig_name(play_name(input_below(play.input, NAMES)));
    struct server *to = resource->server == &rig.server ? &rig.second : &rig.server;
    play_tell("the slot of %.*s moves to server %d", (int)resource->name_size, resource->name, to == &rig.second);
    rig.routes[resource->slot] = to;
    engine_routes_changed(&rig.engine, rig.now);
    rig_turn();
    check_engine();
}

void play_reroute(void) {
    if (!play.cluster) {
        return;
    }
    play_tell("commands follow their names");
    engine_reroute(&rig.engine, &rig.server, rig.now);
    rig_turn();
    check_engine();
    engine_reroute(&rig.engine, &rig.second, rig.now);
    rig_turn();
    check_engine();
}

/* Redirects the oldest command of a pipeline, by MOVED or ASK. After too many redirections the command gets the
 * error. */
static void redirect(void) {
    uint8_t how = input_byte(play.input);
    int number = how % PIPELINE_COUNT;
    for (int i = 0; i < PIPELINE_COUNT && list_is_empty(&rig.at->pipelines[number].sent); i++) {
        number = (number + 1) % PIPELINE_COUNT;
    }
    struct pipeline *pipeline = &rig.at->pipelines[number];
    if (list_is_empty(&pipeline->sent)) {
        return;
    }
    play_import_replied(pipeline->role);
    bool moved = how / PIPELINE_COUNT % 2;
    play_tell("pipeline %d: the oldest command is redirected%s", (int)pipeline->role, moved ? "" : " for once");
    struct server *other = rig.at == &rig.server ? &rig.second : &rig.server;
    bool follows = moved ? engine_redirected(&rig.engine, pipeline, rig.now)
                         : engine_redirected_to_importer(&rig.engine, pipeline, other, rig.now);
    rig_turn();
    if (!follows) {
        rig_error(pipeline->role, moved ? "MOVED 1 h:1" : "ASK 1 h:1");
    }
}

void play_import_replied(enum pipeline_role pipeline) {
    struct pipeline *importer = &rig.at->pipelines[pipeline];
    if (engine_import_replied(importer)) {
        play_tell("pipeline %d: ASKING is answered", (int)pipeline);
        MUST(!engine_import_replied(importer));
    }
}

static void fail_importer(void) {
    struct pipeline *importer = &rig.at->pipelines[input_below(play.input, PIPELINE_COUNT)];
    play_tell("pipeline %d: there is no connection to the importer", (int)importer->role);
    rig_lost(importer->role);
    engine_importer_failed(&rig.engine, importer);
    rig_turn();
}

void play_cluster(unsigned what) {
    enum { MOVES = 2, REROUTES, REDIRECTS, REDIRECTS_OTHER, FAILS };
    rig.at = what % 2 ? &rig.second : &rig.server;
    switch (what) {
    case MOVES:
        move_slot();
        break;
    case REROUTES:
        play_reroute();
        break;
    case REDIRECTS:
    case REDIRECTS_OTHER:
        redirect();
        break;
    case FAILS:
        rig.at = &rig.second;
        fail_importer();
        break;
    default:
        break;
    }
    check_engine();
}
