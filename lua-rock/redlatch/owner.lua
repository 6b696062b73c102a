--- Owner: who holds, where that is not a lock object.
-- SPDX-License-Identifier: Apache-2.0

local core = require "redlatch.core"

--- An owner that was made by redlatch.new_owner().
---@class redlatch.Owner
---@field package _number integer|string
---@field package _guard userdata
local Owner = {}
Owner.__index = Owner
Owner.__name = "redlatch.Owner"

local owner = {}

function owner.new()
    local guard = core.lua_owner_make()
    return setmetatable({_number = core.lua_owner_number(guard), _guard = guard}, Owner)
end

function owner.is(value)
    return getmetatable(value) == Owner
end

function Owner:__tostring()
    return "redlatch.Owner " .. string.format("%s", self._number)
end

return owner
