# SPDX-License-Identifier: Apache-2.0
"""Lua: the user and the password of a client change, and a refusal is an event."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from rotating import User
from support import RedisServer
from support.lua_programs import LUAS
from support.lua_programs import environment as lua_environment

# Reads passwords from its input, one a line, and prints the result of each.
LUA = """
local redlatch = require "redlatch"
local url, user, first, name = arg[1], arg[2], arg[3], arg[4]
local client = assert(redlatch.connect(url, {username = user, password = first}))
local lock = client:lock(name)
assert(lock:acquire())
assert(client:event_fd())

local function refusal()
    while true do
        local event = client:next_event()
        if event then
            return event
        end
    end
end

local function say(...)
    print(...)
    io.stdout:flush()
end

say("held")
assert(client:set_credentials(user, io.read()))
local event = refusal()
say(event.kind, event.ok, event.code)
assert(event.message:find("WRONGPASS", 1, true), event.message)
assert(client:set_credentials(user, io.read()))
say("pushed")
io.read()
say(assert(client:inspect(name)).locked, lock:release(), pcall(client.set_credentials, client, user, nil))
"""


@pytest.mark.parametrize("lua", LUAS)
def test_credentials(server: RedisServer, lock_name: str, tmp_path: Path, lua: str) -> None:
    """The hold stays held. The server ends all connections before the last call."""
    user = User(server, "rotating")
    script = tmp_path / "credentials.lua"
    script.write_text(LUA)
    with subprocess.Popen(
        [lua, str(script), f"redis://127.0.0.1:{server.port}", user.name, user.password, lock_name],
        env=lua_environment(lua), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as process:
        assert process.stdin is not None and process.stdout is not None

        def tell(line: str) -> str:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(line + "\n")
            process.stdin.flush()
            return process.stdout.readline()

        assert process.stdout.readline() == "held\n"
        user.rotate()
        assert tell("wrong").split() == ["credentials_refused", "false", "authentication"]
        assert tell(user.password) == "pushed\n"
        user.kill()
        answer = tell("go on")
        assert answer.startswith("true\ttrue\tfalse\t"), answer + process.stdout.read()
    server.admin.execute_command("ACL", "DELUSER", user.name)
