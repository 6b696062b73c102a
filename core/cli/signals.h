/* The signals that `run` catches. Each becomes a byte in a pipe, so that one loop handles them one after the other.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <signal.h>
#include <stdbool.h>

#include "redlatch.h"

/* Begins to catch signals. A signal that was ignored when the program began (as by nohup) stays ignored. Until
 * signals_stop_cancelling no command runs: a signal that asks for an end fires `cancel`, and the others are dropped.
 * Returns false if no descriptors can be opened. */
bool signals_catch(redlatch_cancel *cancel);
void signals_stop_cancelling(void);

/* Called after the command has ended. Signals, also those still in the pipe, are handled as before
 * signals_stop_cancelling. */
void signals_resume_cancelling(redlatch_cancel *cancel);

/* Returns whether a signal asks for an end: INT, TERM, HUP or QUIT. */
bool signals_is_end(int number);

/* Returns a descriptor that is readable when a signal has arrived. */
int signals_fd(void);

/* Returns the next signal that has arrived, or 0. */
int signals_next(void);

/* Returns the signal that asked for an end while no command ran, or 0. */
int signals_end_requested(void);

/* Returns the exit status for an end by signal N: 128 + N. For INT and QUIT it is -N, for signals_die: only if this
 * process ends by the signal itself, a shell ends its loop or script, too. */
int signals_ending(int number);

/* Ends this process by a signal, without a core dump. Returns 128 + N if the signal is ignored. */
int signals_die(int number);

/* signals_block blocks all signals. signals_listen restores the mask, with SIGCHLD unblocked and SIGTTOU blocked, as
 * the supervision of a command needs it. A child may be forked between the two. */
void signals_block(void);
void signals_listen(void);

/* In a child: restores the handlers and the mask with which the program began. */
void signals_restore(void);

/* Stops the process group of this process, as the terminal's key does, until it is continued. Does nothing in an
 * orphaned process group, which nobody could continue. */
void signals_stop_self(void);

#endif
