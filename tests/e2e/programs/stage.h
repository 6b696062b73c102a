/* Shared code of the scenes: main, checks that end the program with a message, clients and locks.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   PROGRAM                   plays every scene against a server that it starts itself
 *   PROGRAM URL SCENE NAME    plays one scene, with locks whose names begin with NAME
 *
 * SANITIZED is 1 in builds with AddressSanitizer or ThreadSanitizer: scenes are shorter then, and measure no memory. */
#ifndef STAGE_H
#define STAGE_H

#include <redlatch.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif
#ifdef __SANITIZE_ADDRESS__
#define ADDRESS_SANITIZED 1
#else
#define ADDRESS_SANITIZED 0
#endif

struct scene {
    const char *name;
    void (*play)(void);
};

/* A program's main: its arguments, and its table of scenes. */
int stage_main(int argc, char **argv, const struct scene *scenes, size_t count);

/* The server's URL, and a name for a lock that no other scene uses. A name is valid until the thread asks for a number
 * with the same remainder modulo 8. */
const char *stage_url(void);
const char *stage_name(int number);

/* Ends the program with a message unless the condition holds. */
#define MUST(condition, ...) \
    do { \
        if (!(condition)) { \
            stage_fail(__FILE__, __LINE__, #condition, __VA_ARGS__); \
        } \
    } while (0)
_Noreturn void stage_fail(const char *file, int line, const char *condition, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Ends the program unless the call returns the expected status. The message has the status and the last error. */
#define STATUS(call, expected) stage_status(__FILE__, __LINE__, #call, (call), (expected))
#define OK(call) STATUS(call, REDLATCH_OK)
void stage_status(const char *file, int line, const char *call, int status, int expected);

int64_t now_ms(void);
void sleep_ms(int64_t ms);

/* A generous bound, in ms, on what happens at once. It is well below every timeout and recheck, so that these cannot be
 * the cause. */
enum { SOON = 800 * (SANITIZED ? 4 : 1) };

/* Waits until the condition is true, for 5 s at most, or 20 s with a sanitizer. */
#define UNTIL(condition) \
    do { \
        int64_t until_ = now_ms() + 5000 * (SANITIZED ? 4 : 1); \
        while (!(condition)) { \
            MUST(now_ms() < until_, "waited in vain"); \
            sleep_ms(1); \
        } \
    } while (0)

/* Opens a client with the defaults, or with some options. The caller frees it with redlatch_client_free. */
redlatch_client *client_new(void);
redlatch_client *client_with(const redlatch_client_options *options);
redlatch_client_options client_defaults(void);
redlatch_lock *lock_new(redlatch_client *client, int number);
redlatch_stats stats_of(redlatch_client *client);
redlatch_hold hold_of(redlatch_lock *lock, uint64_t owner);
uint64_t owner_new(void);

/* Threads, each of which calls `work` with its number. workers_join waits for all of them. */
struct workers;
struct workers *workers_start(int count, void (*work)(void *shared, int number), void *shared);
void workers_join(struct workers *workers);

/* Waits at the host's event descriptor for the next event, for `wait_ms` at most. Returns AGAIN if there was none. */
int event_within(redlatch_client *client, int64_t wait_ms, redlatch_event *event_out);
int event_fd_of(redlatch_client *client);
bool is_readable(int fd);

/* Returns the next event, which must be of this kind, status and tag. */
redlatch_event event_must(redlatch_client *client, int kind, int status, uint64_t tag);

#endif
