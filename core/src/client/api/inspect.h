/* The questions about one name.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INSPECT_H
#define INSPECT_H

#include "client.h"

/* inquiry_set_name asks about the inquiry's subject. If `owner`, which may be NULL, is one of its holders, the report
 * lists that first, even if it does not list all holders. inquiry_set_client_list asks where the owners are. */
void inquiry_set_name(struct inquiry *inquiry, const char *owner);
void inquiry_set_client_list(struct inquiry *inquiry);

#endif
