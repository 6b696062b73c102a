/* Variants of the scripts about several names, each with one mistake that somebody might well make.
 * SPDX-License-Identifier: Apache-2.0 */
#include "planted_scripts.h"

#include <stddef.h>

#include "redlatch.h"

const struct planted_script planted_sets[] = {
    {"a set granted as far as its names are free", SCRIPT_ACQUIRE_MANY, REDLATCH_MUTEX,
     "for i, name in ipairs(KEYS) do\n"
     "    local ttl = redis.call('pttl', name)\n"
     "    if ttl ~= -2 and redis.call('hexists', name, ARGV[3 * i]) == 0 then return {i, ttl} end\n"
     "    if ttl == -2 and ARGV[3 * i + 1] ~= '1' then return {i, -3} end\n"
     "    redis.call('hset', name, ARGV[3 * i], ARGV[3 * i + 1])\n"
     "    if ttl < tonumber(ARGV[1]) then redis.call('pexpire', name, ARGV[1]) end\n"
     "end\n"
     "return {0}\n"},
    {"a level of a set raised out of nothing", SCRIPT_ACQUIRE_MANY, REDLATCH_MUTEX,
     "for i, name in ipairs(KEYS) do\n"
     "    local ttl = redis.call('pttl', name)\n"
     "    if ttl ~= -2 and redis.call('hexists', name, ARGV[3 * i]) == 0 then return {i, ttl} end\n"
     "end\n"
     "for i, name in ipairs(KEYS) do\n"
     "    redis.call('hset', name, ARGV[3 * i], ARGV[3 * i + 1])\n"
     "    if redis.call('pttl', name) < tonumber(ARGV[1]) then redis.call('pexpire', name, ARGV[1]) end\n"
     "end\n"
     "return {0}\n"},
    {"a set whose last name is not looked at", SCRIPT_ACQUIRE_MANY, REDLATCH_MUTEX,
     "for i = 1, #KEYS - 1 do\n"
     "    local ttl = redis.call('pttl', KEYS[i])\n"
     "    if ttl ~= -2 and redis.call('hexists', KEYS[i], ARGV[3 * i]) == 0 then return {i, ttl} end\n"
     "    if ttl == -2 and ARGV[3 * i + 1] ~= '1' then return {i, -3} end\n"
     "end\n"
     "for i, name in ipairs(KEYS) do\n"
     "    redis.call('hset', name, ARGV[3 * i], ARGV[3 * i + 1])\n"
     "    if redis.call('pttl', name) < tonumber(ARGV[1]) then redis.call('pexpire', name, ARGV[1]) end\n"
     "end\n"
     "return {0}\n"},
    {"a set released without a message", SCRIPT_RELEASE_MANY, REDLATCH_MUTEX,
     "local found = {}\n"
     "for i, name in ipairs(KEYS) do\n"
     "    local left = ARGV[4 * i - 1]\n"
     "    if left == '0' then\n"
     "        found[i] = redis.call('hdel', name, ARGV[4 * i - 2])\n"
     "    else\n"
     "        found[i] = redis.call('hexists', name, ARGV[4 * i - 2])\n"
     "        if found[i] == 1 then redis.call('hset', name, ARGV[4 * i - 2], left) end\n"
     "    end\n"
     "end\n"
     "return found\n"},
    {"a set released by its first name", SCRIPT_RELEASE_MANY, REDLATCH_MUTEX,
     "local found = {}\n"
     "for i, name in ipairs(KEYS) do\n"
     "    if ARGV[4 * i - 1] == '0' and (i == 1 or found[1] == 0) then\n"
     "        found[i] = redis.call('hdel', name, ARGV[4 * i - 2])\n"
     "        if found[i] == 1 then redis.call('publish', ARGV[4 * i], '0') end\n"
     "    else\n"
     "        found[i] = redis.call('hexists', name, ARGV[4 * i - 2])\n"
     "        local left = ARGV[4 * i - 1]\n"
     "        if found[i] == 1 and left ~= '0' then redis.call('hset', name, ARGV[4 * i - 2], left) end\n"
     "    end\n"
     "end\n"
     "return found\n"},
    {NULL, SCRIPT_COUNT, 0, NULL},
};
