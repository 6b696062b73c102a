/* Variants of the scripts about several names, each with one mistake that somebody might well make.
 * SPDX-License-Identifier: Apache-2.0 */
#include "planted_scripts.h"

#include <stddef.h>

#include "redlatch.h"

/* What stands where in the arguments, for the scripts below. */
#define ACQUIRE_LINES \
    "local at, lines = 3, {}\n" \
    "for i, name in ipairs(KEYS) do\n" \
    "    local raises = string.sub(ARGV[2], i, i) == 'M'\n" \
    "    lines[i] = {name = name, owner = ARGV[at], levels = raises and ARGV[at + 1] or '1'}\n" \
    "    at = at + (raises and 2 or 1)\n" \
    "end\n"
#define RELEASE_LINES \
    "local at, lines, found = 2, {}, {}\n" \
    "for i, name in ipairs(KEYS) do\n" \
    "    local lowers = string.sub(ARGV[1], i, i) == 'M'\n" \
    "    local channel = at + (lowers and 2 or 1)\n" \
    "    lines[i] = {name = name, owner = ARGV[at], left = lowers and ARGV[at + 1] or '0', channel = ARGV[channel]}\n" \
    "    at = channel + 1\n" \
    "end\n"
#define TAKE_LINES \
    "for _, line in ipairs(lines) do\n" \
    "    redis.call('hset', line.name, line.owner, line.levels)\n" \
    "    if redis.call('pttl', line.name) < tonumber(ARGV[1]) then redis.call('pexpire', line.name, ARGV[1]) end\n" \
    "end\n" \
    "return {0}\n"

const struct planted_script planted_sets[] = {
    {"a set granted as far as its names are free", SCRIPT_ACQUIRE_MANY, REDLATCH_MUTEX,
     ACQUIRE_LINES
     "for i, line in ipairs(lines) do\n"
     "    local ttl = redis.call('pttl', line.name)\n"
     "    if ttl ~= -2 and redis.call('hexists', line.name, line.owner) == 0 then return {i, ttl} end\n"
     "    if ttl == -2 and line.levels ~= '1' then return {i, -3} end\n"
     "    redis.call('hset', line.name, line.owner, line.levels)\n"
     "    if ttl < tonumber(ARGV[1]) then redis.call('pexpire', line.name, ARGV[1]) end\n"
     "end\n"
     "return {0}\n"},
    {"a level of a set raised out of nothing", SCRIPT_ACQUIRE_MANY, REDLATCH_MUTEX,
     ACQUIRE_LINES
     "for i, line in ipairs(lines) do\n"
     "    local ttl = redis.call('pttl', line.name)\n"
     "    if ttl ~= -2 and redis.call('hexists', line.name, line.owner) == 0 then return {i, ttl} end\n"
     "end\n"
     TAKE_LINES},
    {"a set whose last name is not looked at", SCRIPT_ACQUIRE_MANY, REDLATCH_MUTEX,
     ACQUIRE_LINES
     "for i = 1, #lines - 1 do\n"
     "    local line = lines[i]\n"
     "    local ttl = redis.call('pttl', line.name)\n"
     "    if ttl ~= -2 and redis.call('hexists', line.name, line.owner) == 0 then return {i, ttl} end\n"
     "    if ttl == -2 and line.levels ~= '1' then return {i, -3} end\n"
     "end\n"
     TAKE_LINES},
    {"a set released without a message", SCRIPT_RELEASE_MANY, REDLATCH_MUTEX,
     RELEASE_LINES
     "for i, line in ipairs(lines) do\n"
     "    if line.left == '0' then\n"
     "        found[i] = redis.call('hdel', line.name, line.owner)\n"
     "    else\n"
     "        found[i] = redis.call('hexists', line.name, line.owner)\n"
     "        if found[i] == 1 then redis.call('hset', line.name, line.owner, line.left) end\n"
     "    end\n"
     "end\n"
     "return found\n"},
    {"a set released by its first name", SCRIPT_RELEASE_MANY, REDLATCH_MUTEX,
     RELEASE_LINES
     "for i, line in ipairs(lines) do\n"
     "    if line.left == '0' and (i == 1 or found[1] == 0) then\n"
     "        found[i] = redis.call('hdel', line.name, line.owner)\n"
     "        if found[i] == 1 then redis.call('publish', line.channel, '0') end\n"
     "    else\n"
     "        found[i] = redis.call('hexists', line.name, line.owner)\n"
     "        if found[i] == 1 and line.left ~= '0' then redis.call('hset', line.name, line.owner, line.left) end\n"
     "    end\n"
     "end\n"
     "return found\n"},
    {NULL, SCRIPT_COUNT, 0, NULL},
};

/* Of the forms of the other kinds. */
const struct planted_edit planted_forms[] = {
    {"a set that draws a token again", SCRIPT_ACQUIRE_MANY, REDLATCH_FENCED,
     "if not (call('get', counter) and held) then", "if true then"},
    {"a set that draws no token", SCRIPT_ACQUIRE_MANY, REDLATCH_FENCED,
     "call('incr', counter)", "call('set', counter, call('get', counter) or '1')"},
    {"a set that takes a plain lock from its holder", SCRIPT_ACQUIRE_MANY, REDLATCH_PLAIN,
     "if not holder or holder == line.owner then", "if true then"},
    {"a set whose plain lock never ends", SCRIPT_ACQUIRE_MANY, REDLATCH_PLAIN,
     "call('set', line.name, line.owner, 'px', lease)", "call('set', line.name, line.owner)"},
    {"a set that releases a plain lock of others", SCRIPT_RELEASE_MANY, REDLATCH_PLAIN,
     "if call('get', line.name) ~= line.owner then", "if not call('get', line.name) then"},
    {"a set's plain lock released without a message", SCRIPT_RELEASE_MANY, REDLATCH_PLAIN,
     "call('del', line.name)\n    return true, '0'", "call('del', line.name)\n    return true"},
    {"a set that reads beside a stranger who writes", SCRIPT_ACQUIRE_MANY, REDLATCH_READ,
     "line.mode == 'write' and line.count == 0", "line.mode == 'none' and line.count == 0"},
    {"a set that reads without a timeout key", SCRIPT_ACQUIRE_MANY, REDLATCH_READ,
     "if not call('set', timeout, '1', 'px', lease, 'nx') then", "if false then"},
    {"a set that writes beside readers", SCRIPT_ACQUIRE_MANY, REDLATCH_READ,
     "or line.mode and line.ttl or nil", "or line.mode == 'write' and line.ttl or nil"},
    {"a read level of a set raised out of nothing", SCRIPT_ACQUIRE_MANY, REDLATCH_READ,
     "return not alive and GONE or nil", "return nil"},
    {"a set's read release takes the lock from others", SCRIPT_RELEASE_MANY, REDLATCH_READ,
     "if longest == -2 then", "if true then"},
    {"a set's last read tells nobody", SCRIPT_RELEASE_MANY, REDLATCH_READ,
     "call('del', line.name)\n        return true, '0'", "call('del', line.name)\n        return true"},
    {"a set's write release tells nobody", SCRIPT_RELEASE_MANY, REDLATCH_READ,
     "return true, '1'", "return true"},
    {"a set's downgrade that leaves write mode", SCRIPT_RELEASE_MANY, REDLATCH_READ,
     "call('hset', line.name, 'mode', 'read')", ""},
    {NULL, SCRIPT_ACQUIRE_MANY, REDLATCH_MUTEX, NULL, NULL},
};
