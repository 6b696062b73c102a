/* Error replies as Redis 6, 7, 8 and Valkey sent them, and what each means.
 * SPDX-License-Identifier: Apache-2.0 */
#include "error_reply.h"

#include <stdlib.h>

#include "redlatch.h"
#include "unit.h"

#define SHA "f3c8e2a0d5b14a6c9e7f00112233445566778899"
#define AT(line) " script: " SHA ", on @user_script:" #line "." /* Redis 7 and newer, Valkey */
#define IN(line) "ERR Error running script (call to f_" SHA "): @user_script:" #line ": " /* Redis 6 */

enum { TRANSIENT = 1, MAY_HAVE_RUN = 2, NO_SCRIPT = 4, KEYS_SEPARATED = 8 };

static const struct {
    const char *text;
    int status;
    int flags;
} rows[] = {
    /* the server never began the command */
    {"NOSCRIPT No matching script. Please use EVAL.", REDLATCH_SERVER, TRANSIENT | NO_SCRIPT},
    {"NOSCRIPT No matching script.", REDLATCH_SERVER, TRANSIENT | NO_SCRIPT},
    {"NOAUTH Authentication required.", REDLATCH_AUTHENTICATION, 0},
    {"WRONGPASS invalid username-password pair or user is disabled.", REDLATCH_AUTHENTICATION, 0},
    {"NOPERM this user has no permissions to run the 'evalsha' command", REDLATCH_NO_PERMISSION, 0},
    {"NOPERM User lim has no permissions to run the 'evalsha' command", REDLATCH_NO_PERMISSION, 0},
    {"NOPERM this user has no permissions to access one of the keys used as arguments", REDLATCH_NO_PERMISSION, 0},
    {"NOPERM No permissions to access a key", REDLATCH_NO_PERMISSION, 0},
    {"LOADING Redis is loading the dataset in memory", REDLATCH_LOADING, TRANSIENT},
    {"LOADING Valkey is loading the dataset in memory", REDLATCH_LOADING, TRANSIENT},
    {"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", REDLATCH_SERVER_BUSY,
     TRANSIENT},
    {"BUSY Valkey is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", REDLATCH_SERVER_BUSY,
     TRANSIENT},
    {"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", REDLATCH_NOT_WRITABLE,
     TRANSIENT},
    {"TRYAGAIN Multiple keys request during rehashing of slot", REDLATCH_NOT_WRITABLE, TRANSIENT | KEYS_SEPARATED},
    {"CLUSTERDOWN Hash slot not served", REDLATCH_NOT_WRITABLE, TRANSIENT},
    {"ERR max number of clients reached", REDLATCH_TOO_MANY_CLIENTS, TRANSIENT},
    {"ERR unknown command 'EVALSHA', with args beginning with: ", REDLATCH_NO_PERMISSION, 0},
    {"ERR wrong number of arguments for 'evalsha' command", REDLATCH_SERVER, 0},
    {"ERR unknown command 'WAITAOF', with args beginning with: '1' '0' ", REDLATCH_UNSUPPORTED, 0},
    {"ERR unknown command `WAITAOF`, with args beginning with: `1`, `0`, ", REDLATCH_UNSUPPORTED, 0},
    {"ERR wrong number of arguments for command `WAITAOF`", REDLATCH_SERVER, 0},
    /* refused at the first write, outside or inside a script */
    {"READONLY You can't write against a read only replica.", REDLATCH_READ_ONLY, TRANSIENT},
    {"READONLY You can't write against a read only replica." AT(3), REDLATCH_READ_ONLY, TRANSIENT},
    {"OOM command not allowed when used memory > 'maxmemory'.", REDLATCH_SERVER_OUT_OF_MEMORY, TRANSIENT},
    {"OOM command not allowed when used memory > 'maxmemory'." AT(3), REDLATCH_SERVER_OUT_OF_MEMORY, TRANSIENT},
    {"NOREPLICAS Not enough good replicas to write." AT(3), REDLATCH_NOT_WRITABLE, TRANSIENT},
    {"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
     REDLATCH_NOT_WRITABLE, TRANSIENT},
    {"MISCONF Valkey is configured to save RDB snapshots, but it's currently unable to persist to disk.",
     REDLATCH_NOT_WRITABLE, TRANSIENT},
    {"WRONGTYPE Operation against a key holding the wrong kind of value", REDLATCH_WRONG_TYPE, 0},
    {"WRONGTYPE Operation against a key holding the wrong kind of value" AT(2), REDLATCH_WRONG_TYPE, 0},
    /* Redis 6 wraps errors that were raised inside a script */
    {IN(2) "WRONGTYPE Operation against a key holding the wrong kind of value", REDLATCH_WRONG_TYPE, 0},
    {IN(12) "-OOM command not allowed when used memory > 'maxmemory'.", REDLATCH_SERVER_OUT_OF_MEMORY, TRANSIENT},
    {IN(3) "@user_script: 3: -READONLY You can't write against a read only replica.", REDLATCH_READ_ONLY, TRANSIENT},
    {IN(3) "@user_script: 3: -NOREPLICAS Not enough good replicas to write.", REDLATCH_NOT_WRITABLE, TRANSIENT},
    /* part of the script may have been carried out */
    {IN(9) "@user_script: 9: The user executing the script can't run this command or subcommand",
     REDLATCH_NO_PERMISSION, MAY_HAVE_RUN},
    {"ERR The user executing the script can't run this command or subcommand" AT(9), REDLATCH_NO_PERMISSION,
     MAY_HAVE_RUN},
    {"ERR ACL failure in script: User lim has no permissions to run the 'publish' command" AT(9),
     REDLATCH_NO_PERMISSION, MAY_HAVE_RUN},
    {"ERR The user executing the script can't access at least one of the keys mentioned in the command arguments" AT(9),
     REDLATCH_NO_PERMISSION, MAY_HAVE_RUN},
    {"ERR The user executing the script can't publish to the channel mentioned in the command" AT(9),
     REDLATCH_NO_PERMISSION, MAY_HAVE_RUN},
    {"ERR hash value is not an integer" AT(3), REDLATCH_SERVER, MAY_HAVE_RUN},
    /* a key that the script does not declare is on the other node of a slot that migrates */
    {"ERR Script attempted to access a non local key in a cluster node" AT(30), REDLATCH_NOT_WRITABLE,
     TRANSIENT | MAY_HAVE_RUN | KEYS_SEPARATED},
    {"ERR Script attempted to access a non local key in a cluster node", REDLATCH_NOT_WRITABLE,
     TRANSIENT | MAY_HAVE_RUN | KEYS_SEPARATED},
    {IN(30) "@user_script: 30: Lua script attempted to access a non local key in a cluster node", REDLATCH_NOT_WRITABLE,
     TRANSIENT | MAY_HAVE_RUN | KEYS_SEPARATED},
    {"ERR Unable to execute command 'exists' in script because undeclared keys were accessed during rehashing of the"
     " slot" AT(52),
     REDLATCH_NOT_WRITABLE, TRANSIENT | MAY_HAVE_RUN | KEYS_SEPARATED}, /* Redis 7.4 and Valkey 8 */
    {"ERR Unable to execute command 'exists' in script because undeclared keys were accessed during rehashing of the"
     " slot",
     REDLATCH_NOT_WRITABLE, TRANSIENT | MAY_HAVE_RUN | KEYS_SEPARATED},
    /* a script that returns the error of a command itself: Redis 6 */
    {"@user_script: 38: -NOREPLICAS Not enough good replicas to write.  ", REDLATCH_NOT_WRITABLE, TRANSIENT},
    {"@user_script: 38: -READONLY You can't write against a read only replica.", REDLATCH_READ_ONLY, TRANSIENT},
    {"@user_script: 38: -OOM command not allowed when used memory > 'maxmemory'.", REDLATCH_SERVER_OUT_OF_MEMORY,
     TRANSIENT},
    {"@user_script: 38: Lua script attempted to access a non local key in a cluster node", REDLATCH_NOT_WRITABLE,
     TRANSIENT | MAY_HAVE_RUN | KEYS_SEPARATED},
    {"@user_script:", REDLATCH_SERVER, MAY_HAVE_RUN},
    /* a cluster that permits reads while it is down */
    {"ERR Script attempted to execute a write command while the cluster is down and readonly" AT(2),
     REDLATCH_NOT_WRITABLE, TRANSIENT},
    {"ERR Script attempted to execute a command while the cluster is down" AT(2), REDLATCH_NOT_WRITABLE, TRANSIENT},
    {IN(2) "@user_script: 2: Lua script attempted to execute a write command while the cluster is down and readonly",
     REDLATCH_NOT_WRITABLE, TRANSIENT},
    {"ERR WAITAOF cannot be used with replica instances. Please also note that writes to replicas are just local.",
     REDLATCH_SERVER, 0},
    {"ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.", REDLATCH_UNSUPPORTED, 0},
    {"ERR Unknown Redis command called from script" AT(3), REDLATCH_SERVER, MAY_HAVE_RUN},
    {IN(3) "", REDLATCH_SERVER, MAY_HAVE_RUN},
    {IN(3) "@user_script", REDLATCH_SERVER, MAY_HAVE_RUN},
    {"ERR unknown command 'hset'" AT(3), REDLATCH_SERVER, MAY_HAVE_RUN},
    /* texts that resemble known ones, and no text at all */
    {"BUSYKEY Target key name already exists.", REDLATCH_SERVER, 0},
    {"BUSYGROUP Consumer Group name already exists", REDLATCH_SERVER, 0},
    {"BUSY", REDLATCH_SERVER_BUSY, TRANSIENT},
    {"ERR syntax error", REDLATCH_SERVER, 0},
    {"ERR max number of channels reached", REDLATCH_SERVER, 0},
    {"ERR ACL rules of user lim", REDLATCH_SERVER, 0},
    {"ERR a replica can't run this now, and can't show it: No such user", REDLATCH_SERVER, 0},
    {"ERR unknown subcommand 'EVALSHA'", REDLATCH_SERVER, 0},
    {"ER", REDLATCH_SERVER, 0},
    {"", REDLATCH_SERVER, 0},
};

