/* A question of the script `inspect` and the text of its reply. A blocking or a started call asks it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INQUIRY_H
#define INQUIRY_H

#include "node.h"
#include "report.h"

struct inquiry {
    struct question question;
    struct argument_part arguments[REDLATCH_ARGUMENTS_MAX];
    const char *verb; /* what it does, for messages; a reply of any kind becomes text then: a number its digits, of an
                         array each element and a newline. NULL: it inspects */
    struct argument_part subject; /* for messages and events: a name, or the pattern of a walk */
    char *text;                   /* the reply's */
    size_t size;
    char node[NODE_ADDRESS_SIZE]; /* that it came from */

    /* of a started call, on the heap */
    bool (*answered)(struct request *request); /* puts what is to be told into the operation's status and `report`;
                                            false if another question, which it has set, is to be asked before */
    char *name;                                /* these two are memory of its words; NULL */
    char *owner;
    struct walk *walk;               /* whose step it is, kept; NULL */
    struct explanation *explanation; /* what it finds out of a call that failed; NULL */
    struct request *explained;       /* that call, which is done and on no list; NULL */
    int64_t until;                   /* no reply is waited for longer; 0: each is, like any command's */
    redlatch_report *report;
};

/* The question, for an operation; its text goes to the inquiry. */
struct question *inquiry_question(struct inquiry *inquiry);

/* Asks, waiting for the reply as long as for any command. The text is the caller's to free, also on failure. */
int inquiry_execute(struct client *client, struct inquiry *inquiry);

/* Asks inside of a call that is counted, with the mutex, until `until` of the inquiry or the firing of a cancel object,
 * which may be NULL: a status, and no last error. */
int inquiry_drive(struct client *client, struct inquiry *inquiry, struct redlatch_cancel *cancel);

/* Starts a call that asks inside of another, with the mutex; false without memory, with the inquiry freed. */
bool inquiry_start_inside(struct client *client, struct inquiry *inquiry);

/* Starts a call that asks: its event is ANSWERED. On failure the inquiry is freed. */
int inquiry_start(struct client *client, struct inquiry *inquiry, uint64_t tag);

/* The same without a question: what is to be told is known. */
int inquiry_start_known(struct client *client, struct inquiry *inquiry, int status, uint64_t tag);

/* Takes in the reply of a started call that is done and on no list; false if it went on to ask something else. With
 * the mutex, which is dropped for a moment. */
bool inquiry_complete(struct request *request);

void inquiry_free(struct inquiry *inquiry);

/* The reply about one name becomes a report; the last error is the caller's business. */
int inquiry_report(const struct client *client, const struct inquiry *inquiry, redlatch_report **report_out);

/* Writes the client's prefix (as a glob that matches just that, if so wanted) and `text` into new memory; NULL without.
 */
char *name_join(const struct client *client, bool as_glob, const char *text, size_t size, size_t *joined_size_out);

#endif
