/* Reports as the commands print them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FOUND_H
#define FOUND_H

#include "cli.h"
#include "hosts.h"

/* A report with its facts at hand. */
struct found {
    redlatch_report *report;
    redlatch_facts facts;
    const char *name;
    const struct hosts *hosts; /* where its parties are looked for that the report does not place; NULL */
};

/* Asks about a name, and about an owner, who may be NULL. STATUS_GOOD: the report is the caller's, to be freed. Else
 * why not, said already. */
int found_inspect(redlatch_client *client, const char *name, const char *owner, struct found *found);

/* Reads the facts of a report, which it takes over. false: the library refused, which it has said. */
bool found_read(struct found *found, redlatch_report *report);

/* Whether it is a number that a semaphore or a latch has left. That has no lease of its own, and nobody holds it as a
 * whole: whether one who comes now has to wait depends on what it is and on how much is asked for. */
bool found_is_count(const struct found *found);

/* Whether somebody holds it; of what is counted there is nothing to be said. */
bool found_is_held(const struct found *found);

/* Whether an owner holds it, alone or beside others. */
bool found_is_held_by(const struct found *found, const char *owner);

/* One party; false if there is none of that index. */
bool found_party(const struct found *found, uint64_t index, redlatch_party *party);

/* One step of a scan, of one command at most: OK with a report, OK without one at the end, AGAIN if this step found no
 * lock, or another status of the library. */
int found_scan_step(redlatch_client *client, redlatch_scan *scan, redlatch_report **report_out);

/* One party in words: its owner id, and where they are known its label, process and host. Memory of the caller's; NULL
 * without. */
char *party_text(const redlatch_party *party);

enum { LOCATION_SIZE = 176 };

/* Where it is, for a table: [<label>@]<host>:<pid>; empty if that is not known. */
void party_location(const redlatch_party *party, char text[LOCATION_SIZE]);

/* The same of the first who holds the name, and how many more there are; NULL without a holder, or memory. */
char *found_holder_text(const struct found *found);

/* Says who holds a name, behind words of what was given up, with host and process where they are known. `template`: of
 * its key, or NULL. false: nobody does, or it cannot be found out. */
bool found_say_holder(redlatch_client *client, const char *name, const char *template, const char *gave_up);

/* owner.c: releases, or with a lease extends, what an owner holds of a name that was found, and nobody else's.
 * *done_out: whether it still held anything. A status of the library. */
int owner_change(redlatch_client *client, const struct found *found, const char *owner, int64_t lease_ms,
                 bool *done_out);

/* "holder", "reader", "writer", "waiter". */
const char *role_name(int role);

/* json.c: the same as one object, or as an array of them, on standard output. */
void json_print_one(const struct found *found);
void json_print_all(const struct found *found, size_t count);

/* lines.c: everything known of one, a line for each thing. */
void lines_print(const struct found *found);

/* show_mine.c: `show --mine`. The exit status. */
int show_mine(const struct server_options *given, bool as_json);

/* table.c: one line for each; a wide one with the node. */
void table_print(const struct found *found, size_t count, bool wide);

/* text.c: text of any bytes for eyes: what cannot be shown as \xNN, cut with three dots to `columns` (0: not cut).
 * Memory of the caller's, NULL without; *width_out is how many columns it takes. */
char *text_shown(const char *text, size_t size, int columns, int *width_out);

/* A time for eyes: "29.8 s", "5 min", "no lease". */
void text_ttl(int64_t ttl_ms, char text[32]);

/* A duration that somebody has chosen: "10 min", "1.5 s", "2 h". */
void text_duration(int64_t ms, char text[32]);

/* How wide the terminal is that standard output goes to; 0 if it is none. */
int text_terminal_width(void);

/* Whether to use colours: on a terminal, unless NO_COLOR says otherwise. */
bool text_coloured(void);

#endif
