/* Freeing the state of a walk over the locks of a server.
 * SPDX-License-Identifier: Apache-2.0 */
#include "walk.h"

#include <stdlib.h>

void walk_drop(struct walk *walk) {
    if (atomic_fetch_sub(&walk->references, 1) == 1) {
        free(walk->pattern);
        free(walk->page);
        free(walk);
    }
}
