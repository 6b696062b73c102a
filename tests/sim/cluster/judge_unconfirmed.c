/* Checks unconfirmed releases in a cluster: a failure is reported exactly if no node removed the hold in time.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cluster_world.h"

void cluster_judge_unconfirmed(struct world *world, const struct caller *caller) {
    uint64_t id = caller->operation.id;
    if (id != 0) { /* else it released a nested acquire, and sent nothing */
        cover(world, COVER_UNCONFIRMED);
        cluster_note(world, caller->client, id)->unconfirmed = true;
    }
}

void cluster_judge_release_failed(struct world *world, const struct client *client, const struct hold *hold) {
    uint32_t number = client_of_peer(&client->peers[0]);
    struct id_note *note = cluster_note(world, number, hold->id);
    TRACE(world, "client %u: unconfirmed release of id %d failed: %d", number, (int)hold->id, hold->release_status);
    cover(world, COVER_UNCONFIRMED_FAILED);
    note->release_failed = true;
    if (!note->unconfirmed) {
        world_violation(world, "a release that was not unconfirmed is reported", "client %u id %d", number,
                        (int)hold->id);
    }
    if (hold->release_status == REDLATCH_LOST && note->released && !note->lost && !note->excused &&
        note->released_at < note->deadline) {
        world_violation(world, "an unconfirmed release in time is called LOST", "client %u id %d", number,
                        (int)hold->id);
    }
    note->lost = true;
}

void cluster_judge_unconfirmed_end(struct world *world) {
    for (uint32_t i = 0; i < CLIENTS; i++) {
        for (int id = 0; id < IDS_MAX; id++) {
            const struct id_note *note = &world->clients[i].notes[id];
            if (note->unconfirmed && !note->released && !note->release_repeated && !note->release_failed) {
                world_violation(world, "the failure of an unconfirmed release is not reported", "client %u id %d", i,
                                id);
            }
        }
    }
}
