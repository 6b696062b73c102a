/* Which scripts a server is known to have, for commands that must not fail because theirs is missing.
 * SPDX-License-Identifier: Apache-2.0 */
#include "known_scripts.h"

#include "acknowledgement.h"
#include "error_reply.h"
#include "wire.h"

#include <string.h>

static bool must_be_known(const struct engine *engine, const struct command *command) {
    return command->unconfirmed || command_needs_acknowledgement(engine, command);
}

static uint64_t *known_scripts(const struct engine *engine, const struct command *command, uint64_t *bit_out) {
    _Static_assert(SCRIPT_COUNT <= 128, "a bit for each script");
    uint32_t script = (uint32_t)command_script(command);
    *bit_out = UINT64_C(1) << script % 64;
    bool sharded = command_text(engine, command) == scripts_embedded[script].sharded;
    return &command->server->known_scripts[sharded][script / 64];
}

void known_scripts_prepare(struct engine *engine, struct command *command) {
    uint64_t bit;
    if (must_be_known(engine, command) && !(*known_scripts(engine, command, &bit) & bit)) {
        engine->stats.script_loads += !command->as_text;
        command->as_text = true;
    }
}

void known_scripts_replied(const struct engine *engine, const struct command *command, const struct reply *reply) {
    uint64_t bit;
    uint64_t *known = known_scripts(engine, command, &bit);
    if (reply->kind != REPLY_ERROR && must_be_known(engine, command)) {
        *known |= bit;
    } else if ((*known & bit) && reply->kind == REPLY_ERROR && error_reply_of(reply->text, reply->size).no_script) {
        known_scripts_forget(command->server);
    }
}

void known_scripts_forget(struct server *server) {
    memset(server->known_scripts, 0, sizeof server->known_scripts);
}
