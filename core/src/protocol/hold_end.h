/* How a hold goes on once its command is done, and how it ends.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HOLD_END_H
#define HOLD_END_H

#include "engine.h"

/* As engine_hold_of, when the owner acquires, extends or releases. First the releases of a lost hold that go on in the
 * background lower its count. */
struct hold *hold_of_owner(struct engine *engine, struct resource *resource, uint8_t lock_kind, uint64_t owner,
                           int64_t now);

struct hold *set_busy_hold(struct engine *engine, const struct operation *operation, int64_t now);
void entries_command_done(struct engine *engine, struct command *command, int64_t now);
void hold_command_done(struct engine *engine, struct hold *hold, int64_t now);

void hold_set_count(struct hold *hold, uint32_t count);

/* Lowers the hold count of a hold by `hold_count`. A lost hold ends at 0. Returns whether the hold still exists. */
bool hold_lower_count(struct engine *engine, struct hold *hold, uint32_t hold_count, int64_t now);
void hold_release_deferred(struct engine *engine, struct hold *hold, int64_t now);
void hold_release_in_background(struct engine *engine, struct operation *operation, struct hold *hold, int64_t now);
void hold_release_sent(struct engine *engine, struct hold *hold, struct operation *operation, int64_t now);
void hold_lose(struct engine *engine, struct hold *hold, int reason, int64_t now);

/* Reports that the unconfirmed release of a hold failed. */
void hold_release_failed(struct engine *engine, struct hold *hold, int status, int reason);

/* Reports a late renewal: its reply came `late_ms` after the command of the last confirmation was sent. */
void hold_report_late(struct engine *engine, struct hold *hold, int64_t late_ms);

/* Returns why the server does not have a hold: EXPIRED or MAX_HOLD if its deadline has passed, else MISSING. */
int hold_reason(const struct hold *hold, int64_t now);
void hold_check_deadline(struct engine *engine, struct hold *hold, int64_t now);

/* Takes the reply to a command of a hold that goes on: marks the hold as lost if the server does not have it, or if its
 * deadline has passed. That may end the hold, if operations of its owner begin meanwhile. Then its command has no hold
 * any more. */
void hold_check_found(struct engine *engine, struct hold *hold, int64_t found, int64_t now);
void hold_end(struct engine *engine, struct hold *hold, int64_t now);

#endif
