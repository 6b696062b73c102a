/* The real server in model_check: its replies in the model's form, and the milliseconds in which they were given.
 * SPDX-License-Identifier: Apache-2.0
 *
 * If a connection fails, give_up ends the program. */
#ifndef TIMED_SERVER_H
#define TIMED_SERVER_H

#include <hiredis.h>

#include "redis_reply.h"
#include "redis_text.h"

/* The highest number of arguments of a command. */
enum { TIMED_SERVER_ARGUMENTS_MAX = 64 };

/* Prints why nothing can be compared, and exits with status 2. */
_Noreturn void give_up(const char *what, const char *detail);

redisContext *timed_server_connect(const char *path);

/* Reads the next reply or message. The caller frees it. */
void timed_server_next(redisContext *server, struct redis_reply *reply_out);

/* Sends a command, or a script if `script` is not NULL, between two TIMEs. Returns the server's milliseconds of the
 * first TIME. *after_out gets those of the second. */
int64_t timed_server_ask(redisContext *server, const char *script, const struct redis_text *arguments, size_t count,
                         size_t key_count, struct redis_reply *reply_out, int64_t *after_out);

/* Sends PTTL for all keys in one millisecond, and returns that millisecond. */
int64_t timed_server_pttl(redisContext *server, const struct redis_text *keys, size_t count, int64_t *left_out);

/* Blanks the digits that identify a script in an error text: the model's number differs from the SHA1 of Redis. */
void blank_script_digits(struct redis_reply *reply);

#endif
