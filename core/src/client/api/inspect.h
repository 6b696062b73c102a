/* The questions about one name.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INSPECT_H
#define INSPECT_H

#include "client.h"

/* The first asks about the inquiry's subject. If `owner`, which may be NULL, is one of its holders, the report lists it
 * first, although it does not list all holders. The second asks where the owners are. */
void inquiry_set_name(struct inquiry *inquiry, const char *owner);
void inquiry_set_client_list(struct inquiry *inquiry);

#endif
