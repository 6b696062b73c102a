/* Signals as bytes in a pipe, for `run`: they are dealt with in one place, one after the other.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <signal.h>
#include <stdbool.h>

#include "redlatch.h"

/* Begins to catch signals. One that was ignored when the program began (as by nohup) stays ignored. Until
 * signals_stop_cancelling there is no command: one that asks for an end fires `cancel`, and the others are dropped.
 * false: no descriptors. */
bool signals_catch(redlatch_cancel *cancel);
void signals_stop_cancelling(void);

/* After the command has ended there is none again, as before signals_stop_cancelling. */
void signals_resume_cancelling(redlatch_cancel *cancel);

/* Whether a signal asks for an end: INT, TERM, HUP and QUIT. */
bool signals_is_end(int number);

/* Readable when a signal has come. */
int signals_fd(void);

/* The next signal that has come, or 0. */
int signals_next(void);

/* The signal that asked for an end before there was a command to pass it to, or 0. */
int signals_end_requested(void);

/* How to end as one whom a signal has ended: 128 + N; for INT and QUIT, the keys by which shells tell that the user
 * wants a loop or script to end, too, the negative number, for signals_die. */
int signals_ending(int number);

/* Ends this process by a signal, without a core dump. Returns 128 + N where the signal is ignored. */
int signals_die(int number);

/* Blocks all signals, and puts the mask back as it was, but for what minding a command needs. Between the two a process
 * may be forked. */
void signals_block(void);
void signals_listen(void);

/* In a child: everything about signals is as the program found it. */
void signals_restore(void);

/* Stops this process as the terminal would, until it is continued. Does nothing where nobody could continue it. */
void signals_stop_self(void);

#endif
