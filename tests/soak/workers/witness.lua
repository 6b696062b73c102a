--- The witness of who is in the section of a lock. It does not use locks: only one socket can have the section's
-- address. The kernel frees the address when the process ends, in whatever way.
-- SPDX-License-Identifier: Apache-2.0

local uv = require "luv"

local witness = {}

local addresses = {} -- by kind and name

local function key(kind, name)
    return kind .. " " .. name
end

--- Adds the address of a name, for locks of a kind.
function witness.add(kind, name, host, port)
    addresses[key(kind, name)] = {host = host, port = math.tointeger(port)}
end

--- Enters the sections of a turn's locks, and calls clash(name, since) for those in which somebody else is. Returns
--- what leave() needs.
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

--- Leaves the sections.
function witness.leave(bound)
    for _, own in ipairs(bound) do
        own:close()
    end
    if #bound > 0 then
        uv.run("nowait") -- closes the sockets at once
    end
end

return witness
