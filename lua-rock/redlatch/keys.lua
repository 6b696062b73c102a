--- Returns a list of the keys of a table. All loops over a table's keys use it instead of pairs() and next().
--
-- Some versions of LuaJIT, such as that of Debian 12, compile pairs() and next() wrongly on x86-64: the address of an
-- entry is cut to 32 bits, and the program crashes. This function is never compiled.
-- SPDX-License-Identifier: Apache-2.0

local function keys(of)
    local list = {}
    for key in pairs(of) do
        list[#list + 1] = key
    end
    return list
end

if jit then
    jit.off(keys)
end

return keys
