/* Reports of names, as the commands read and print them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FOUND_H
#define FOUND_H

#include "cli.h"
#include "hosts.h"

/* A report with its facts. */
struct found {
    redlatch_report *report;
    redlatch_facts facts;
    const char *name;
    const struct hosts *hosts; /* completes parties without a location; NULL: they stay without */
};

/* Inspects a name, and whether `owner`, which may be NULL, holds it. Returns STATUS_GOOD with a report that the caller
 * frees, or another exit status after a complaint. */
int found_inspect(redlatch_client *client, const char *name, const char *owner, struct found *found);

/* Stores a report and its facts. The caller frees the report, also after a failure. Returns false after a complaint if
 * the library failed. */
bool found_read(struct found *found, redlatch_report *report);

/* Returns whether it is the count of a semaphore or a latch. Nobody holds a count as a whole. Whether a caller has to
 * wait depends on the kind and on how many permits it wants. */
bool found_is_count(const struct found *found);

/* Returns whether somebody holds it. Returns false for a count. */
bool found_is_held(const struct found *found);

/* Returns whether an owner holds it, alone or with others. */
bool found_is_held_by(const struct found *found, const char *owner);

/* Reads the party at an index. Returns false if there is none. */
bool found_party(const struct found *found, uint64_t index, redlatch_party *party);

/* Takes one step of a scan, with one command at most. event_out->status is OK with a report, OK without one at the end,
 * AGAIN if this step found no lock, or another status of the library with its message. The caller frees the report. The
 * message is valid until the next step. */
void found_scan_step(redlatch_client *client, redlatch_scan *scan, redlatch_event *event_out);

/* Returns a party in words: its owner id, and its label, process and host if they are known. In new memory, or NULL if
 * there is none. */
char *party_text(const redlatch_party *party);

enum { LOCATION_SIZE = 176 };

/* Writes the location of a party for a table: [<label>@]<host>:<pid>, or nothing if it is not known. */
void party_location(const redlatch_party *party, char text[LOCATION_SIZE]);

/* Returns the first holder as party_text does, and how many more there are. Returns NULL without a holder or memory. */
char *found_holder_text(const struct found *found);

/* Prints the text `gave_up`, and then the holder of a name. `template` makes the key of the name, or is NULL. Returns
 * false if nobody holds the name, or if it cannot be inspected. */
bool found_say_holder(redlatch_client *client, const char *name, const char *template, const char *gave_up);

/* owner.c: releases what an owner holds of an inspected name, or extends it by a lease that is not 0. Changes nothing
 * of other owners, and no group lock. *done_out: whether the owner still held it. Returns a status of the library. */
int owner_change(redlatch_client *client, const struct found *found, const char *owner, int64_t lease_ms,
                 bool *done_out);

/* Returns "holder", "reader", "writer" or "waiter". */
const char *role_name(int role);

/* json.c: prints a report as an object, or several as an array. */
void json_print_one(const struct found *found);
void json_print_all(const struct found *found, size_t count);

/* report_lines.c: prints a report, a line for each fact and party. */
void lines_print(const struct found *found);

/* show_mine.c: `show --mine`. Returns the exit status. */
int show_mine(const struct server_options *given, bool as_json);

/* table.c: prints a line for each report, with the node if `wide`. */
void table_print(const struct found *found, size_t count, bool wide);

/* text.c: returns text of any bytes for a terminal: a byte that cannot be shown becomes \xNN, and what is wider than
 * `columns` (0: no limit) is cut and ends with three dots. *width_out is the width in columns. In new memory, or NULL
 * if there is none. */
char *text_shown(const char *text, size_t size, int columns, int *width_out);

/* Writes the rest of a lease: "29.8 s", "15 min", "no lease". */
void text_ttl(int64_t ttl_ms, char text[32]);

/* Writes a duration that a user has chosen: "10 min", "1.5 s", "2 h". */
void text_duration(int64_t ms, char text[32]);

/* Returns the width of the terminal at standard output. Returns 0 if that is no terminal. */
int text_terminal_width(void);

/* Returns whether to use colours: on a terminal, unless NO_COLOR or TERM=dumb says otherwise. */
bool text_coloured(void);

#endif
