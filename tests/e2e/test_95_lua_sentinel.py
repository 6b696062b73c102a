# SPDX-License-Identifier: Apache-2.0
"""Lua and sentinels: the option of a password, and the event of a move."""

from __future__ import annotations

import subprocess
from typing import Iterator

import pytest
from support import wait_until
from support.lua_programs import environment
from support.sentinels import Watched

SECRET = "S3CR3T"
# Holds a lock, says so, and goes on until the event of a move has come.
LUA = """
local redlatch = require "redlatch"
local client = assert(redlatch.connect(arg[1], {sentinel_password = arg[3]}))
assert(client:event_fd())
-- A release that the failover loses leaves its lock until the lease is over.
local lock, other = client:lock(arg[2]), client:lock(arg[2] .. ":other", {lease = 1})
assert(lock:acquire())
print("held")
io.stdout:flush()
local moved
repeat
    if other:acquire() then other:release() end
    local event = client:next_event()
    moved = event and event.kind == "moved" and event or moved
until moved
assert(moved.ok and not moved.tag)
print(moved.old_address, moved.new_address, lock:release())
"""


@pytest.fixture(name="watched", scope="module")
def watched_fixture() -> Iterator[Watched]:
    """Servers, and sentinels with a password."""
    with Watched(password=SECRET) as watched:
        yield watched


def test_lua_is_notified_of_a_move(watched: Watched, lock_name: str) -> None:
    """The event has both addresses; the hold goes on."""
    old = watched.master
    with subprocess.Popen(
        ["lua5.4", "-", watched.url(), lock_name, SECRET],
        env=environment("lua5.4"),
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as lua:
        assert lua.stdin is not None and lua.stdout is not None
        lua.stdin.write(LUA)
        lua.stdin.close()
        assert lua.stdout.readline() == "held\n"
        wait_until(watched.in_step)
        new = watched.failover()
        assert lua.stdout.readline().split() == [f"127.0.0.1:{old.port}", f"127.0.0.1:{new.port}", "true"]
        assert lua.wait(10.0) == 0
