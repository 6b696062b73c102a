/* The scripts of a simulated server: as they are, with the error replies that a server in trouble gives, and with
 * planted faults.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SCRIPT_SET_H
#define SCRIPT_SET_H

#include "script_host.h"
#include "scripts_embedded.h"

/* What the server refuses inside a script. The script fails at its first such command. */
enum script_error_reply {
    REFUSE_NOTHING,
    REFUSE_MEMORY,  /* commands that need memory: OOM */
    REFUSE_WRITES,  /* MISCONF */
    REFUSE_REPLICA, /* READONLY */
    REFUSE_PUBLISH, /* PUBLISH, by an access rule */
    REFUSE_ONE,     /* one command, by an access rule: script_set_run_without */
    REFUSE_COUNT
};

struct script_set {
    struct script_host *host;
    int numbers[SCRIPT_COUNT][REFUSE_COUNT];
    uint64_t runs[SCRIPT_COUNT]; /* how often each script was run */
};

/* Loads the embedded texts, or the .lua files in `folder`. Returns false, with a message printed, on failure. */
bool script_set_open(struct script_set *set, const char *folder);

/* Replaces a script by `text`. */
bool script_set_replace(struct script_set *set, enum script_id script, struct redis_text text);

/* Replaces the first `part` of a script's embedded text by `instead`. Returns false, with a message printed, if the
 * text has no such part or does not compile afterwards. */
bool script_set_edit(struct script_set *set, enum script_id script, const char *part, const char *instead);
void script_set_close(struct script_set *set);

/* Runs a script on a server that refuses what `error_reply` says. `texts` are the script's keys, then its arguments. */
void script_set_run(struct script_set *set, enum script_id script, enum script_error_reply error_reply,
                    struct keyspace *keyspace, const struct redis_text *texts, size_t key_count, size_t argument_count,
                    struct redis_reply *reply_out);

/* Runs a script for a user who may not use `command`, at any place in the script. */
void script_set_run_without(struct script_set *set, enum script_id script, const char *command,
                            struct keyspace *keyspace, const struct redis_text *texts, size_t key_count,
                            size_t argument_count, struct redis_reply *reply_out);

/* Prints which scripts were run and how often. run.py reads this. */
void script_runs_print(const uint64_t runs[SCRIPT_COUNT]);

#endif
