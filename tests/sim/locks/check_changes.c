/* The violations that the rules of all kinds report in the same words, about a hold that a script made, changed or
 * removed.
 * SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

enum { CHAIN_MAX = 16 };

void wrongly_removed(struct world *world, enum script_id script, const struct wire_field *field) {
    world_violation(world, "a script removed another owner's hold", "%s removed client %u id %d",
                    scripts_embedded[script].name, field->client, (int)field->id);
}

void wrongly_created(struct world *world, enum script_id script, const struct wire_field *field) {
    world_violation(world, "a script made a hold out of nothing", "%s made client %u id %d",
                    scripts_embedded[script].name, field->client, (int)field->id);
}

void check_chain(struct world *world, uint32_t chain) {
    if (chain == CHAIN_MAX) {
        cover(world, COVER_HAND_OVER_BOUND);
    } else if (chain > CHAIN_MAX) {
        world_violation(world, "a process keeps the lock to itself", "%u hand-overs in a row", chain);
    }
}

void check_count(struct world *world, enum script_id script, int64_t before, int64_t after,
                 struct count_changes allowed) {
    if (after < before && !allowed.lower) {
        world_violation(world, "a script lowered a count", "%s: %d -> %d", scripts_embedded[script].name, (int)before,
                        (int)after);
    }
    if (after > before && !allowed.raise) {
        world_violation(world, "a script raised a count", "%s: %d -> %d", scripts_embedded[script].name, (int)before,
                        (int)after);
    }
}

void check_not_shortened(struct world *world, enum script_id script, int64_t before, int64_t after) {
    if (after < before) {
        world_violation(world, "a script shortened a lease", "%s: by %d us", scripts_embedded[script].name,
                        (int)(before - after));
    }
}
