/* The work of the background thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef BACKGROUND_H
#define BACKGROUND_H

/* The function of the background thread. `argument` is its client. Returns when the client is closed or broken. */
void *background_run(void *argument);

#endif
