/* The references of composite locks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "composite.h"

#include <stdlib.h>

#include "client_lock.h"
#include "composite_holds.h"
#include "guard.h"
#include "outputs.h"

void composite_dispose(struct composite *composite) {
    for (uint32_t i = 0; i < composite->group_count; i++) {
        free(composite->groups[i].set);
    }
    free(composite);
}

struct composite *composite_keep(struct composite *composite) {
    if (composite) {
        atomic_fetch_add(&composite->references, 1);
    }
    return composite;
}

void composite_drop(struct composite *composite) {
    if (!composite || atomic_fetch_sub(&composite->references, 1) > 1) {
        return;
    }
    /* Also in a forked child: a client that is set up anew goes over all composite locks with holds. */
    composite_forget_holds(composite);
    for (uint32_t i = 0; i < composite->group_count; i++) {
        struct composite_group *group = &composite->groups[i];
        if (client_adopt(group->client)) {
            client_lock(group->client);
            for (uint32_t j = 0; j < group->set->count; j++) {
                resource_drop(&group->client->engine, group->set->members[j].resource);
            }
            client_finish_step(group->client, system_now());
            client_unlock(group->client);
        }
        client_drop(group->client);
    }
    composite_dispose(composite);
}
