/* Carries out the engine's output. With the client's mutex.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTPUTS_H
#define OUTPUTS_H

#include "client.h"

void client_outputs(struct client *client, int64_t now);     /* carries out the engine's output */
void client_finish_step(struct client *client, int64_t now); /* the same for a thread that does not read afterwards */

/* Wakes the host if losses of composite locks were noted here. Another client may have noted them. */
void client_notify_losses(struct client *client);

#endif
