/* Walks over the locks of a server, whose handle may be freed while a step is under way.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SCAN_H
#define SCAN_H

struct walk;

/* A started step lets go of its walk. */
void walk_drop(struct walk *walk);

#endif
