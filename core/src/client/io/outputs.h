/* What has to happen around the mutex: what the engine left to do.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTPUTS_H
#define OUTPUTS_H

#include "client.h"

void client_outputs(struct client *client, int64_t now);     /* carries out what the engine left */
void client_finish_step(struct client *client, int64_t now); /* the same for one who does not stay to read */

/* Losses that another client saw are here to be told. */
void client_notify_losses(struct client *client);

#endif
