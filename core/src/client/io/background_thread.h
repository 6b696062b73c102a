/* Starts and stops the background thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef BACKGROUND_THREAD_H
#define BACKGROUND_THREAD_H

#include "client.h"

bool background_start(struct client *client);
void background_stop(struct client *client);

#endif
