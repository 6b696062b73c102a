/* How each command is written: its script, its keys, its arguments.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMAND_TEMPLATES_H
#define COMMAND_TEMPLATES_H

#include "engine.h"
#include "scripts_embedded.h"

/* A script, then a letter for each key and each argument.
 *   N name   T counter of tokens   C channel   o owner   s the next owner   n levels   l lease in ms
 *   f whether tokens begin at the server's time   m side of a read-write lock   b base of its timeout keys
 *   k number of the kind that the name is used as
 *   W field of the writer   S of the next one   w of the reader's own write lock, empty without
 *   K the form of the kind in the scripts about several names
 * of readers, timeout keys: of the owner's
 *   R level 1   E the level that is the new count   D the level above the new count
 *   X first level of the next owner   B of an owner of any process
 * of fair locks
 *   Q queue   Z time-outs of waiters   A the client's heartbeat   p place   v wait in ms   t fair time-out in ms
 *   q whether it leaves the queue
 * of groups
 *   g number of values, and each value
 * of what is counted
 *   O record of the operation   e its life in ms   u number of the operation   a amount   L leases of permits
 *   i ids of so many permits   x limit for a semaphore that does not exist; with 0 none is made
 *   P id of the permit that a change is about   a digit stands for itself
 * of an owner of any process
 *   h its id   H its field as a writer */
struct command_template {
    enum script_id script;
    const char *keys;
    const char *arguments;
};

/* Of a command about one name of a kind; of a batch the kind is 0. */
const struct command_template *template_of(uint8_t lock_kind, uint8_t command_kind);

const struct command_template *template_of_command(const struct command *command);

#endif
