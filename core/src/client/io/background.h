/* What the background thread does.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef BACKGROUND_H
#define BACKGROUND_H

/* The thread of the client that the argument is, until that is closed. */
void *background_run(void *argument);

#endif
