/* Who owns what: thread numbers of our own, and what happens when a thread ends or the process forks.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OWNERS_H
#define OWNERS_H

#include "client.h"

/* A number no owner of this process ever had. */
uint64_t owner_number_new(void);

/* Whether an owner is 0 or was issued: OK, or INVALID with the last error set. */
int check_owner(const char *what, uint64_t owner);

/* The calling thread's number; given at its first use, never the system's, which repeat. 0 without memory. */
uint64_t owner_of_thread(void);

/* The process's list of clients, for thread ends and forks. false when the handlers could not be set up. */
bool owners_add_client(struct client *client);

/* Around the making of an inherited client this process' own: no fork comes in between. */
void owners_lock(void);
void owners_unlock(void);

void owners_remove_client(struct client *client);

#endif
