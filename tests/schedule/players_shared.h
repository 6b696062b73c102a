/* What the files of the players share.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAYERS_SHARED_H
#define PLAYERS_SHARED_H

#include "players.h"
#include "redlatch_events.h"
#include "redlatch_latch.h"
#include "redlatch_multi.h"
#include "redlatch_reports.h"
#include "redlatch_semaphores.h"

enum { LOCKS_MAX = KINDS_MAX * NAMES, COMPOSITES = 3, TAGS_MAX = 4096 };

/* A client, and the handles that its players share. */
struct house {
    const struct scenario *scenario;
    redlatch_client *client;
    redlatch_lock *locks[LOCKS_MAX];
    redlatch_lock *composites[COMPOSITES];
    int lock_count;
    int composite_count;
    redlatch_semaphore *semaphore;
    redlatch_permit_semaphore *permits;
    redlatch_latch *latch;
    struct {
        redlatch_lock *lock;
        uint64_t owner;
    } tags[TAGS_MAX]; /* the lock and owner of a started call, by its tag */
    uint64_t tag_count;
    bool over; /* the players have ended */
};

struct player {
    const struct scenario *scenario;
    struct house *house;
    uint64_t owner;
    redlatch_cancel *cancel;
    uint64_t serial; /* of the permit granted last */
};

/* Writes a call and its status to the trace. Returns the status. */
int log_call(const char *what, int status);

/* The factor by which waits, pauses and faults are longer than usual. */
extern int64_t time_scale;

/* Random durations for calls. */
int64_t some_wait_ms(void);
int64_t some_lease_ms(void);

redlatch_lock *some_lock(const struct player *player);

void call_lock(struct player *player);
void call_count(struct player *player);
void call_started(struct player *player);
void call_report(struct player *player);
void call_wait(struct player *player);

/* Plays a resumable acquire to its end. */
void wait_for_lock(struct player *player, redlatch_lock *lock);

/* Makes calls with invalid arguments, each once. */
void misuse_all(const struct house *house);

/* Uses a name of each kind as each other kind, by a client of each language. */
void wrong_kinds(void);

/* Collects events as a host's loop does, and releases most grants. */
void host_run(void *context);

#endif
