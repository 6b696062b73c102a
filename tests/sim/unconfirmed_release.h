/* Unconfirmed releases where servers fail or slots move: a failure is reported exactly if nobody removed the hold.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef UNCONFIRMED_RELEASE_H
#define UNCONFIRMED_RELEASE_H

#include "records.h"
#include "world_common.h"

/* The release of one hold. */
struct unconfirmed_release {
    bool begun;
    bool failed; /* the client was told so */
};

/* An unconfirmed release of a hold returned OK. */
void unconfirmed_begun(struct world_common *world, struct unconfirmed_release *release);

/* The client reports that it failed. `in_time`: a script had removed the hold before the deadline. */
void unconfirmed_failed(struct world_common *world, uint32_t client, const struct hold *hold,
                        struct unconfirmed_release *release, bool in_time);

/* Called in the end for each hold. `removed`: a script removed the hold, or may have done so. */
void unconfirmed_end(struct world_common *world, uint32_t client, int id, const struct unconfirmed_release *release,
                     bool removed);

#endif
