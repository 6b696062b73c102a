/* The arithmetic of leases: how long a hold may be trusted and when it is renewed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LEASE_H
#define LEASE_H

#include "records.h"

/* The end of the safe time of a lease whose command was sent at `sent_at`: the lease less 1 % for clocks that run at
 * different speeds and 2 ms for the resolution of the server's. */
int64_t lease_deadline(int64_t sent_at, int64_t lease_ms);

/* The lease to ask for now, given a bound on the whole hold; 0 when the bound leaves nothing. */
int64_t lease_within(int64_t lease_ms, int64_t max_hold_at, int64_t now);

/* The deadline of a hold whose lease was asked for at `sent_at`: also with a bound on the whole hold that came nearer
 * while the command waited to be sent. */
int64_t hold_deadline(const struct hold *hold, int64_t sent_at, int64_t lease_ms);

/* Whether a hold is renewed: some level of it was taken without a lease, and nothing has ended renewal. */
bool hold_is_renewed(const struct hold *hold);

/* When a hold whose lease was requested at `sent_at` is renewed next: after a third of the lease; in a cluster at the
 * moment of its slot, somewhat before or after that. NEVER if it is not renewed. */
void schedule_renewal(struct hold *hold, int64_t sent_at, int64_t lease_ms);

/* So much before its time a hold is renewed along with another. */
int64_t renewal_ahead(int64_t lease_ms);

/* Enters a confirmed grant, renewal or extension: the deadline, and when it is renewed next. */
void hold_confirm(struct hold *hold, int64_t sent_at, int64_t lease_ms);

/* A further level with its own lease confirms the hold too, and never brings its deadline forward. */
void hold_confirm_later(struct hold *hold, int64_t sent_at, int64_t lease_ms);

/* The lease may have been shortened: from now on it counts as confirmed no longer than the deadline says. */
void hold_doubt(struct hold *hold);

/* When the hold needs attention next: renewal, deadline, claim. */
int64_t hold_next_attention(const struct hold *hold);

/* HELD, SUSPECT or GONE by the clock; SUSPECT when half of the lease is gone without a renewal. */
int hold_state_at(const struct hold *hold, int64_t now);

#endif
