/* The calls by which model_check compares the in-memory Redis with a real one: commands, and scripts written for this
 * comparison.
 * SPDX-License-Identifier: Apache-2.0 */
#include "call_shapes.h"

const struct command_shape command_shapes[COMMAND_SHAPES] = {
    {"exists", KEY_ANY, "k*", 6},
    {"del", KEY_ANY, "k*", 2},
    {"type", KEY_ANY, "k", 3},
    {"pttl", KEY_ANY, "k", 8},
    {"pexpire", KEY_ANY, "kt", 14},
    {"pexpireat", KEY_ANY, "ka", 8},
    {"persist", KEY_ANY, "k", 3},
    {"publish", KEY_ANY, "cv", 2},
    {"spublish", KEY_ANY, "cv", 2},
    {"time", KEY_ANY, "", 1},
    {"set", KEY_STRING, "kvS", 10},
    {"get", KEY_STRING, "k", 6},
    {"getdel", KEY_STRING, "k", 2},
    {"incr", KEY_STRING, "k", 3},
    {"decr", KEY_STRING, "k", 3},
    {"incrby", KEY_STRING, "ki", 4},
    {"decrby", KEY_STRING, "ki", 4},
    {"hset", KEY_HASH, "kP*", 10},
    {"hget", KEY_HASH, "kf", 6},
    {"hsetnx", KEY_HASH, "kfv", 4},
    {"hdel", KEY_HASH, "kf*", 5},
    {"hexists", KEY_HASH, "kf", 5},
    {"hincrby", KEY_HASH, "kfi", 6},
    {"hlen", KEY_HASH, "k", 3},
    {"hgetall", KEY_HASH, "k", 3},
    {"hkeys", KEY_HASH, "k", 2},
    {"hmget", KEY_HASH, "kf*", 3},
    {"lpush", KEY_LIST, "kv*", 4},
    {"rpush", KEY_LIST, "kv*", 5},
    {"lpop", KEY_LIST, "kn", 4},
    {"rpop", KEY_LIST, "kn", 3},
    {"lindex", KEY_LIST, "km", 4},
    {"llen", KEY_LIST, "k", 3},
    {"lrange", KEY_LIST, "kmm", 4},
    {"lrem", KEY_LIST, "kmv", 5},
    {"zadd", KEY_SORTED_SET, "kZQ*", 10},
    {"zincrby", KEY_SORTED_SET, "ksf", 5},
    {"zrem", KEY_SORTED_SET, "kf*", 3},
    {"zscore", KEY_SORTED_SET, "kf", 4},
    {"zcard", KEY_SORTED_SET, "k", 3},
    {"zcount", KEY_SORTED_SET, "kbb", 4},
    {"zrange", KEY_SORTED_SET, "kR", 6},
    {"zrangebyscore", KEY_SORTED_SET, "kbbL", 6},
};