/* Each text is copied to memory of its exact size, so that the address sanitizer notices a read beyond it. */
static void means_what_the_table_says(void) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t size = strlen(rows[i].text);
        char *exact = malloc(size + (size == 0));
        CHECK(exact != NULL);
        memcpy(exact, rows[i].text, size);
        struct error_reply error = error_reply_of(exact, size);
        free(exact);
        int flags = (error.transient ? TRANSIENT : 0) | (error.may_have_executed ? MAY_HAVE_RUN : 0) |
                    (error.no_script ? NO_SCRIPT : 0) | (error.keys_separated ? KEYS_SEPARATED : 0);
        if (error.status != rows[i].status || flags != rows[i].flags) {
            fprintf(stderr, "for: %s\n", rows[i].text);
        }
        CHECK_EQ_INT(error.status, rows[i].status);
        CHECK_EQ_INT(flags, rows[i].flags);
    }
}

/* A reply is borrowed from a buffer and does not end with NUL: nothing behind its size may be read. */
static void reads_no_further_than_the_size(void) {
    static const char text[] = "OOMPH NOSCRIPT";
    CHECK_EQ_INT(error_reply_of(text, 3).status, REDLATCH_SERVER_OUT_OF_MEMORY);
    CHECK_EQ_INT(error_reply_of(text, 4).status, REDLATCH_SERVER);
    CHECK_EQ_INT(error_reply_of(NULL, 0).status, REDLATCH_SERVER);
    char exact[9];
    memcpy(exact, "READONLY ", sizeof exact);
    CHECK_EQ_INT(error_reply_of(exact, sizeof exact).status, REDLATCH_READ_ONLY);
}

int main(void) {
    RUN(means_what_the_table_says);
    RUN(reads_no_further_than_the_size);
    return unit_done();
}
