/* Who holds a multi lock or a RedLock: what belongs to all members together. The number that names such a hold, and
 * whether it was lost.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A hold of the whole is lost when too few of its members' holds are left. That is seen by whoever steps the engine of
 * the client that lost one, and told on the client of the first member, without its mutex: its background thread wakes
 * who waits.
 */
#ifndef COMPOSITE_HOLDS_H
#define COMPOSITE_HOLDS_H

#include "composite.h"

/* A level was granted. The mutex of no client is held, or, for one that is all of it, that client's. NULL is allowed: a
 * single name's holds are noted by its engine. */
void composite_note_granted(struct composite *composite, uint64_t owner);

/* A level was released, or nothing was left to release. */
void composite_note_released(struct composite *composite, uint64_t owner, int status);

/* Whether an owner's hold was lost, and not every level of it has been released since. */
bool composite_is_lost(struct composite *composite, uint64_t owner);

/* The number that names an owner's hold; 0 if none is known. */
uint64_t composite_serial(struct composite *composite, uint64_t owner);

/* The composite lock is being freed: what is held of it goes on as holds of its members. */
void composite_forget_holds(struct composite *composite);

/* The engine lost holds that were granted as part of a whole. With the client's mutex. */
void composite_take_losses(struct client *client);

/* Losses of wholes that are to be told to the events or the waiting threads of a client. */
bool composite_has_loss(struct client *client, enum loss_queue queue);
bool composite_next_loss(struct client *client, enum loss_queue queue, redlatch_event *event);

/* In a child: a client is set up anew, without holds. */
void composite_forget_client(const struct client *client);

/* Around a fork, so that a child does not inherit the lock of this room taken. */
void composite_before_fork(void);
void composite_after_fork(void);

#endif
