/* What is asked about one name.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INSPECT_H
#define INSPECT_H

#include "client.h"

/* What is asked: about the subject, and of an owner who need not be told of else; where the owners are. */
void inquiry_set_name(struct inquiry *inquiry, const char *owner);
void inquiry_set_client_list(struct inquiry *inquiry);

#endif
