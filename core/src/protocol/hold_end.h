/* How a hold goes on once its command is done, and how it ends.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HOLD_END_H
#define HOLD_END_H

#include "engine.h"

struct hold *set_busy_hold(struct engine *engine, const struct operation *operation, int64_t now);
void entries_command_done(struct engine *engine, struct command *command, int64_t now);
void hold_command_done(struct engine *engine, struct hold *hold, int64_t now);

void hold_set_count(struct hold *hold, uint32_t count);

/* Levels that are no longer there; the last one of a lost hold ends it. Returns whether the hold is still there. */
bool hold_lower_count(struct engine *engine, struct hold *hold, uint32_t hold_count, int64_t now);
void hold_release_deferred(struct engine *engine, struct hold *hold, int64_t now);
void hold_release_sent(struct engine *engine, struct hold *hold, struct operation *operation, int64_t now);
void hold_lose(struct engine *engine, struct hold *hold, int reason, int64_t now);

/* The server did not carry out the unconfirmed release of a hold, which is about to end. */
void hold_release_failed(struct engine *engine, struct hold *hold, int status, int reason);

/* A renewal of the hold was confirmed so long after the confirmation before was requested. */
void hold_report_late(struct engine *engine, struct hold *hold, int64_t late_ms);

/* Why a hold is gone of which the server knows nothing: its time was over, or it was taken away. */
int hold_reason(const struct hold *hold, int64_t now);
void hold_check_deadline(struct engine *engine, struct hold *hold, int64_t now);
void hold_end(struct engine *engine, struct hold *hold, int64_t now);

#endif
