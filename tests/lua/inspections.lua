--- Scenes: what the server knows of locks.
-- SPDX-License-Identifier: Apache-2.0

local redlatch = require "redlatch"
local stage = require "stage"

local same, check, fails, raises = stage.same, stage.check, stage.fails, stage.raises
local scenes = {}

function scenes.inspect(url, name)
    local client = assert(redlatch.connect(url, {name_prefix = "p:"}))
    name = name .. "\0\255"
    local report = assert(client:inspect(name))
    same(report.detected_kind, "nothing")
    same(report.locked, false)
    same(report.ttl, 0)
    same(#report.parties, 0)
    local lock = client:lock(name, {lease = 20})
    local held = assert(lock:acquire_hold())
    assert(lock:acquire())
    report = assert(client:inspect(name))
    same(report.name, name, "all its bytes, and no prefix")
    same(report.detected_kind, "mutex")
    same(report.type, "hash")
    same(report.locked, true)
    same(report.holders, 1)
    same(report.token, nil)
    stage.between(15, report.ttl, 20)
    local party = report.parties[1]
    same(party.owner, held:owner())
    same(party.role, "holder")
    same(party.count, 2)
    check(party.host and party.pid > 1, "host and process of a client that is connected")
    same(assert(client:inspect(name, held:owner())).parties[1].owner, held:owner())
    raises("owner is of type number", client.inspect, client, name, 7)
    same(party.value, nil)
    same(party.ttl, nil)
    assert(lock:release() and lock:release())
    local group = client:group_lock(name, {"a"}, {lease = 20})
    assert(group:acquire())
    party = assert(client:inspect(name)).parties[1]
    check(#party.value == 22 and party.ttl > 15 and party.ttl <= 20, "a value of a group, with its own lease")
    assert(group:release())
    raises("name is 0 bytes", client.inspect, client, "")
end

function scenes.scan(url, name)
    local client = assert(redlatch.connect(url))
    local locks, expected = {}, {}
    for number = 1, 300 do
        locks[number] = client:lock(name .. ":" .. number .. "\0")
        assert(locks[number]:acquire())
        expected[locks[number]:name()] = true
    end
    local other = client:lock("other" .. name)
    assert(other:acquire())
    for report in client:scan(name .. ":*") do
        check(report.name ~= other:name() and report.locked, "only what matches")
        expected[report.name] = nil
    end
    same(next(expected), nil, "a lock that was not found")
    local all = {}
    for report in client:scan() do
        all[report.name] = true
    end
    check(all[other:name()] and all[locks[300]:name()], "all of them without a pattern")
    local found = client:scan("")()
    check(found and all[found.name], "and with an empty one")
    raises("pattern is 65536 bytes long", client.scan, client, ("x"):rep(65536))
    raises("pattern is 7", client.scan, client, 7)
    local walk = client:scan()
    client:close()
    raises("closed", walk)
    raises("closed", client.scan, client)
end

function scenes.wait_free(url, name)
    local client, other = assert(redlatch.connect(url)), assert(redlatch.connect(url))
    same(client:wait_free(name), true)
    local lock = other:lock(name)
    assert(lock:acquire())
    fails("timeout", client:wait_free(name, {timeout = 0}))
    fails("timeout", client:wait_free(name, {timeout = 0.7}))
    assert(lock:extend(0.6))
    assert(lock:release() and lock:acquire {lease = 0.7})
    same(client:wait_free(name, {timeout = 8}), true, "when the lease is over")
    raises("no option", client.wait_free, client, name, {lease = 1})
end

stage.play(scenes)
