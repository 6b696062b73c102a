/* Events that nobody will collect.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef EVENTS_H
#define EVENTS_H

#include "client.h"

void events_give_back(struct client *client);
void events_discard(struct client *client);

#endif
