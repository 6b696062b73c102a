/* Redis servers at the far end of the lines: the model of the simulations, spoken to in the Redis protocol.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_SERVERS_H
#define MODEL_SERVERS_H

#include <stdbool.h>
#include <stdint.h>

enum { SERVERS = 3 };

/* What a user may be forbidden. */
enum { DENIES_CLIENT = 1, DENIES_INFO = 2, DENIES_SUBSCRIBE = 4, DENIES_INSPECT = 8 };

/* Loads the scripts, once in a process. */
void model_servers_open(void);

/* Empty servers, before and after each run. */
void model_servers_begin(void);
void model_servers_end(void);

/* Nothing is served until then. */
void model_server_freeze(int server, int64_t until);

/* Every command but the greeting's is answered by this error until then. */
void model_server_refuse(int server, const char *error, int64_t until);

/* Sends each client what is not of the Redis protocol. */
void model_server_babble(int server);

/* Scripts run, but their replies are of another shape until then. */
void model_server_garble(int server, int64_t until);

void model_server_deny(int server, int denied);

/* All its connections end; with `restart` it has another run id and knows no script, and without `keep` no key. */
void model_server_cut(int server);
void model_server_restart(int server, bool keep);
void model_server_forget_scripts(int server);

/* A key goes, as by somebody else, and whoever waits for a lock of that name is notified. */
void model_server_delete(int server, const char *key);

/* Somebody else notifies whoever waits for a lock of that name, so many times at once. */
void model_server_flood(int server, const char *key, int messages);

/* A key becomes something else: of another type, or of the shape of another kind of lock. */
void model_server_replace(int server, const char *key, int shape);

/* What is left there goes into the trace. */
void model_server_show(int server);

#endif
