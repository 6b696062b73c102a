/* Before each run.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WRAPPED_SYSTEM_H
#define WRAPPED_SYSTEM_H

void wrapped_system_begin(void);

#endif
