/* Acknowledgements by replicas and by the disk: which commands need them, and whether a grant has them.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A driver writes WAIT, WAITAOF or both behind a command that needs them, on the same connection: these count what
 * their own connection wrote. The reply to the command is kept until theirs have come, and then handed to the engine
 * with them. A reply that grants nothing is handed over at once, and theirs are dropped. */
#ifndef ACKNOWLEDGEMENT_H
#define ACKNOWLEDGEMENT_H

#include "engine.h"

/* The error reply in place of a grant. */
#define NOT_REPLICATED "NOTREPLICATED too few replicas acknowledged it"

/* WAIT and WAITAOF. */
enum { ACKNOWLEDGEMENTS_MAX = 2 };

/* What the server said of one command. */
struct acknowledgement {
    uint32_t count;   /* replies taken */
    int64_t replicas; /* that have what was written */
    bool on_disk;
    int status; /* of an error reply; OK: there was none */
    char error_text[ERROR_TEXT_SIZE];
};

/* Whether the client wants any. */
static inline bool engine_wants_acknowledgements(const struct engine *engine) {
    return engine->settings.min_replicas > 0 || engine->settings.durable;
}

/* Whether an operation's commands may need some: then it uses a connection that is lent to it, as WAIT blocks one. */
bool operation_needs_acknowledgement(const struct engine *engine, const struct operation *operation);

/* Whether WAIT and WAITAOF follow a command. */
bool command_needs_acknowledgement(const struct engine *engine, const struct command *command);

/* One command at a time waits for acknowledgements on a pipeline; what needs none overtakes the others. Whether a
 * command is held back by that, and the time since when. It counts for the next time that the command is sent, and
 * ends with the connection. */
bool is_held_back(const struct engine *engine, const struct command *command);
void engine_hold_back(struct engine *engine, const struct pipeline *pipeline, int64_t now);
void engine_hold_back_nothing(const struct pipeline *pipeline);

/* Whether a command was held back for the whole time that it had for acknowledgements, and what is left of that, in ms.
 */
bool is_late(const struct engine *engine, const struct command *command, int64_t now);
int64_t acknowledgement_timeout_ms(const struct engine *engine, const struct command *command);

/* How many replies to WAIT and WAITAOF follow the next reply of a pipeline, and whether that is to be kept until then.
 */
uint32_t engine_acknowledgements_follow(const struct engine *engine, const struct pipeline *pipeline);
bool engine_keeps_reply(const struct pipeline *pipeline, const struct reply *reply);

/* The reply to a command is kept: nothing is known of its acknowledgements yet. */
void acknowledgement_begin(struct acknowledgement *acknowledgement);

/* Takes the next reply of those, in the order in which they were asked for: WAIT, WAITAOF. */
void acknowledgement_take(struct acknowledgement *acknowledgement, const struct engine *engine,
                          const struct reply *reply);

/* Whether enough of both is there. */
bool reply_is_acknowledged(const struct engine *engine, const struct reply *reply);

/* The reply that a machine gets: `reply`, or an error in its place if it grants something that was not acknowledged.
 * Renewals see to that themselves. */
const struct reply *acknowledged_reply(const struct engine *engine, const struct command *command,
                                       const struct reply *reply, struct reply *error);

#endif
