/* The lines between clients and servers: bytes take a while, and a line may be cut at either end.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHEDULE_LINES_H
#define SCHEDULE_LINES_H

#include "descriptors.h"

struct line;

/* The server's part: bytes that came, and the client's end. */
typedef void line_receiver(struct line *line, const char *bytes, size_t size);
typedef void line_ender(struct line *line);

/* Bytes that a client sends, before they are on their way. */
typedef void line_sender(struct line *line, const char *bytes, size_t size);

struct line {
    int server;
    void *state; /* the server's */
    int64_t delay;
    int64_t connected_at;
    int64_t sent_until, replied_until; /* what was sent last arrives then */
    int64_t full_until;                /* the client's end takes no bytes */
    char *in;                          /* come to the client, not read */
    size_t in_size;
    bool ended;     /* the client knows that the server has hung up */
    bool hung_up;   /* the server has hung up */
    bool abandoned; /* the client has */
};

/* Before each run; frees the lines of the last. */
void lines_begin(line_receiver *receive, line_ender *end, line_sender *send);

/* To the client; to be called by the server. */
void line_reply(struct line *line, const char *bytes, size_t size);

/* The server hangs up: what is on its way to the client comes, unless `cut`. */
void line_cut(struct line *line, bool cut);

/* New connections to a server are refused until then, or with `slow` take half a second. */
void lines_refuse(int server, int64_t until, bool slow);

/* New connections to the address of a server lead to another one, as behind a proxy; or, as behind one that balances,
 * to server 0 or 1. */
void lines_lead(int address, int server, bool balances);

/* Whatever is sent to a server until then ends its connection, as when something on the way has forgotten it. */
void lines_reset(int server, int64_t until);

/* For descriptors.c. */
short line_events(const struct descriptor *descriptor, short events);
void line_hang_up(struct line *line);

#endif
