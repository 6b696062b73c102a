-- What luacheck looks for in the Lua code: the skin, the examples, the tests.
-- SPDX-License-Identifier: Apache-2.0
std = "max" -- what any Lua has: one source serves all of them
max_line_length = 120
files["examples/lua/openresty"] = {std = "+ngx_lua"}
files["tests/lua"] = {ignore = {"311"}} -- variables are emptied so that what they held is collected
