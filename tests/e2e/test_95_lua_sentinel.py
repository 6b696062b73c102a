# SPDX-License-Identifier: Apache-2.0
"""Lua with sentinels, and with a list of servers: the option of a password, and the event of a move."""

from __future__ import annotations

import subprocess
from typing import Iterator, List, Union

import pytest
from support import RedisServer, wait_until
from support.lua_programs import environment
from support.sentinels import Watched
from support.topologies import Replicas

SECRET = "S3CR3T"
# Holds a lock, prints that it does, and goes on until the event of a move has come.
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


def check_a_move(lua: subprocess.Popen[str], servers: Union[Watched, Replicas], old: RedisServer) -> None:
    """A program that holds a lock gets the event, and its hold goes on."""
    assert lua.stdin is not None and lua.stdout is not None
    lua.stdin.write(LUA)
    lua.stdin.close()
    assert lua.stdout.readline() == "held\n"
    wait_until(servers.in_step)
    new = servers.failover() if isinstance(servers, Watched) else servers.change("in-order")
    assert lua.stdout.readline().split() == [f"127.0.0.1:{old.port}", f"127.0.0.1:{new.port}", "true"]
    assert lua.wait(10.0) == 0


@pytest.fixture(name="servers", scope="module", params=["sentinel", "replicas"])
def servers_fixture(request: pytest.FixtureRequest) -> Iterator[Union[Watched, Replicas]]:
    """Servers and sentinels with a password, and servers without sentinels."""
    with Watched(password=SECRET) if request.param == "sentinel" else Replicas() as servers:
        yield servers


def test_lua_is_notified_of_a_move(servers: Union[Watched, Replicas], lock_name: str) -> None:
    """The event has both addresses; the hold goes on."""
    old = servers.master
    where: List[str] = [servers.url(), lock_name, SECRET] if isinstance(servers, Watched) else [old.url, lock_name]
    with subprocess.Popen(
        ["lua5.4", "-", *where],
        env=environment("lua5.4"),
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as lua:
        check_a_move(lua, servers, old)
