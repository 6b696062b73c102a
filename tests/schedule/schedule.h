/* The schedule of a test: threads of which one runs at a time, on a clock that stands still meanwhile. The seed decides
 * which of the threads that can go on runs next, so that a seed always gives the same run.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread of the schedule is an actor. It gives its turn away when it locks a mutex, sleeps, yields or waits. When all
 * actors wait, the clock moves to the next event. The linker replaces the library's calls of system.h, of mutexes and
 * of sockets by functions of the schedule. Each such call is a line of the trace. */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct actor;
typedef void actor_run(void *context);
typedef void schedule_event(void *context, uint64_t number);

/* Begins a schedule. `trace_file` stays the caller's. */
void schedule_begin(uint64_t seed, FILE *trace_file);

uint64_t schedule_seed(void);

/* Runs until all actors have ended. Called by the thread that called schedule_begin. */
void schedule_play(void);

/* Starts an actor. May be called by another actor. `name` is copied. */
struct actor *actor_start(const char *name, actor_run *run, void *context);

/* Makes the running actor call `end` when it ends, as a thread calls the destructors of its thread-specific data. */
void actor_at_end(void (*end)(void *value), void *value);

/* Waits until an actor has ended. */
void actor_join(struct actor *actor);

/* Makes the running actor wait until `ready` returns true or the time has come. Returns the last result of `ready`. */
bool actor_wait(bool (*ready)(const void *context), const void *context, int64_t until);

/* Makes the running actor wait. */
void actor_sleep(int64_t microseconds);

/* Microseconds. */
int64_t schedule_now(void);

/* Lets the running actor take some time. Events that are due happen. */
void schedule_spend(int64_t microseconds);

/* Calls `run` at a time, in whichever actor then runs. `run` must not wait. */
void schedule_at(int64_t at, schedule_event *run, void *context, uint64_t number);

/* Random numbers, the same for each run of a seed. */
uint32_t schedule_draw(uint32_t bound);
bool schedule_chance(uint32_t per_thousand);

/* Writes a line to the trace: the time, the actor, and a text as by printf. */
void trace(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
