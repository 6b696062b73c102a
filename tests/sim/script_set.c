/* Loads scripts and runs them. A server in trouble refuses commands inside a script. For that a prologue is put before
 * the script; it hides redis.call.
 * SPDX-License-Identifier: Apache-2.0 */
#include "script_set.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Redis' commands that may need memory, and all that write. */
#define TAKE_MEMORY \
    "hset=1, hsetnx=1, hincrby=1, set=1, incr=1, incrby=1, decr=1, decrby=1, zadd=1, zincrby=1, lpush=1, " \
    "rpush=1, "
#define WRITE TAKE_MEMORY "hdel=1, del=1, getdel=1, pexpire=1, pexpireat=1, persist=1, lpop=1, rpop=1, lrem=1, zrem=1"

static const char *const prologues[REFUSE_COUNT] = {
    [REFUSE_NOTHING] = "",
    [REFUSE_MEMORY] = ("local no, why = {" TAKE_MEMORY "}, "
                       "\"OOM command not allowed when used memory > 'maxmemory'.\" "),
    [REFUSE_WRITES] = ("local no, why = {" WRITE "}, "
                       "'MISCONF Redis is configured to save RDB snapshots, but it is unable to persist to disk.' "),
    [REFUSE_REPLICA] = ("local no, why = {" WRITE "}, "
                        "'READONLY You can not write against a read only replica.' "),
    [REFUSE_PUBLISH] = ("local no, why = {publish=1}, "
                        "'ERR ACL failure in script: User test has no permissions to access the channel' "),
    [REFUSE_ONE] = ("local no, why = {[table.remove(ARGV)]=1}, " /* the command's name is the last of ARGV */
                    "'ERR ACL failure in script: User test has no permissions to run the command' "),
};

/* The prologue that refuses commands until the script has written something. After that it refuses only commands that
 * do not write, such as PUBLISH. */
static const char refusing_call[] =
    "local server, writes, written = redis, {" WRITE "}, false "
    "local function refuses(name) "
    "if no[name] and not (written and writes[name]) then return {err = why} end "
    "written = written or writes[name] end "
    "local redis = {error_reply = server.error_reply, status_reply = server.status_reply, "
    "pcall = function(name, ...) return refuses(name) or server.pcall(name, ...) end, "
    "call = function(name, ...) "
    "local refused = refuses(name) "
    "if refused then error(refused) end "
    "return server.call(name, ...) end} ";

/* The prologue for an access rule, which refuses the command whatever the script has written before. */
static const char refusing_always[] =
    "local server = redis "
    "local redis = setmetatable({acl_check_cmd = function(name) return not no[name] end, "
    "pcall = function(name, ...) if no[name] then return {err = why} end "
    "return server.pcall(name, ...) end, "
    "call = function(name, ...) if no[name] then error({err = why}) end return server.call(name, ...) end}, "
    "{__index = server}) ";

static const char *wrapping_of(int error_reply) {
    return error_reply == REFUSE_NOTHING ? "" : error_reply == REFUSE_ONE ? refusing_always : refusing_call;
}

static bool load(struct script_set *set, enum script_id script, struct redis_text text) {
    for (int error_reply = 0; error_reply < REFUSE_COUNT; error_reply++) {
        size_t room = text.size + sizeof refusing_call + sizeof refusing_always + 500;
        char *whole = allocate(room, 1);
        int head = snprintf(whole, room, "%s%s", prologues[error_reply], wrapping_of(error_reply));
        memcpy(whole + head, text.bytes, text.size);
        struct redis_text loaded = {whole, (size_t)head + text.size};
        set->numbers[script][error_reply] = script_host_load(set->host, loaded);
        free(whole);
        if (set->numbers[script][error_reply] < 0) {
            fprintf(stderr, "%s: %s\n", scripts_embedded[script].name, script_host_load_error(set->host));
            return false;
        }
    }
    return true;
}

static bool load_file(struct script_set *set, enum script_id script, const char *folder) {
    char path[4096];
    char text[16384];
    snprintf(path, sizeof path, "%s/%s.lua", folder, scripts_embedded[script].name);
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "%s: can not be read; expected the script %s\n", path, scripts_embedded[script].name);
        return false;
    }
    size_t size = fread(text, 1, sizeof text, file);
    fclose(file);
    return load(set, script, (struct redis_text){text, size});
}

bool script_set_open(struct script_set *set, const char *folder) {
    set->host = script_host_new();
    memset(set->runs, 0, sizeof set->runs);
    for (int script = 0; script < SCRIPT_COUNT; script++) {
        struct redis_text text = {scripts_embedded[script].text, scripts_embedded[script].size};
        bool good = folder ? load_file(set, (enum script_id)script, folder) : load(set, (enum script_id)script, text);
        if (!good) {
            return false;
        }
    }
    return true;
}

bool script_set_replace(struct script_set *set, enum script_id script, struct redis_text text) {
    return load(set, script, text);
}

bool script_set_edit(struct script_set *set, enum script_id script, const char *part, const char *instead) {
    const char *text = scripts_embedded[script].text;
    const char *at = strstr(text, part);
    if (!at) {
        fprintf(stderr, "%s: the script has no such part: %s\n", scripts_embedded[script].name, part);
        return false;
    }
    size_t room = strlen(text) + strlen(instead) + 1;
    char *whole = allocate(room, 1);
    snprintf(whole, room, "%.*s%s%s", (int)(at - text), text, instead, at + strlen(part));
    bool good = load(set, script, redis_text(whole));
    free(whole);
    return good;
}

void script_set_close(struct script_set *set) {
    script_host_free(set->host);
}

void script_set_run(struct script_set *set, enum script_id script, enum script_error_reply error_reply,
                    struct keyspace *keyspace, const struct redis_text *texts, size_t key_count, size_t argument_count,
                    struct redis_reply *reply_out) {
    set->runs[script]++;
    script_host_run(set->host, keyspace, set->numbers[script][error_reply], texts, key_count, texts + key_count,
                    argument_count, reply_out);
}

void script_set_run_without(struct script_set *set, enum script_id script, const char *command,
                            struct keyspace *keyspace, const struct redis_text *texts, size_t key_count,
                            size_t argument_count, struct redis_reply *reply_out) {
    struct redis_text *arguments = allocate(argument_count + 1, sizeof *arguments);
    memcpy(arguments, texts + key_count, argument_count * sizeof *arguments);
    arguments[argument_count] = redis_text(command);
    script_host_run(set->host, keyspace, set->numbers[script][REFUSE_ONE], texts, key_count, arguments,
                    argument_count + 1, reply_out);
    free(arguments);
}

void script_runs_print(const uint64_t runs[SCRIPT_COUNT]) {
    for (int script = 0; script < SCRIPT_COUNT; script++) {
        if (runs[script] > 0) {
            printf("%12" PRIu64 "  script %s\n", runs[script], scripts_embedded[script].name);
        }
    }
}
