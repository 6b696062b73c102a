/* The scripts as the simulated server knows them, in the forms that its troubles need, and with planted faults.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SCRIPT_SET_H
#define SCRIPT_SET_H

#include "script_host.h"
#include "scripts_embedded.h"

/* What the server refuses inside a script, at the first command of that sort. */
enum script_error_reply {
    REFUSE_NOTHING,
    REFUSE_MEMORY,  /* commands that need memory: OOM */
    REFUSE_WRITES,  /* MISCONF */
    REFUSE_REPLICA, /* READONLY */
    REFUSE_PUBLISH, /* an access rule */
    REFUSE_ONE,     /* the same of one command: script_set_run_without */
    REFUSE_COUNT
};

struct script_set {
    struct script_host *host;
    int numbers[SCRIPT_COUNT][REFUSE_COUNT];
    uint64_t runs[SCRIPT_COUNT]; /* how often each was run */
};

/* Loads the embedded texts, or those of the .lua files in `folder`; false, with a message printed, when that fails. */
bool script_set_open(struct script_set *set, const char *folder);

/* Runs `text` from now on as that script. */
bool script_set_replace(struct script_set *set, enum script_id script, struct redis_text text);

/* Runs from now on the embedded text with `instead` where `part` first stands; false, with a message printed, when it
 * has no such part, or does not compile so. */
bool script_set_edit(struct script_set *set, enum script_id script, const char *part, const char *instead);
void script_set_close(struct script_set *set);

/* Runs a script on a server in that trouble; `texts` are its keys and then its arguments. */
void script_set_run(struct script_set *set, enum script_id script, enum script_error_reply error_reply,
                    struct keyspace *keyspace, const struct redis_text *texts, size_t key_count, size_t argument_count,
                    struct redis_reply *reply_out);

/* The same for a user who may not use a command, wherever in the script it stands. */
void script_set_run_without(struct script_set *set, enum script_id script, const char *command,
                            struct keyspace *keyspace, const struct redis_text *texts, size_t key_count,
                            size_t argument_count, struct redis_reply *reply_out);

/* Prints the scripts that were run, and how often; run.py reads this. */
void script_runs_print(const uint64_t runs[SCRIPT_COUNT]);

#endif
