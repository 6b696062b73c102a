/* How each command is written: its script, its keys, its arguments.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMAND_TEMPLATES_H
#define COMMAND_TEMPLATES_H

#include "engine.h"
#include "scripts_embedded.h"

/* A script, and a letter for each of its keys and arguments.
 *   N name   T counter of tokens   C channel   o owner   s the next owner   n new hold count   l lease in ms
 *   f whether tokens begin at the server's time   m mode of a read-write lock   b base of its timeout keys
 *   k number of the kind that the name is used as   K its member type in the scripts for several names
 *   W field of the writer   S field of the next writer   w field of the reader's own write lock; empty without one
 *   a digit stands for itself
 * Timeout keys of a reader, numbered from 1 to its hold count:
 *   R key 1   E key whose number is the new hold count   D the key after that   X key 1 of the next owner
 *   B key 1 of an owner of any process
 * Fair locks:
 *   Q queue   Z time-outs of waiters   A the client's heartbeat   p enum queue_position   v wait in ms
 *   t fair timeout in ms   q whether the owner leaves the queue
 * Groups:
 *   g number of values, then each value
 * Semaphores, permit semaphores and latches:
 *   O record of the operation   e life of the record in ms   u number of the operation   a amount
 *   L leases of permits   i ids of `amount` permits   P id of the permit that a change is about
 *   x limit with which a missing semaphore is created; with 0 it is not created
 * An owner of any process:
 *   h its id   H its field as a writer */
struct command_template {
    enum script_id script;
    const char *keys;
    const char *arguments;
};

/* Returns the template of a command on a kind. `lock_kind` is 0 for a command without one, such as an inspection. */
const struct command_template *template_of(uint8_t lock_kind, uint8_t command_kind);

const struct command_template *template_of_command(const struct command *command);

#endif
