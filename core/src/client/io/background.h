/* What the background thread does.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef BACKGROUND_H
#define BACKGROUND_H

/* The thread, until its client is closed. */
void *background_run(void *client);

#endif
