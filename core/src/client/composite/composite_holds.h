/* The holds of composite locks: the serial and the hold count of each, and whether it was lost.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A hold of a composite lock is lost when too few of its members' holds are left. The thread that steps the engine of a
 * client that lost a member's hold finds that out. It reports the loss at the client of the first member, without that
 * client's mutex. The background thread of that client then notifies the host.
 */
#ifndef COMPOSITE_HOLDS_H
#define COMPOSITE_HOLDS_H

#include "composite.h"

/* Notes an acquire that was granted. If the composite lock has one group, the mutex of its client is held; else that of
 * no client. NULL is allowed: the engine alone notes a hold of a single name. */
void composite_note_granted(struct composite *composite, uint64_t owner);

/* Notes a release with its status. After NOT_OWNED, nothing is left to release. Some failures release nothing. */
void composite_note_released(struct composite *composite, uint64_t owner, int status);

/* Returns whether the owner's hold was lost, and not all its acquires have been released since by a handle of this
 * composite lock. */
bool composite_is_lost(struct composite *composite, uint64_t owner);

/* Returns the serial of the owner's hold; 0 if none is known. */
uint64_t composite_serial(struct composite *composite, uint64_t owner);

/* Forgets the holds of a composite lock that is being freed. The members' holds go on. */
void composite_forget_holds(struct composite *composite);

/* Forgets the holds of an owner that has ended, after the losses of the members' holds were taken. */
void composite_owner_end(uint64_t owner);

/* Takes from the engine the losses of holds that were granted as part of a set. With the client's mutex. */
void composite_take_losses(struct client *client);

/* The losses of composite locks' holds that are to be reported by events of the client, or to its waiting threads. */
bool composite_has_loss(struct client *client, enum loss_queue queue);
bool composite_next_loss(struct client *client, enum loss_queue queue, redlatch_event *event);

/* Called in a forked child when it sets a client up anew, without holds. */
void composite_forget_client(const struct client *client);

/* Called around a fork. They take and release the mutex of the holds, so that the child does not inherit it locked. */
void composite_before_fork(void);
void composite_after_fork(void);

#endif
