/* Variants of the scripts, each with one mistake that somebody might make.
 * SPDX-License-Identifier: Apache-2.0 */
#include "planted_edits.h"

#include <stddef.h>

#include "redlatch.h"

const struct planted_edit planted_scripts[] = {
    {"release without a look at the own field", SCRIPT_RELEASE, REDLATCH_MUTEX,
     "if ARGV[2] == '0' then\n"
     "    if redis.call('del', KEYS[1]) == 0 then return 0 end\n"
     "    return 1 + redis.call('publish', ARGV[3], '0')\n"
     "end\n"
     "local count = redis.call('hget', KEYS[1], ARGV[1])\n"
     "if not count then return 0 end\n"
     "redis.call('hset', KEYS[1], ARGV[1], ARGV[2])\n"
     "return 1\n",
     NULL},
    {"release that deletes the whole key", SCRIPT_RELEASE, REDLATCH_MUTEX,
     "local count = redis.call('hget', KEYS[1], ARGV[1])\n"
     "if not count then return 0 end\n"
     "if ARGV[2] == '0' or tonumber(count) <= 1 then\n"
     "    redis.call('del', KEYS[1])\n"
     "    return 1 + redis.call('publish', ARGV[3], '0')\n"
     "end\n"
     "redis.call('hincrby', KEYS[1], ARGV[1], -1)\n"
     "return 1\n",
     NULL},
    {"release without a message", SCRIPT_RELEASE, REDLATCH_MUTEX,
     "if ARGV[2] == '0' then return redis.call('hdel', KEYS[1], ARGV[1]) end\n"
     "local count = redis.call('hget', KEYS[1], ARGV[1])\n"
     "if not count then return 0 end\n"
     "if tonumber(count) > tonumber(ARGV[2]) then redis.call('hset', KEYS[1], ARGV[1], ARGV[2]) end\n"
     "return 1\n",
     NULL},
    {"renew without a look at the own field", SCRIPT_RENEW, REDLATCH_MUTEX,
     "local before = {}\n"
     "for i, name in ipairs(KEYS) do\n"
     "    local ttl = redis.call('pttl', name)\n"
     "    if ttl > -2 and ttl < tonumber(ARGV[2 * i]) then redis.call('pexpire', name, ARGV[2 * i]) end\n"
     "    before[i] = ttl\n"
     "end\n"
     "return before\n",
     NULL},
    {"renew that shortens", SCRIPT_RENEW, REDLATCH_MUTEX,
     "local before = {}\n"
     "for i, name in ipairs(KEYS) do\n"
     "    if redis.call('hexists', name, ARGV[2 * i - 1]) == 1 then\n"
     "        before[i] = redis.call('pttl', name)\n"
     "        if ARGV[2 * i] ~= '0' then redis.call('pexpire', name, ARGV[2 * i]) end\n"
     "    else\n"
     "        before[i] = -2\n"
     "    end\n"
     "end\n"
     "return before\n",
     NULL},
    {"re-entry that adds instead of stating", SCRIPT_REENTER, REDLATCH_MUTEX,
     "if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end\n"
     "redis.call('hincrby', KEYS[1], ARGV[1], 1)\n"
     "if redis.call('pttl', KEYS[1]) < tonumber(ARGV[3]) then redis.call('pexpire', KEYS[1], ARGV[3]) end\n"
     "return 1\n",
     NULL},
    {"re-entry that shortens", SCRIPT_REENTER, REDLATCH_MUTEX,
     "local count = redis.call('hget', KEYS[1], ARGV[1])\n"
     "if not count then return 0 end\n"
     "if tonumber(count) < tonumber(ARGV[2]) then redis.call('hset', KEYS[1], ARGV[1], ARGV[2]) end\n"
     "redis.call('pexpire', KEYS[1], ARGV[3])\n"
     "return 1\n",
     NULL},
    {"re-entry that makes a lock", SCRIPT_REENTER, REDLATCH_MUTEX,
     "redis.call('hset', KEYS[1], ARGV[1], ARGV[2])\n"
     "if redis.call('pttl', KEYS[1]) < tonumber(ARGV[3]) then redis.call('pexpire', KEYS[1], ARGV[3]) end\n"
     "return 1\n",
     NULL},
    {"acquire that repeats the lease of a holder", SCRIPT_ACQUIRE, REDLATCH_MUTEX,
     "local ttl = redis.call('pttl', KEYS[1])\n"
     "if ttl == -2 then redis.call('hset', KEYS[1], ARGV[1], 1) end\n"
     "if ttl == -2 or redis.call('hexists', KEYS[1], ARGV[1]) == 1 then\n"
     "    redis.call('pexpire', KEYS[1], ARGV[2] - math.max(ttl, 0))\n"
     "    return nil\n"
     "end\n"
     "return ttl\n",
     NULL},
    {"acquire without a lease", SCRIPT_ACQUIRE, REDLATCH_MUTEX,
     "local ttl = redis.call('pttl', KEYS[1])\n"
     "if ttl == -2 or redis.call('hexists', KEYS[1], ARGV[1]) == 1 then\n"
     "    redis.call('hset', KEYS[1], ARGV[1], 1)\n"
     "    return nil\n"
     "end\n"
     "return ttl\n",
     NULL},
    {"acquire that tells those who wait of another time", SCRIPT_ACQUIRE, REDLATCH_MUTEX,
     "local ttl = redis.call('pttl', KEYS[1])\n"
     "if ttl == -2 then redis.call('hset', KEYS[1], ARGV[1], 1) end\n"
     "if ttl == -2 or redis.call('hexists', KEYS[1], ARGV[1]) == 1 then\n"
     "    redis.call('pexpire', KEYS[1], math.max(ttl, ARGV[2]))\n"
     "    return nil\n"
     "end\n"
     "return math.max(ttl - 10, 0)\n",
     NULL},
    {"extension that gives more than was asked for", SCRIPT_EXTEND, REDLATCH_MUTEX,
     "if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end\n"
     "return redis.call('pexpire', KEYS[1], ARGV[2] + 100)\n",
     NULL},
    {"query that knows of one level only", SCRIPT_QUERY, REDLATCH_MUTEX,
     "local owner = redis.call('hkeys', KEYS[1])[1]\n"
     "return owner and {redis.call('pttl', KEYS[1]), owner, '1'} or {}\n",
     NULL},
    {"partial release that says yes of nothing", SCRIPT_RELEASE, REDLATCH_MUTEX,
     "if ARGV[2] == '0' then\n"
     "    if redis.call('hdel', KEYS[1], ARGV[1]) == 0 then return 0 end\n"
     "    return 1 + redis.call('publish', ARGV[3], '0')\n"
     "end\n"
     "local count = redis.call('hget', KEYS[1], ARGV[1])\n"
     "if count and tonumber(count) > tonumber(ARGV[2]) then redis.call('hset', KEYS[1], ARGV[1], ARGV[2]) end\n"
     "return 1\n",
     NULL},
    {"hand-over that makes a hold out of nothing", SCRIPT_HAND_OVER, REDLATCH_MUTEX,
     "redis.call('hset', KEYS[1], ARGV[2], ARGV[3])\n"
     "redis.call('hdel', KEYS[1], ARGV[1])\n"
     "redis.call('pexpire', KEYS[1], ARGV[4])\n"
     "return 1\n",
     NULL},
    {"hand-over that leaves the lease as it was", SCRIPT_HAND_OVER, REDLATCH_MUTEX,
     "if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then\n"
     "    redis.call('hset', KEYS[1], ARGV[2], ARGV[3])\n"
     "    redis.call('hdel', KEYS[1], ARGV[1])\n"
     "    return 1\n"
     "end\n"
     "return redis.call('hexists', KEYS[1], ARGV[2])\n",
     NULL},
    {"a token drawn anew by a repeat", SCRIPT_ACQUIRE_FENCED, REDLATCH_FENCED,
     "local ttl = redis.call('pttl', KEYS[1])\n"
     "if ttl ~= -2 and redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return ttl end\n"
     "redis.call('hset', KEYS[1], ARGV[1], 1)\n"
     "if ttl < tonumber(ARGV[2]) then redis.call('pexpire', KEYS[1], ARGV[2]) end\n"
     "redis.call('incr', KEYS[2])\n"
     "return redis.call('get', KEYS[2])\n",
     NULL},
    {"a hand-over that draws no token", SCRIPT_HAND_OVER_FENCED, REDLATCH_FENCED,
     "if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then\n"
     "    redis.call('hset', KEYS[1], ARGV[2], ARGV[3])\n"
     "    redis.call('hdel', KEYS[1], ARGV[1])\n"
     "    redis.call('pexpire', KEYS[1], ARGV[4])\n"
     "elseif redis.call('hexists', KEYS[1], ARGV[2]) == 0 then\n"
     "    return 0\n"
     "end\n"
     "return redis.call('get', KEYS[2])\n",
     NULL},
    {"plain: release without a look at the owner", SCRIPT_RELEASE_PLAIN, REDLATCH_PLAIN,
     "if redis.call('del', KEYS[1]) == 0 then return 0 end\n"
     "return 1 + redis.call('publish', ARGV[2], '0')\n",
     NULL},
    {"plain: release without a message", SCRIPT_RELEASE_PLAIN, REDLATCH_PLAIN,
     "if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end\n"
     "return redis.call('del', KEYS[1])\n",
     NULL},
    {"plain: acquire without a lease", SCRIPT_ACQUIRE_PLAIN, REDLATCH_PLAIN,
     "local holder = redis.call('get', KEYS[1])\n"
     "if holder and holder ~= ARGV[1] then return redis.call('pttl', KEYS[1]) end\n"
     "redis.call('set', KEYS[1], ARGV[1])\n"
     "return nil\n",
     NULL},
    {"plain: a peer's release is waited for", SCRIPT_ACQUIRE_PLAIN, REDLATCH_PLAIN,
     "local holder = redis.call('get', KEYS[1])\n"
     "if not holder then\n"
     "    redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])\n"
     "    return nil\n"
     "end\n"
     "local ttl = redis.call('pttl', KEYS[1])\n"
     "if holder ~= ARGV[1] then return ttl end\n"
     "if ttl < tonumber(ARGV[2]) then redis.call('pexpire', KEYS[1], ARGV[2]) end\n"
     "return nil\n",
     NULL},
    {"plain: hand-over that makes a hold out of nothing", SCRIPT_HAND_OVER_PLAIN, REDLATCH_PLAIN,
     "redis.call('set', KEYS[1], ARGV[2], 'px', ARGV[3])\n"
     "return 1\n",
     NULL},
    {"plain: hand-over that leaves the lease as it was", SCRIPT_HAND_OVER_PLAIN, REDLATCH_PLAIN,
     "local holder, ttl = redis.call('get', KEYS[1]), redis.call('pttl', KEYS[1])\n"
     "if holder == ARGV[1] then\n"
     "    redis.call('set', KEYS[1], ARGV[2], 'px', ttl)\n"
     "    return 1\n"
     "end\n"
     "return holder == ARGV[2] and 1 or 0\n",
     NULL},
    {"plain: renew without a look at the owner", SCRIPT_RENEW_PLAIN, REDLATCH_PLAIN,
     "local before = {}\n"
     "for i, key in ipairs(KEYS) do\n"
     "    local ttl = redis.call('pttl', key)\n"
     "    if ttl > -2 and ttl < tonumber(ARGV[2 * i]) then redis.call('pexpire', key, ARGV[2 * i]) end\n"
     "    before[i] = ttl\n"
     "end\n"
     "return before\n",
     NULL},
    {"plain: extend without a look at the owner", SCRIPT_EXTEND_PLAIN, REDLATCH_PLAIN,
     "return redis.call('pexpire', KEYS[1], ARGV[2])\n", NULL},
    {NULL, SCRIPT_COUNT, 0, NULL, NULL},
};
