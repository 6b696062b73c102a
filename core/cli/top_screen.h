/* The screen of `redlatch top`: the terminal's modes, and what is drawn.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOP_SCREEN_H
#define TOP_SCREEN_H

#include "top.h"

/* Takes the terminal: its own screen, no echo, keys at once. false if it is none. */
bool screen_open(void);
void screen_close(void);

/* Rows and columns of the terminal. */
void screen_size(int *rows, int *columns);

/* Waits for a key for at most so long: the key; 0 if there was none; -1 if the terminal is gone or a signal wants the
 * end. A change of the terminal's size ends the wait. */
int screen_key(int wait_ms);

/* The signal that wants the end; 0: none. */
int screen_ended_by(void);

/* What stands above the locks. */
struct screen_head {
    const char *url;
    const char *problem; /* why nothing new is known; NULL */
    size_t held;
    double commands_per_second; /* of the server, or of all nodes of a cluster; negative: unknown */
    bool cluster;
};

void screen_draw(const struct screen_head *head, const struct top_locks *locks, struct top_lock *const *chosen,
                 size_t count);

#endif