const struct call_script own_scripts[OWN_SCRIPTS] = {
    {"call", "return redis.call(unpack(ARGV))", ARGV_COMMAND},
    {"pcall", "return redis.pcall(unpack(ARGV))", ARGV_COMMAND},
    {"type of answer", "local answer = redis.call(unpack(ARGV))\nreturn {type(answer), answer}", ARGV_COMMAND},
    {"caught", "local good, answer = pcall(redis.call, unpack(ARGV))\nreturn {tostring(good), type(answer), answer}",
     ARGV_COMMAND},
    {"raised again",
     "local answer = redis.pcall(unpack(ARGV))\n"
     "if type(answer) == 'table' and answer.err then return redis.error_reply(answer.err) end\n"
     "return {answer, redis.status_reply('seen')}",
     ARGV_COMMAND},
    {"several",
     "local answers, i = {}, 1\n"
     "while ARGV[i] do\n"
     "    local count = tonumber(ARGV[i])\n"
     "    answers[#answers + 1] = redis.call(unpack(ARGV, i + 1, i + count))\n"
     "    i = i + count + 1\n"
     "end\n"
     "return answers",
     ARGV_COMMANDS},
    {"several pcalls",
     "local answers, i = {}, 1\n"
     "while ARGV[i] do\n"
     "    answers[#answers + 1] = redis.pcall(unpack(ARGV, i + 1, i + tonumber(ARGV[i])))\n"
     "    i = i + ARGV[i] + 1\n"
     "end\n"
     "return {#answers, answers}",
     ARGV_COMMANDS},
    {"number as argument", "redis.call('set', KEYS[1], tonumber(ARGV[1]))\nreturn redis.call('get', KEYS[1])",
     ARGV_ANYTHING},
    {"fraction as argument", "redis.call('set', KEYS[1], tonumber(ARGV[1]) / 3)\nreturn redis.call('get', KEYS[1])",
     ARGV_ANYTHING},
    {"number as answer", "return {tonumber(ARGV[1]) * 1.5, -tonumber(ARGV[2]) / 4}", ARGV_ANYTHING},
    {"nested answer",
     "return {ARGV[1], tonumber(ARGV[2]) or 0, false, {KEYS[1]}, #ARGV, true, {ok = 'two words'}, "
     "{err = 'CODE text'}, {}, redis.pcall('get', KEYS[1]), nil, 3}",
     ARGV_ANYTHING},
    {"array up to nil", "return {1, {2, nil, 3}, 2.9, -2.9, {ok = 1}, function() end, redis.sha or 'none', nil, 4}",
     ARGV_ANYTHING},
    {"error text", "redis.call('set', KEYS[1], 'before')\n\nerror(ARGV[1])", ARGV_ANYTHING},
    {"error table", "error({err = 'CODE ' .. tostring(ARGV[1])})", ARGV_ANYTHING},
    {"error answer", "return redis.error_reply(ARGV[1])", ARGV_ANYTHING},
    {"arithmetic on nil", "local nothing\nreturn nothing + #ARGV", ARGV_ANYTHING},
    {"unknown global", "return unknown_global", ARGV_ANYTHING},
    {"new global", "new_global = 1", ARGV_ANYTHING},
    {"changed library", "string.rep = 1", ARGV_ANYTHING},
    {"unknown command", "local answer = redis.pcall('nosuchcommand')\nreturn redis.call('nosuchcommand', answer.err)",
     ARGV_ANYTHING},
    {"wrong arguments",
     "local answer = redis.pcall()\nreturn {answer, redis.pcall('set', KEYS[1], {}), redis.pcall('get')}",
     ARGV_ANYTHING},
    {"error in a function", "local function inner()\n    return redis.call('incr', KEYS[1], 1)\nend\n\nreturn inner()",
     ARGV_ANYTHING},
    {"time", "local time = redis.call('TIME')\nreturn {#time, time[1] * 1000 + math.floor(time[2] / 1000)}",
     ARGV_ANYTHING},
    {"expiry inside",
     "redis.call('set', KEYS[1], 'x', 'px', '7')\nlocal left = redis.call('pttl', KEYS[1])\n"
     "redis.call('pexpire', KEYS[1], 0)\nreturn {left, redis.call('pttl', KEYS[1])}",
     ARGV_ANYTHING},
    {"time stands still",
     "redis.call('set', KEYS[1], 'x', 'px', '1')\nfor i = 1, 400000 do end\nreturn redis.call('exists', KEYS[1])",
     ARGV_ANYTHING},
    {"order of pairs",
     "local names = {}\n"
     "for name in pairs({one = 1, two = 2, three = 3, [ARGV[1] or 'four'] = 4}) do names[#names + 1] = name end\n"
     "return names",
     ARGV_ANYTHING},
    {"changed KEYS", "KEYS[1] = ARGV[1] or 'none'\nreturn {KEYS[1], #KEYS, select('#', unpack(ARGV))}", ARGV_ANYTHING},
};
