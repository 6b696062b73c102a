/* Acknowledgements by replicas and by the disk: which commands need them, and whether a grant has them.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A driver writes WAIT, WAITAOF or both behind a command that needs acknowledgements. It uses the same connection,
 * because WAIT and WAITAOF count only the writes of their own connection. The driver keeps a reply that grants
 * something until the replies to WAIT and WAITAOF have come, and then hands all of them to the engine. It hands a reply
 * that grants nothing to the engine at once, and drops the replies to WAIT and WAITAOF. */
#ifndef ACKNOWLEDGEMENT_H
#define ACKNOWLEDGEMENT_H

#include "engine.h"

/* The error reply that replaces a grant without enough acknowledgements. */
#define NOT_REPLICATED "NOTREPLICATED too few replicas acknowledged it"

/* At most WAIT and WAITAOF follow a command. */
enum { ACKNOWLEDGEMENTS_MAX = 2 };

/* The replies to WAIT and WAITAOF behind one command. */
struct acknowledgement {
    uint32_t count;   /* replies taken */
    int64_t replicas; /* how many have what was written */
    bool on_disk;
    int status; /* of an error reply to WAIT or WAITAOF; OK: there was none */
    char error_text[ERROR_TEXT_SIZE];
};

/* Returns whether the client's settings ask for acknowledgements. */
static inline bool engine_wants_acknowledgements(const struct engine *engine) {
    return engine->settings.min_replicas > 0 || engine->settings.durable;
}

/* Returns whether commands of an operation may need acknowledgements. A pipeline is lent to such an operation, because
 * WAIT blocks a connection. */
bool operation_needs_acknowledgement(const struct engine *engine, const struct operation *operation);

/* Returns whether WAIT, WAITAOF or both follow a command. */
bool command_needs_acknowledgement(const struct engine *engine, const struct command *command);

/* On a pipeline one command at a time waits for acknowledgements. Further commands that need them are held back, and
 * commands that need none overtake those. is_held_back returns whether a command is held back now. engine_hold_back
 * notes since when unsent commands have been held back. This time is taken off their next timeout for acknowledgements.
 * engine_hold_back_nothing forgets it when the connection ends. */
bool is_held_back(const struct engine *engine, const struct command *command);
void engine_hold_back(struct engine *engine, const struct pipeline *pipeline, int64_t now);
void engine_hold_back_nothing(const struct pipeline *pipeline);

/* is_late returns whether an unsent command was held back for its whole timeout for acknowledgements.
 * acknowledgement_timeout_ms returns what is left of that timeout when the command is sent. */
bool is_late(const struct engine *engine, const struct command *command, int64_t now);
int64_t acknowledgement_timeout_ms(const struct engine *engine, const struct command *command);

/* engine_acknowledgements_follow returns how many replies to WAIT and WAITAOF follow the next reply of a pipeline.
 * engine_keeps_reply returns whether the driver is to keep that next reply until they have come. */
uint32_t engine_acknowledgements_follow(const struct engine *engine, const struct pipeline *pipeline);
bool engine_keeps_reply(const struct pipeline *pipeline, const struct reply *reply);

/* Called when the reply to a command is kept: forgets the acknowledgements of the command before. */
void acknowledgement_begin(struct acknowledgement *acknowledgement);

/* Takes the next reply to WAIT or WAITAOF. The reply to WAIT comes first. */
void acknowledgement_take(struct acknowledgement *acknowledgement, const struct engine *engine,
                          const struct reply *reply);

/* Returns whether a reply has all acknowledgements that the settings ask for. */
bool reply_is_acknowledged(const struct engine *engine, const struct reply *reply);

/* Returns the reply that a machine gets: `reply`, or in its place `error`, if `reply` grants something without enough
 * acknowledgements. A renewal always gets `reply`, and checks the acknowledgements itself. */
const struct reply *acknowledged_reply(const struct engine *engine, const struct command *command,
                                       const struct reply *reply, struct reply *error);

#endif
