/* The real server's side of model_check: its answers as the model has them, and the milliseconds they were given in.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A connection that fails ends the program by give_up. */
#ifndef TIMED_SERVER_H
#define TIMED_SERVER_H

#include <hiredis.h>

#include "redis_reply.h"
#include "redis_text.h"

/* Most arguments of one command. */
enum { TIMED_SERVER_ARGUMENTS_MAX = 64 };

/* Says why nothing can be compared, and ends with status 2. */
_Noreturn void give_up(const char *what, const char *detail);

redisContext *timed_server_connect(const char *path);

/* The next answer or message; the caller frees it. */
void timed_server_next(redisContext *server, struct redis_reply *reply_out);

/* Sends a command, or a script when `script` is not NULL, between two TIMEs. Returns the server's milliseconds before;
 * those after in *after_out. */
int64_t timed_server_ask(redisContext *server, const char *script, const struct redis_text *arguments, size_t count,
                         size_t key_count, struct redis_reply *reply_out, int64_t *after_out);

/* Asks for PTTL of all keys in one millisecond, which is returned. */
int64_t timed_server_pttl(redisContext *server, const struct redis_text *keys, size_t count, int64_t *left_out);

/* Scripts have another number in the model than their SHA1 in Redis: neither is left in the text. */
void blank_script_digits(struct redis_reply *reply);

#endif
