/* Owner numbers, also of threads; what happens when a thread ends or the process forks.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OWNERS_H
#define OWNERS_H

#include "client.h"

/* Returns a number that no owner of this process ever had. */
uint64_t owner_number_new(void);

/* Returns OK if an owner is 0 or was issued, else INVALID with the last error set. */
int check_owner(const char *what, uint64_t owner);

/* Returns the calling thread's number, which is issued at the first use. It is not the system's thread id, since those
 * repeat. Returns 0 if the thread-specific data cannot be set. */
uint64_t owner_of_thread(void);

/* Sets up the handlers for the end of a thread and for a fork, at the first call. Returns OK, or SYSTEM with the last
 * error set. */
int owners_set_up(void);

/* Adds a client to the process's list, which is walked when a thread ends or the process forks. Returns the status of
 * owners_set_up. */
int owners_add_client(struct client *client);

/* Held while an inherited client is set up anew: no fork happens meanwhile. */
void owners_lock(void);
void owners_unlock(void);

void owners_remove_client(struct client *client);

#endif
