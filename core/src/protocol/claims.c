/* Grants of started acquires: the host claims them, or nobody ever will.
 * SPDX-License-Identifier: Apache-2.0 */
#include "hold_command.h"
#include "pools.h"
#include "semaphore_permits.h"

void engine_unclaimed(struct engine *engine, struct operation *operation) {
    if (operation->unclaimed && !engine->broken) {
        semaphore_unclaimed(engine, operation, operation->status);
    }
}

/* Claims the holds of one name that the operation was granted. */
static void claim(struct engine *engine, const struct operation *operation, const struct resource *resource) {
    for (struct hold *hold = resource->holds; hold; hold = hold->next) {
        if (hold->claim == operation) {
            hold->claim = NULL;
            return_kept_command(engine, hold);
            hold_arm(engine, hold);
        }
    }
}

void engine_claimed(struct engine *engine, struct operation *operation) {
    if (operation->unclaimed) {
        operation->unclaimed = false;
        timer_disarm(&engine->timers, &operation->timer);
        return_reserve(engine, operation);
    }
    const struct name_set *set = operation->granted ? operation->set : NULL;
    for (uint32_t i = 0; set && i < set->count; i++) {
        claim(engine, operation, set->members[i].resource);
    }
    if (operation->granted && !set) {
        claim(engine, operation, operation->resource);
    }
    operation->granted = 0;
}
