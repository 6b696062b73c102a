/* Variants of the scripts about several names, each with one mistake that somebody might make.
 * SPDX-License-Identifier: Apache-2.0 */
#include "planted_edits.h"

#include <stddef.h>

#include "redlatch.h"

/* Parts that the scripts below share: they read the entries from the arguments, or acquire them. */
#define ACQUIRE_ENTRIES \
    "local at, entries = 3, {}\n" \
    "for i, name in ipairs(KEYS) do\n" \
    "    local raises = string.sub(ARGV[2], i, i) == 'M'\n" \
    "    entries[i] = {name = name, owner = ARGV[at], count_stated = raises and ARGV[at + 1] or '1'}\n" \
    "    at = at + (raises and 2 or 1)\n" \
    "end\n"
#define RELEASE_ENTRIES \
    "local at, entries, found = 2, {}, {}\n" \
    "for i, name in ipairs(KEYS) do\n" \
    "    local lowers = string.sub(ARGV[1], i, i) == 'M'\n" \
    "    local channel = at + (lowers and 2 or 1)\n" \
    "    local left = lowers and ARGV[at + 1] or '0'\n" \
    "    entries[i] = {name = name, owner = ARGV[at], left = left, channel = ARGV[channel]}\n" \
    "    at = channel + 1\n" \
    "end\n"
#define TAKE_ENTRIES \
    "for _, entry in ipairs(entries) do\n" \
    "    redis.call('hset', entry.name, entry.owner, entry.count_stated)\n" \
    "    if redis.call('pttl', entry.name) < tonumber(ARGV[1]) then redis.call('pexpire', entry.name, ARGV[1]) end\n" \
    "end\n" \
    "return {0}\n"

const struct planted_edit planted_sets[] = {
    {"a set granted as far as its names are free", SCRIPT_ACQUIRE_MANY, REDLATCH_MUTEX,
     ACQUIRE_ENTRIES
     "for i, entry in ipairs(entries) do\n"
     "    local ttl = redis.call('pttl', entry.name)\n"
     "    if ttl ~= -2 and redis.call('hexists', entry.name, entry.owner) == 0 then return {i, ttl} end\n"
     "    if ttl == -2 and entry.count_stated ~= '1' then return {i, -3} end\n"
     "    redis.call('hset', entry.name, entry.owner, entry.count_stated)\n"
     "    if ttl < tonumber(ARGV[1]) then redis.call('pexpire', entry.name, ARGV[1]) end\n"
     "end\n"
     "return {0}\n",
     NULL},
    {"a level of a set raised out of nothing", SCRIPT_ACQUIRE_MANY, REDLATCH_MUTEX,
     ACQUIRE_ENTRIES
     "for i, entry in ipairs(entries) do\n"
     "    local ttl = redis.call('pttl', entry.name)\n"
     "    if ttl ~= -2 and redis.call('hexists', entry.name, entry.owner) == 0 then return {i, ttl} end\n"
     "end\n" TAKE_ENTRIES,
     NULL},
    {"a set whose last name is not looked at", SCRIPT_ACQUIRE_MANY, REDLATCH_MUTEX,
     ACQUIRE_ENTRIES
     "for i = 1, #entries - 1 do\n"
     "    local entry = entries[i]\n"
     "    local ttl = redis.call('pttl', entry.name)\n"
     "    if ttl ~= -2 and redis.call('hexists', entry.name, entry.owner) == 0 then return {i, ttl} end\n"
     "    if ttl == -2 and entry.count_stated ~= '1' then return {i, -3} end\n"
     "end\n" TAKE_ENTRIES,
     NULL},
    {"a set released without a message", SCRIPT_RELEASE_MANY, REDLATCH_MUTEX,
     RELEASE_ENTRIES "for i, entry in ipairs(entries) do\n"
                     "    if entry.left == '0' then\n"
                     "        found[i] = redis.call('hdel', entry.name, entry.owner)\n"
                     "    else\n"
                     "        found[i] = redis.call('hexists', entry.name, entry.owner)\n"
                     "        if found[i] == 1 then redis.call('hset', entry.name, entry.owner, entry.left) end\n"
                     "    end\n"
                     "end\n"
                     "return found\n",
     NULL},
    {"a set released by its first name", SCRIPT_RELEASE_MANY, REDLATCH_MUTEX,
     RELEASE_ENTRIES
     "for i, entry in ipairs(entries) do\n"
     "    if entry.left == '0' and (i == 1 or found[1] == 0) then\n"
     "        found[i] = redis.call('hdel', entry.name, entry.owner)\n"
     "        if found[i] == 1 then redis.call('publish', entry.channel, '0') end\n"
     "    else\n"
     "        found[i] = redis.call('hexists', entry.name, entry.owner)\n"
     "        if found[i] == 1 and entry.left ~= '0' then redis.call('hset', entry.name, entry.owner, entry.left) end\n"
     "    end\n"
     "end\n"
     "return found\n",
     NULL},
    {NULL, SCRIPT_COUNT, 0, NULL, NULL},
};

