/* The lines between clients and servers: connections on which bytes take time, and which either end may close.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHEDULE_LINES_H
#define SCHEDULE_LINES_H

#include "descriptors.h"

struct line;

/* The server's handlers: bytes have arrived; the client's end was closed. */
typedef void line_receiver(struct line *line, const char *bytes, size_t size);
typedef void line_ender(struct line *line);

/* Called when a client sends bytes, before they are on their way. */
typedef void line_sender(struct line *line, const char *bytes, size_t size);

struct line {
    int server;
    void *state; /* of the server */
    int64_t delay;
    int64_t connected_at;
    int64_t sent_until, replied_until; /* when the last bytes sent arrive */
    int64_t full_until;                /* until then the client's end accepts no bytes */
    char *in;                          /* arrived at the client and not read */
    size_t in_size;
    bool ended;     /* the client knows that the server has closed its end */
    bool hung_up;   /* the server has closed its end */
    bool abandoned; /* the client has closed its end */
};

/* Called before each run. Frees the lines of the run before. */
void lines_begin(line_receiver *receive, line_ender *end, line_sender *send);

/* Sends bytes to the client. Called by the server. */
void line_reply(struct line *line, const char *bytes, size_t size);

/* Closes the server's end. Bytes on their way to the client still arrive, unless `cut`. */
void line_cut(struct line *line, bool cut);

/* Until then, new connections to a server are refused, or with `slow` take half a second. */
void lines_refuse(int server, int64_t until, bool slow);

/* Makes new connections to the address of a server lead to another server, as behind a proxy. With `balances` they lead
 * to server 0 or 1 at random. */
void lines_lead(int address, int server, bool balances);

/* Until then, sending to a server ends the connection, as when a device on the way has forgotten it. */
void lines_reset(int server, int64_t until);

/* For descriptors.c. */
short line_events(const struct descriptor *descriptor, short events);
void line_hang_up(struct line *line);

#endif
