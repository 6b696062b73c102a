/* Host names: s0, s1, ... have two addresses each, of which the first refuses connections. Other names have none.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef NAMES_H
#define NAMES_H

#include "resolver.h"

/* Returns the server that listens on an address, or -1. */
int names_server_at(const struct address *address);

/* Until then lookups take half a second longer than clients wait, or find nothing. */
void names_fail(int64_t until, bool slow);

/* Makes a name lead to the address of another server: names_lead(5, 1) makes s5 lead to server 1. */
void names_lead(int name, int server);

void names_begin(void);

#endif
