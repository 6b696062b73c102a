/* Checks unconfirmed releases: none begins after the deadline, and a failure is reported exactly if the lock was lost
 * before.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sim_client.h"
#include "world.h"

static bool is_ours(const struct id_note *note) {
    return note->removed == REMOVED_RELEASE || note->removed == REMOVED_HANDED;
}

void check_unconfirmed_begun(struct client *client, const struct sim_operation *operation) {
    struct world *world = client->world;
    uint64_t id = operation->operation.id;
    if (operation->begun_local >= operation->deadline_before) {
        world_violation(world, "an unconfirmed release after the deadline says OK", "client %u lock %u id %d",
                        client->index, operation->name, (int)id);
    }
    if (id == 0) { /* releases a nested acquire, and sends nothing */
        const struct hold *hold = resource_hold_of(operation->operation.resource, operation->operation.lock_kind,
                                                   operation->operation.owner);
        cover(world, COVER_PARTIAL_RELEASE);
        if (hold) { /* else another release has ended the hold since */
            note_of(world, client->index, hold->id)->count_in_doubt = true;
        }
        return;
    }
    cover(world, COVER_UNCONFIRMED);
    note_of(world, client->index, id)->unconfirmed = true;
}

void check_release_failed(struct client *client, const struct hold *hold) {
    struct world *world = client->world;
    struct id_note *note = note_of(world, client->index, hold->id);
    cover(world, COVER_UNCONFIRMED_FAILED);
    TRACE(world, "client %u: unconfirmed release of id %d failed: %d", client->index, (int)hold->id,
          hold->release_status);
    note->release_failed = true;
    note->written_off = true;
    if (!note->unconfirmed) {
        world_violation(world, "a release that was not unconfirmed is reported", "client %u id %d", client->index,
                        (int)hold->id);
    }
    if (hold->release_status == REDLATCH_LOST && is_ours(note) && note->removed_at < note->deadline && !note->tainted) {
        world_violation(world, "an unconfirmed release in time is called LOST", "client %u id %d", client->index,
                        (int)hold->id);
    }
}

void check_unconfirmed_end(struct world *world) {
    for (uint32_t i = 0; i < world->plan.clients; i++) {
        for (size_t id = 0; id < world->checker.note_counts[i] && !world->failed; id++) {
            const struct id_note *note = &world->checker.notes[i][id];
            bool failed = note->unconfirmed && !is_ours(note) && note->releases_in_doubt <= 1 && !note->restored;
            if (failed && !note->release_failed) {
                world_violation(world, "the failure of an unconfirmed release is not reported",
                                "client %u id %d, removed %d", i, (int)id, note->removed);
            }
        }
    }
}
