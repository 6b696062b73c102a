--- ReadWriteLock: the read lock and the write lock of one name.
-- SPDX-License-Identifier: Apache-2.0

local core = require "redlatch.core"
local keys = require "redlatch.keys"
local lock = require "redlatch.lock"
local options = require "redlatch.options"

--- Many readers or one writer, made by Client:read_write_lock().
---@class redlatch.ReadWriteLock
---@field read redlatch.Lock which many may hold while nobody else holds the write lock
---@field write redlatch.Lock which one may hold while nobody else holds either
local ReadWriteLock = {}
ReadWriteLock.__index = ReadWriteLock
ReadWriteLock.__name = "redlatch.ReadWriteLock"

local read_write = {}

-- Both locks have one owner: the given one, or a new table that no other lock has.
function read_write.new(client, name, given)
    local shared = {owner = {}}
    given = options.check_table(given)
    for _, option in ipairs(keys(given)) do
        shared[option] = given[option]
    end
    return setmetatable({
        read = lock.new(client, core.READ, name, shared),
        write = lock.new(client, core.WRITE, name, shared),
    }, ReadWriteLock)
end

function ReadWriteLock:__tostring()
    return string.format("redlatch.ReadWriteLock %q", self.read:name())
end

return read_write
