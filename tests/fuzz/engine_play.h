/* The parts of the fuzz target `engine`: the steps that an input makes with the engine of the unit tests' rig, and the
 * checks between steps.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_PLAY_H
#define ENGINE_PLAY_H

#include "engine_fixture.h"
#include "fuzz.h"

/* The names of a play, each used as one kind of lock. Both modes of a read-write lock are one kind. */
enum { NAMES = 4, OWNERS = 6, THREADS = 3 };

struct play {
    struct input *input;
    uint8_t kinds[NAMES];
    struct list unanswered; /* sent subscriptions, by their links `sent` */
    bool tells;             /* prints each step */
    bool cluster;           /* there are two servers */
};

extern struct play play;

/* Prints a step when an input is replayed. */
void play_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

const char *play_name(unsigned number);

/* engine_calls.c: steps of users */
void play_acquire(void);
void play_release(void);
void play_other_call(void);
void play_acquire_set(void);
void play_release_set(void);
void play_abort(void);
void play_callers_inspect(void);
void play_claim(void);
void play_give_back(void);
void play_owner_end(void);

/* engine_server.c: steps of the server and of connections */
void play_send(void);
void play_answer(void);
void play_round(void);
void play_connection(void);
void play_subscriptions(void);
void play_message(void);
void play_answer_plainly(enum pipeline_role pipeline); /* with a reply that starts nothing new */

/* engine_cluster.c: steps of a cluster */
void play_cluster(unsigned what);
void play_reroute(void);                               /* commands go to the servers of their names */
void play_import_replied(enum pipeline_role pipeline); /* ASKING is answered, if its reply comes next */

/* engine_checks.c: invariants after every step */
void check_engine(void);

/* How many commands there were at the last check. How many there may be after some time without any reply: in addition
 * an end and an undo for each call and hold, and a refresh for each wait queue. */
uint32_t commands_under_way(void);
uint32_t commands_at_most(void);

#endif
