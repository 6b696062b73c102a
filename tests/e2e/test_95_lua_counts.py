# SPDX-License-Identifier: Apache-2.0
"""Semaphores, permit semaphores and latches of the Lua module, under each Lua: scenes of tests/lua/counts.lua."""

from __future__ import annotations

import signal
import time
from typing import List

import pytest
import redlatch
from support import RedisServer, wait_until
from support.lua_programs import LUAS, SOURCES, LuaProcess, play, scenes_of

COUNTS = SOURCES / "counts.lua"
# Scenes that talk with their test, or leave something behind on purpose.
TALKING = ["program_ends", "waits_for_semaphore", "waits_for_permit", "waits_for_latch"]
WAITS = {
    "waits_for_semaphore": "redisson_sc:{%s}",
    "waits_for_permit": "redisson_sc:{%s}",
    "waits_for_latch": "redisson_countdownlatch__channel__{%s}",
}
# Well below the time after which a waiter rechecks by itself.
SOON = 4.0


def keys(server: RedisServer) -> List[bytes]:
    """Returns the keys on the server without the records of operations, which stay for a minute."""
    return [key for key in server.admin.keys("*") if not key.startswith(b"redlatch_op:")]


def waiting(server: RedisServer, scene: str, name: str) -> bool:
    """Returns whether the program is subscribed."""
    channel = WAITS[scene] % name
    return bool(server.admin.pubsub_numsub(channel)[0][1] == 1)


@pytest.mark.parametrize("lua", LUAS)
@pytest.mark.parametrize("scene", [scene for scene in scenes_of("counts") if scene not in TALKING])
def test_scenes(server: RedisServer, lua: str, scene: str, lock_name: str) -> None:
    """Results, errors and events. Nothing is left on the server."""
    play(lua, "counts", scene, server.url, lock_name)
    assert keys(server) == []


@pytest.mark.parametrize("lua", LUAS)
def test_a_program_that_ends_gives_its_permits_back(server: RedisServer, lua: str, lock_name: str) -> None:
    play(lua, "counts", "program_ends", server.url, lock_name)
    with redlatch.connect(server.url) as client:
        permits = client.permit_semaphore(lock_name)
        assert (permits.acquired(), permits.available()) == (0, 3)


@pytest.mark.parametrize("lua", LUAS)
@pytest.mark.parametrize("scene", WAITS)
def test_a_message_wakes_a_waiter(server: RedisServer, lua: str, scene: str, lock_name: str) -> None:
    with redlatch.connect(server.url) as client, LuaProcess(lua, COUNTS, server.url, scene, lock_name) as program:
        latch = client.latch(lock_name)
        if scene == "waits_for_latch":
            latch.try_set_count(1)
        program.hear("ready")
        program.tell("go")
        wait_until(lambda: waiting(server, scene, lock_name))
        began = time.monotonic()
        if scene == "waits_for_latch":
            latch.count_down()
        elif scene == "waits_for_permit":
            client.permit_semaphore(lock_name).add_permits(1)
        else:
            client.semaphore(lock_name).release(2)
        program.hear("done")
        assert time.monotonic() - began < SOON
        assert program.end() == 0


@pytest.mark.parametrize("lua", LUAS)
@pytest.mark.parametrize("scene", WAITS)
def test_interrupted(server: RedisServer, lua: str, scene: str, lock_name: str) -> None:
    """Ctrl-C ends a wait at once, and takes nothing."""
    with redlatch.connect(server.url) as client, LuaProcess(lua, COUNTS, server.url, scene, lock_name) as program:
        if scene == "waits_for_latch":
            client.latch(lock_name).try_set_count(1)
        program.hear("ready")
        program.tell("go")
        wait_until(lambda: waiting(server, scene, lock_name))
        began = time.monotonic()
        program.process.send_signal(signal.SIGINT)
        assert program.end() == 1
        assert time.monotonic() - began < SOON
        assert "interrupted!" in program.errors()
        if scene == "waits_for_latch":
            assert client.latch(lock_name).count() == 1
    assert keys(server) == ([lock_name.encode()] if scene == "waits_for_latch" else [])