/* Mistakes in the member types of other kinds than mutexes. */
const struct planted_edit planted_member_types[] = {
    {"a set that draws a token again", SCRIPT_ACQUIRE_MANY, REDLATCH_FENCED, "entry.token or draw_token", "draw_token"},
    {"a set that draws no token", SCRIPT_ACQUIRE_MANY, REDLATCH_FENCED, "redis.call('incr', counter)",
     "call('set', counter, call('get', counter) or '1')"},
    {"a set that takes a plain lock from its holder", SCRIPT_ACQUIRE_MANY, REDLATCH_PLAIN,
     "if not holder or holder == entry.owner then", "if true then"},
    {"a set whose plain lock never ends", SCRIPT_ACQUIRE_MANY, REDLATCH_PLAIN,
     "call('set', entry.name, entry.owner, 'px', lease)", "call('set', entry.name, entry.owner)"},
    {"a set that releases a plain lock of others", SCRIPT_RELEASE_MANY, REDLATCH_PLAIN,
     "if call('get', entry.name) ~= entry.owner then", "if not call('get', entry.name) then"},
    {"a set's plain lock released without a message", SCRIPT_RELEASE_MANY, REDLATCH_PLAIN,
     "call('del', entry.name)\n    return true, '0'", "call('del', entry.name)\n    return true"},
    {"a set that reads beside a stranger who writes", SCRIPT_ACQUIRE_MANY, REDLATCH_READ,
     "entry.mode == 'write' and entry.count == 0", "entry.mode == 'none' and entry.count == 0"},
    {"a set that reads without a timeout key", SCRIPT_ACQUIRE_MANY, REDLATCH_READ,
     "if not call('set', timeout, '1', 'px', lease, 'nx') then", "if false then"},
    {"a set that writes beside readers", SCRIPT_ACQUIRE_MANY, REDLATCH_READ, "or entry.mode and entry.ttl or nil",
     "or entry.mode == 'write' and entry.ttl or nil"},
    {"a read level of a set raised out of nothing", SCRIPT_ACQUIRE_MANY, REDLATCH_READ,
     "return longest_of(entry.name, ARGV[entry.at], entry.owner, 1, entry.count) == FREE and GONE or nil",
     "return nil"},
    {"a set's read release takes the lock from others", SCRIPT_RELEASE_MANY, REDLATCH_READ, "if longest == -2 then",
     "if true then"},
    {"a set's last read tells nobody", SCRIPT_RELEASE_MANY, REDLATCH_READ, "count, left) and '0' or nil",
     "count, left) and nil"},
    {"a set's release that hides what was refused", SCRIPT_RELEASE_MANY, REDLATCH_READ, "return refused or found",
     "return found"},
    {"a set's write release tells nobody", SCRIPT_RELEASE_MANY, REDLATCH_READ, "return held, held and '1' or nil",
     "return held"},
    {"a set's downgrade that leaves write mode", SCRIPT_RELEASE_MANY, REDLATCH_READ,
     "redis.call('hset', name, 'mode', 'read')", ""},
    {"a set's group granted by its first value", SCRIPT_ACQUIRE_MANY, REDLATCH_GROUP,
     "for i = first, last do\n"
     "        local other",
     "for i = first, first do\n"
     "        local other"},
    {"a set's group taken but for its last value", SCRIPT_ACQUIRE_MANY, REDLATCH_GROUP,
     "for i = first, last do\n"
     "        local own",
     "for i = first, last - 1 do\n"
     "        local own"},
    {"a group's values of a refused set stay", SCRIPT_ACQUIRE_MANY, REDLATCH_GROUP, "entries[i] = entry\n",
     "entries[i] = entry\n    if least > 0 then member_type.take(entry) end\n"},
    {"a value's owner of a refused set stays", SCRIPT_ACQUIRE_MANY, REDLATCH_GROUP, "known = known or other\n",
     "known = known or other\n"
     "        if not other and lease ~= '0' then\n"
     "            call('hset', group, ARGV[i] .. ':' .. owner .. ':lock_count', '1')\n"
     "            call('pexpire', group, lease)\n"
     "        end\n"},
    {"a set's group taken in the group of another entry", SCRIPT_ACQUIRE_MANY, REDLATCH_GROUP,
     "local entry = {member_type = member_type, name = KEYS[key],",
     "local entry = {member_type = member_type, name = KEYS[1],"},
    {"a set's group taken by the owner of another entry", SCRIPT_ACQUIRE_MANY, REDLATCH_GROUP, "owner = ARGV[at],\n",
     "owner = ARGV[3],\n"},
    {"a repeat of a set adds a level of a group", SCRIPT_ACQUIRE_MANY, REDLATCH_GROUP,
     "if had < tonumber(count) then\n"
     "            redis.call('hset', group, own .. ':lock_count', count)",
     "if true then\n"
     "            redis.call('hset', group, own .. ':lock_count', had + 1)"},
    {"a set's group begins with the count of another", SCRIPT_ACQUIRE_MANY, REDLATCH_GROUP,
     "local had = ends > now and tonumber(redis.call('hget', group, own .. ':lock_count')) or 0",
     "local old = others[i] and ARGV[i] .. ':' .. others[i] or own\n"
     "        local had = tonumber(redis.call('hget', group, old .. ':lock_count')) or 0\n"
     "        redis.call('hset', group, own .. ':lock_count', had)"},
    {"what an earlier owner left stays in a set's group", SCRIPT_ACQUIRE_MANY, REDLATCH_GROUP,
     "redis.call('hdel', group, left .. ':expire_time', left .. ':lock_count')", ""},
    {"a group that ends before a set's hold of it", SCRIPT_ACQUIRE_MANY, REDLATCH_GROUP,
     "if ttl ~= -1 and ttl < tonumber(lease) then", "if ttl == -2 then"},
    {"a set whose group never ends", SCRIPT_ACQUIRE_MANY, REDLATCH_GROUP, "if ttl ~= -1 and ttl < tonumber(lease) then",
     "if ttl ~= -2 and ttl < tonumber(lease) then"},
    {"a set that shortens the lease of a group's values", SCRIPT_ACQUIRE_MANY, REDLATCH_GROUP,
     "if ends < now + lease then\n", "if ends ~= 0 or count == '1' then\n"},
    {"a group's level of a set raised out of nothing", SCRIPT_ACQUIRE_MANY, REDLATCH_GROUP,
     "return not held_until(call, entry.name, entry.owner, entry.at + 1, last_of(entry)) and GONE or nil",
     "return nil"},
    {"a group's level of a set raised on part of its values", SCRIPT_ACQUIRE_MANY, REDLATCH_GROUP,
     "if had < tonumber(count) then\n", "if had < tonumber(count) and (had == 0 or i == first) then\n"},
    {"a set's release of values whoever holds them", SCRIPT_RELEASE_MANY, REDLATCH_GROUP,
     "if redis.call('hget', group, ARGV[i]) == owner then", "if true then"},
    {"a set's group released without its counts", SCRIPT_RELEASE_MANY, REDLATCH_GROUP,
     "redis.call('hdel', group, own .. ':expire_time', own .. ':lock_count')",
     "redis.call('hdel', group, own .. ':expire_time')"},
    {"a set's group released by its first value", SCRIPT_RELEASE_MANY, REDLATCH_GROUP,
     "for i = first, last do\n        local own", "for i = first, first do\n        local own"},
    {"a set's group released without a message", SCRIPT_RELEASE_MANY, REDLATCH_GROUP,
     "return held, freed and '0' or nil", "return held, nil"},
    {"a set's group told on the channel of another entry", SCRIPT_RELEASE_MANY, REDLATCH_GROUP,
     "checked(try('publish', entry.channel,", "checked(try('publish', entries[1].channel,"},
    {"a set's lowering of a group that takes a level off", SCRIPT_RELEASE_MANY, REDLATCH_GROUP,
     "lower(group, own .. ':lock_count', left)", "redis.call('hincrby', group, own .. ':lock_count', -1)"},
    {"a set's lowering of a group that frees it", SCRIPT_RELEASE_MANY, REDLATCH_GROUP,
     "if left == '0' then\n"
     "            if redis.call('hget'",
     "if true then\n"
     "            if redis.call('hget'"},
    {NULL, SCRIPT_ACQUIRE_MANY, REDLATCH_MUTEX, NULL, NULL},
};
