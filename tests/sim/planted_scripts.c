/* Variants of the scripts, each with one mistake that somebody might well make.
 * SPDX-License-Identifier: Apache-2.0 */
#include "planted_scripts.h"

#include <stddef.h>

#include "redlatch.h"

const struct planted_script planted_scripts[] = {
    {"release without a look at the own field", SCRIPT_RELEASE,
     "if ARGV[2] == '0' then\n"
     "    if redis.call('del', KEYS[1]) == 0 then return 0 end\n"
     "    return 1 + redis.call('publish', ARGV[3], '0')\n"
     "end\n"
     "local count = redis.call('hget', KEYS[1], ARGV[1])\n"
     "if not count then return 0 end\n"
     "redis.call('hset', KEYS[1], ARGV[1], ARGV[2])\n"
     "return 1\n", 0, false},
    {"release that deletes the whole key", SCRIPT_RELEASE,
     "local count = redis.call('hget', KEYS[1], ARGV[1])\n"
     "if not count then return 0 end\n"
     "if ARGV[2] == '0' or tonumber(count) <= 1 then\n"
     "    redis.call('del', KEYS[1])\n"
     "    return 1 + redis.call('publish', ARGV[3], '0')\n"
     "end\n"
     "redis.call('hincrby', KEYS[1], ARGV[1], -1)\n"
     "return 1\n", 0, false},
    {"release without a message", SCRIPT_RELEASE,
     "if ARGV[2] == '0' then return redis.call('hdel', KEYS[1], ARGV[1]) end\n"
     "local count = redis.call('hget', KEYS[1], ARGV[1])\n"
     "if not count then return 0 end\n"
     "if tonumber(count) > tonumber(ARGV[2]) then redis.call('hset', KEYS[1], ARGV[1], ARGV[2]) end\n"
     "return 1\n", 0, false},
    {"renew without a look at the own field", SCRIPT_RENEW,
     "local before = {}\n"
     "for i, name in ipairs(KEYS) do\n"
     "    local ttl = redis.call('pttl', name)\n"
     "    if ttl > -2 and ttl < tonumber(ARGV[2 * i]) then redis.call('pexpire', name, ARGV[2 * i]) end\n"
     "    before[i] = ttl\n"
     "end\n"
     "return before\n", 0, false},
    {"renew that shortens", SCRIPT_RENEW,
     "local before = {}\n"
     "for i, name in ipairs(KEYS) do\n"
     "    if redis.call('hexists', name, ARGV[2 * i - 1]) == 1 then\n"
     "        before[i] = redis.call('pttl', name)\n"
     "        if ARGV[2 * i] ~= '0' then redis.call('pexpire', name, ARGV[2 * i]) end\n"
     "    else\n"
     "        before[i] = -2\n"
     "    end\n"
     "end\n"
     "return before\n", 0, false},
    {"re-entry that adds instead of stating", SCRIPT_REENTER,
     "if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end\n"
     "redis.call('hincrby', KEYS[1], ARGV[1], 1)\n"
     "if redis.call('pttl', KEYS[1]) < tonumber(ARGV[3]) then redis.call('pexpire', KEYS[1], ARGV[3]) end\n"
     "return 1\n", 0, false},
    {"re-entry that shortens", SCRIPT_REENTER,
     "local count = redis.call('hget', KEYS[1], ARGV[1])\n"
     "if not count then return 0 end\n"
     "if tonumber(count) < tonumber(ARGV[2]) then redis.call('hset', KEYS[1], ARGV[1], ARGV[2]) end\n"
     "redis.call('pexpire', KEYS[1], ARGV[3])\n"
     "return 1\n", 0, false},
    {"re-entry that makes a lock", SCRIPT_REENTER,
     "redis.call('hset', KEYS[1], ARGV[1], ARGV[2])\n"
     "if redis.call('pttl', KEYS[1]) < tonumber(ARGV[3]) then redis.call('pexpire', KEYS[1], ARGV[3]) end\n"
     "return 1\n", 0, false},
    {"acquire that repeats the lease of a holder", SCRIPT_ACQUIRE,
     "local ttl = redis.call('pttl', KEYS[1])\n"
     "if ttl == -2 then redis.call('hset', KEYS[1], ARGV[1], 1) end\n"
     "if ttl == -2 or redis.call('hexists', KEYS[1], ARGV[1]) == 1 then\n"
     "    redis.call('pexpire', KEYS[1], ARGV[2] - math.max(ttl, 0))\n"
     "    return nil\n"
     "end\n"
     "return ttl\n", 0, false},
    {"acquire without a lease", SCRIPT_ACQUIRE,
     "local ttl = redis.call('pttl', KEYS[1])\n"
     "if ttl == -2 or redis.call('hexists', KEYS[1], ARGV[1]) == 1 then\n"
     "    redis.call('hset', KEYS[1], ARGV[1], 1)\n"
     "    return nil\n"
     "end\n"
     "return ttl\n", 0, false},
    {"hand-over that makes a hold out of nothing", SCRIPT_HAND_OVER,
     "redis.call('hset', KEYS[1], ARGV[2], ARGV[3])\n"
     "redis.call('hdel', KEYS[1], ARGV[1])\n"
     "redis.call('pexpire', KEYS[1], ARGV[4])\n"
     "return 1\n", 0, false},
    {"hand-over that leaves the lease as it was", SCRIPT_HAND_OVER,
     "if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then\n"
     "    redis.call('hset', KEYS[1], ARGV[2], ARGV[3])\n"
     "    redis.call('hdel', KEYS[1], ARGV[1])\n"
     "    return 1\n"
     "end\n"
     "return redis.call('hexists', KEYS[1], ARGV[2])\n", 0, false},
    {"a token drawn anew by a repeat", SCRIPT_ACQUIRE_FENCED,
     "local ttl = redis.call('pttl', KEYS[1])\n"
     "if ttl ~= -2 and redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return ttl end\n"
     "redis.call('hset', KEYS[1], ARGV[1], 1)\n"
     "if ttl < tonumber(ARGV[2]) then redis.call('pexpire', KEYS[1], ARGV[2]) end\n"
     "redis.call('incr', KEYS[2])\n"
     "return redis.call('get', KEYS[2])\n",
     REDLATCH_FENCED, false},
    {"a hand-over that draws no token", SCRIPT_HAND_OVER_FENCED,
     "if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then\n"
     "    redis.call('hset', KEYS[1], ARGV[2], ARGV[3])\n"
     "    redis.call('hdel', KEYS[1], ARGV[1])\n"
     "    redis.call('pexpire', KEYS[1], ARGV[4])\n"
     "elseif redis.call('hexists', KEYS[1], ARGV[2]) == 0 then\n"
     "    return 0\n"
     "end\n"
     "return redis.call('get', KEYS[2])\n",
     REDLATCH_FENCED, false},
    {"a set granted as far as its names are free", SCRIPT_ACQUIRE_MANY,
     "for i, name in ipairs(KEYS) do\n"
     "    local ttl = redis.call('pttl', name)\n"
     "    if ttl ~= -2 and redis.call('hexists', name, ARGV[3 * i]) == 0 then return {i, ttl} end\n"
     "    if ttl == -2 and ARGV[3 * i + 1] ~= '1' then return {i, -3} end\n"
     "    redis.call('hset', name, ARGV[3 * i], ARGV[3 * i + 1])\n"
     "    if ttl < tonumber(ARGV[1]) then redis.call('pexpire', name, ARGV[1]) end\n"
     "end\n"
     "return {0}\n", 0, true},
    {"a level of a set raised out of nothing", SCRIPT_ACQUIRE_MANY,
     "for i, name in ipairs(KEYS) do\n"
     "    local ttl = redis.call('pttl', name)\n"
     "    if ttl ~= -2 and redis.call('hexists', name, ARGV[3 * i]) == 0 then return {i, ttl} end\n"
     "end\n"
     "for i, name in ipairs(KEYS) do\n"
     "    redis.call('hset', name, ARGV[3 * i], ARGV[3 * i + 1])\n"
     "    if redis.call('pttl', name) < tonumber(ARGV[1]) then redis.call('pexpire', name, ARGV[1]) end\n"
     "end\n"
     "return {0}\n", 0, true},
    {"a set whose last name is not looked at", SCRIPT_ACQUIRE_MANY,
     "for i = 1, #KEYS - 1 do\n"
     "    local ttl = redis.call('pttl', KEYS[i])\n"
     "    if ttl ~= -2 and redis.call('hexists', KEYS[i], ARGV[3 * i]) == 0 then return {i, ttl} end\n"
     "    if ttl == -2 and ARGV[3 * i + 1] ~= '1' then return {i, -3} end\n"
     "end\n"
     "for i, name in ipairs(KEYS) do\n"
     "    redis.call('hset', name, ARGV[3 * i], ARGV[3 * i + 1])\n"
     "    if redis.call('pttl', name) < tonumber(ARGV[1]) then redis.call('pexpire', name, ARGV[1]) end\n"
     "end\n"
     "return {0}\n", 0, true},
    {"a set released without a message", SCRIPT_RELEASE_MANY,
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
     "return found\n", 0, true},
    {"a set released by its first name", SCRIPT_RELEASE_MANY,
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
     "return found\n", 0, true},
    {NULL, SCRIPT_COUNT, NULL, 0, false},
};
