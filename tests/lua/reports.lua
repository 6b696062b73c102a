--- Scenes: looking at locks without taking them.
-- SPDX-License-Identifier: Apache-2.0

local redlatch = require "redlatch"
local stage = require "stage"

local same, check, fails, raises = stage.same, stage.check, stage.fails, stage.raises
local scenes = {}

function scenes.one_name(url, name)
    local client = assert(redlatch.connect(url))
    local nothing = assert(client:inspect(name))
    same(nothing.form, "nothing")
    same(nothing.type, "none")
    same(nothing.ttl, 0)
    same(nothing.locked, false)
    same(#nothing.parties, 0)
    local lock = client:lock(name)
    same(lock:acquire(), true)
    same(lock:acquire(), true)
    local report = assert(client:inspect(name))
    same(report.name, name)
    same(report.form, "mutex")
    same(report.type, "hash")
    same(report.holders, 1)
    same(report.locked, true)
    check(report.ttl > 20 and report.ttl <= 30, "the lease: " .. report.ttl)
    same(#report.parties, 1)
    same(report.parties[1].role, "holder")
    same(report.parties[1].owner, lock:owner())
    same(report.parties[1].count, 2)
    raises("name is 0 bytes long", client.inspect, client, "")
    same(lock:release(), true)
    same(lock:release(), true)
    same(client:close(), true)
    fails("closed", client:inspect(name))
end

function scenes.all_of_a_pattern(url, name)
    local client = assert(redlatch.connect(url))
    local below = assert(redlatch.connect(url, {name_prefix = name}))
    local locks = {}
    for number = 1, 50 do
        locks[number] = client:lock(name .. "\0" .. number)
        same(locks[number]:acquire(), true)
    end
    local found, count = {}, 0
    for report in client:scan(name .. "*") do
        count = count + (found[report.name] and 0 or 1)
        found[report.name] = report.parties[1].owner
    end
    same(count, 50)
    for number = 1, 50 do
        same(found[name .. "\0" .. number], locks[number]:owner())
    end
    for report in below:scan() do
        same(report.name:sub(1, 1), "\0")
    end
    for _ in client:scan("nothing*") do
        check(false, "no such name")
    end
    raises("pattern is 7, a number", client.scan, client, 7)
    local walk = client:scan()
    for number = 1, 50 do
        same(locks[number]:release(), true)
    end
    same(client:close(), true)
    raises("closed", walk)
end

function scenes.until_it_is_free(url, name)
    local client, other = assert(redlatch.connect(url)), assert(redlatch.connect(url))
    same(client:wait_free(name), true)
    local lock = other:lock(name, {lease = 1.2})
    same(lock:acquire(), true)
    fails("timeout", client:wait_free(name, 0))
    fails("timeout", client:wait_free(name, 0.1))
    same(client:wait_free(name, 5), true) -- in slices, until the lease is over
    fails("lost", lock:release())
    raises("timeout is -2", client.wait_free, client, name, -2)
end

stage.play(scenes)
