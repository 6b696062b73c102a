/* The schedule of a test: threads of which one runs at a time, on a clock that stands still while one runs. Which of
 * those that can go on is next, the seed decides, so that a seed always gives the same run.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread of the schedule is an actor. It hands over where it locks a mutex, sleeps, yields or waits. When all wait,
 * the clock moves to the next thing that happens. The linker leads here what the library asks of the system: system.h,
 * mutexes, sockets. Each such request is a line of the trace. */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct actor;
typedef void actor_run(void *context);
typedef void schedule_event(void *context, uint64_t number);

/* Begins a schedule; `trace_file` stays the caller's. */
void schedule_begin(uint64_t seed, FILE *trace_file);

uint64_t schedule_seed(void);

/* Runs until all actors have ended; called by the thread that began. */
void schedule_play(void);

/* Starts an actor, also from within another. `name` is copied. */
struct actor *actor_start(const char *name, actor_run *run, void *context);

/* The actor that runs calls this as it ends, as a thread calls the destructor of what it keeps for itself. */
void actor_at_end(void (*end)(void *value), void *value);

/* Waits until an actor has ended. */
void actor_join(struct actor *actor);

/* The actor that runs waits until `ready` says so or the time has come: returns what it says then. */
bool actor_wait(bool (*ready)(const void *context), const void *context, int64_t until);

/* The actor that runs waits for so many microseconds. */
void actor_sleep(int64_t microseconds);

/* Microseconds. */
int64_t schedule_now(void);

/* The actor that runs takes so long. What is due happens. */
void schedule_spend(int64_t microseconds);

/* `run` is called at a time, by whoever runs then. It must not wait. */
void schedule_at(int64_t at, schedule_event *run, void *context, uint64_t number);

/* Chance, the same for a seed. */
uint32_t schedule_draw(uint32_t bound);
bool schedule_chance(uint32_t per_thousand);

/* Adds a line to the trace: the time, the actor, and a text as of printf. */
void trace(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
