/* Checks unconfirmed releases.
 * SPDX-License-Identifier: Apache-2.0 */
#include "unconfirmed_release.h"

#include "redlatch.h"

void unconfirmed_begun(struct world_common *world, struct unconfirmed_release *release) {
    cover(world, COVER_UNCONFIRMED);
    release->begun = true;
}

void unconfirmed_failed(struct world_common *world, uint32_t client, const struct hold *hold,
                        struct unconfirmed_release *release, bool in_time) {
    TRACE(world, "client %u: unconfirmed release of id %d failed: %d", client, (int)hold->id, hold->release_status);
    cover(world, COVER_UNCONFIRMED_FAILED);
    release->failed = true;
    if (!release->begun) {
        common_violation(world, "a release that was not unconfirmed is reported", "client %u id %d", client,
                         (int)hold->id);
    }
    if (hold->release_status == REDLATCH_LOST && in_time) {
        common_violation(world, "an unconfirmed release in time is called LOST", "client %u id %d", client,
                         (int)hold->id);
    }
}

void unconfirmed_end(struct world_common *world, uint32_t client, int id, const struct unconfirmed_release *release,
                     bool removed) {
    if (release->begun && !release->failed && !removed) {
        common_violation(world, "the failure of an unconfirmed release is not reported", "client %u id %d", client, id);
    }
}
