/* Host names: s0, s1, ... have two addresses each, the first of which refuses; other names have none.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef NAMES_H
#define NAMES_H

#include "resolver.h"

/* The server that listens at an address; -1 where none does. */
int names_server_at(const struct address *address);

/* For so long look-ups take half a second longer than clients wait for them, or find nothing. */
void names_fail(int64_t until, bool slow);

/* A name leads to the address of another server from now on: s5 to that of server 1. */
void names_lead(int name, int server);

void names_begin(void);

#endif
