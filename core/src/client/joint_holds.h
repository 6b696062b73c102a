/* Who holds a multi lock or a RedLock: what belongs to all members together. The number that names such a hold, and
 * whether it was lost.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A hold of the whole is lost when too few of its members' holds are left. That is seen by whoever steps the engine of
 * the client that lost one, and told on the client of the first member, without its mutex: its keeper wakes who waits.
 */
#ifndef JOINT_HOLDS_H
#define JOINT_HOLDS_H

#include "joint.h"

/* Makes room to note a hold of `joint`; NULL without memory. It is joint_note_granted's, or to be freed. */
struct joint_hold *joint_hold_new(const struct joint *joint);

/* A level was granted. The mutex of no client is held, or, for one that is all of it, that client's. */
void joint_note_granted(struct joint *joint, uint64_t owner, struct joint_hold *room);

/* A level was released, or nothing was left to release. */
void joint_note_released(struct joint *joint, uint64_t owner, int status);

/* Whether an owner's hold was lost, and not every level of it has been released since. */
bool joint_is_lost(struct joint *joint, uint64_t owner);

/* The number that names an owner's hold; 0 if none is known. */
uint64_t joint_serial(struct joint *joint, uint64_t owner);

/* The joint is being freed: what is held of it goes on as holds of its members. */
void joint_forget_holds(struct joint *joint);

/* The engine lost holds that were granted as part of a whole. With the client's mutex. */
void joint_take_losses(struct client *client);

/* Losses of wholes that are to be told to the events or the waiting threads of a client. */
bool joint_has_loss(struct client *client, enum loss_queue queue);
bool joint_next_loss(struct client *client, enum loss_queue queue, redlatch_event *event);
void joint_discard_losses(struct client *client);

/* Around a fork, so that a child does not inherit the lock of this room taken. */
void joint_before_fork(void);
void joint_after_fork(void);

#endif
