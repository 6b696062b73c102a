/* The screen of `redlatch top`: the terminal's modes, and what is drawn.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOP_SCREEN_H
#define TOP_SCREEN_H

#include "top.h"

/* Sets the terminal up: a screen of its own, no echo, keys without Enter. Returns false if there is no terminal. */
bool screen_open(void);
void screen_close(void);

/* Stores the rows and columns of the terminal. */
void screen_size(int *rows, int *columns);

/* Waits at most so long for a key and returns it. Returns 0 if there was none, and -1 if the terminal is gone or a
 * signal asked for an end. A change of the terminal's size ends the wait. */
int screen_key(int wait_ms);

/* Returns the signal that asked for an end, or 0. */
int screen_ended_by(void);

/* The lines above the locks. */
struct screen_head {
    const char *url;
    const char *problem; /* the error text if the last refresh failed, or NULL */
    size_t held;
    double commands_per_second; /* of the server, or of all nodes of a cluster; negative: unknown */
    bool cluster;
};

void screen_draw(const struct screen_head *head, const struct top_locks *locks, struct top_lock *const *chosen,
                 size_t count);

#endif
