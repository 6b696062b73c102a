/* The arithmetic of leases: how long a hold may be trusted and when it is renewed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LEASE_H
#define LEASE_H

#include "records.h"

/* Returns the end of the safe time of a lease whose command was sent at `sent_at`: the lease less 1 % for clocks that
 * run at different speeds and 2 ms for the resolution of the server's. */
int64_t lease_deadline(int64_t sent_at, int64_t lease_ms);

/* Returns the lease to request now: no longer than the time until `max_hold_at`. Returns 0 if no time is left. */
int64_t lease_within(int64_t lease_ms, int64_t max_hold_at, int64_t now);

/* Returns the deadline of a hold whose lease was requested at `sent_at`. It is no later than max_hold_at, which may
 * have come nearer while the command waited to be sent. */
int64_t hold_deadline(const struct hold *hold, int64_t sent_at, int64_t lease_ms);

/* Returns whether a hold is renewed: it is alive, and one of its acquires that are not released yet stated no lease. */
bool hold_is_renewed(const struct hold *hold);

/* Sets when a hold whose lease was requested at `sent_at` is renewed next: after a third of the lease; in a cluster at
 * the moment of its slot, somewhat before or after that. NEVER if it is not renewed. */
void schedule_renewal(struct hold *hold, int64_t sent_at, int64_t lease_ms);

/* Returns how long before its time a hold may be renewed in the batch of another. */
int64_t renewal_ahead(int64_t lease_ms);

/* Sets the deadline and the next renewal after a confirmed grant, renewal or extension. */
void hold_confirm(struct hold *hold, int64_t sent_at, int64_t lease_ms);

/* The same after a nested acquire, which has a lease of its own, but the deadline never becomes earlier. */
void hold_confirm_later(struct hold *hold, int64_t sent_at, int64_t lease_ms);

/* The lease may have been shortened. Moves confirmed_at back so far that the lease ends no later than the deadline. */
void hold_doubt(struct hold *hold);

/* Returns when the hold needs attention next: renewal, deadline, claim, deferred releases. */
int64_t hold_next_attention(const struct hold *hold);

/* Returns HELD, SUSPECT or GONE at `now`. SUSPECT: half of the lease has passed without a renewal. */
int hold_state_at(const struct hold *hold, int64_t now);

#endif
