/* An inquiry: a question to the server, for the script `inspect` or as a plain command, and the text of the reply. A
 * blocking or a started call sends it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INQUIRY_H
#define INQUIRY_H

#include "node.h"
#include "report.h"

struct inquiry {
    struct question question;
    struct argument_part arguments[REDLATCH_ARGUMENTS_MAX];
    const char *verb; /* for error texts; NULL: "inspect". With a verb, a reply of any kind becomes text: a number its
                         digits, an array its elements with a newline after each */
    struct argument_part subject; /* for error texts and events: a name, or the pattern of a walk */
    char *text;                   /* the reply's */
    size_t size;
    char node[NODE_ADDRESS_SIZE]; /* the node that replied */

    /* of a started call, whose inquiry is on the heap */
    bool (*answered)(struct request *request); /* sets the operation's status and `report` for the event; returns
                                            false if it has set a further question instead */
    char *name;                                /* memory of the name, or NULL; `owner` likewise */
    char *owner;
    struct walk *walk;               /* with a reference, if this is a step of a walk; else NULL */
    struct explanation *explanation; /* if this explains a failed call; else NULL */
    struct request *explained;       /* that call, which is done and on no list; else NULL */
    int64_t until;                   /* the deadline for all replies; 0: each has the command timeout */
    redlatch_report *report;
};

/* Returns the question for an operation. The text of its reply goes to the inquiry. */
struct question *inquiry_question(struct inquiry *inquiry);

/* Sends the question and waits for the reply, within the command timeout. The caller frees the text, also on failure.
 * Sets the last error. */
int inquiry_execute(struct client *client, struct inquiry *inquiry);

/* The same inside a call that has entered the client, until the inquiry's `until`. A fired `cancel`, which may be NULL,
 * ends it. Returns a status; the last error is the caller's business. With the mutex. */
int inquiry_drive(struct client *client, struct inquiry *inquiry, struct redlatch_cancel *cancel);

/* Starts a call for the inquiry, inside another call. If there was no memory, frees the inquiry and returns false. With
 * the mutex. */
bool inquiry_start_inside(struct client *client, struct inquiry *inquiry);

/* Starts a call for the inquiry, which completes with an event ANSWERED. On failure the inquiry is freed. */
int inquiry_start(struct client *client, struct inquiry *inquiry, uint64_t tag);

/* The same without a question: `status` and the inquiry's report are known. */
int inquiry_start_known(struct client *client, struct inquiry *inquiry, int status, uint64_t tag);

/* Takes in the reply of a started call that is done and on no list. Returns false if the call goes on with a further
 * question. With the mutex, which is dropped for a moment. */
bool inquiry_complete(struct request *request);

void inquiry_free(struct inquiry *inquiry);

/* Makes a report of the reply about one name. The last error is the caller's business. */
int inquiry_report(const struct client *client, const struct inquiry *inquiry, redlatch_report **report_out);

/* Joins the client's prefix and `text` in new memory. With `as_glob` the prefix is escaped, so that as a glob it
 * matches only itself. Returns NULL if there was no memory. */
char *name_join(const struct client *client, bool as_glob, const char *text, size_t size, size_t *joined_size_out);

#endif
