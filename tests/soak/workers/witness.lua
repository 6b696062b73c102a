--- A witness of who is in the section of a lock that knows nothing of locks: an address that only one socket can have.
-- The kernel frees it when its process dies, however that comes to pass.
-- SPDX-License-Identifier: Apache-2.0

local uv = require "luv"

local witness = {}

local addresses = {} -- by kind and name

local function key(kind, name)
    return kind .. " " .. name
end

--- The address of a name, as locks of a kind have it.
function witness.add(kind, name, host, port)
    addresses[key(kind, name)] = {host = host, port = math.tointeger(port)}
end

--- Comes into the sections of a turn's locks, and calls clash(name, since) for those in which somebody else is. What
--- leave() needs.
function witness.enter(kind, names, clash)
    local bound = {}
    for name in names:gmatch("[^+]+") do
        local address = addresses[key(kind, name)]
        if address then
            local own = assert(uv.new_udp())
            bound[#bound + 1] = own
            local since = uv.hrtime()
            if not own:bind(address.host, address.port) then
                clash(name, since)
            end
        end
    end
    return bound
end

--- Leaves them.
function witness.leave(bound)
    for _, own in ipairs(bound) do
        own:close()
    end
    if #bound > 0 then
        uv.run("nowait") -- lets go of what was closed
    end
end

return witness
