-- What luacheck looks for in the Lua code: the skin, the examples, the tests.
-- SPDX-License-Identifier: Apache-2.0
std = "max" -- what any Lua has: one source serves all of them
max_line_length = 120
files["lua-rock/redlatch"] = {not_globals = {"pairs", "next"}} -- keys.lua says why
files["lua-rock/redlatch/keys.lua"] = {read_globals = {"pairs"}}
files["examples/lua/openresty"] = {std = "+ngx_lua"}
files["tests/lua"] = {ignore = {"311"}} -- variables are emptied so that what they held is collected
