# SPDX-License-Identifier: Apache-2.0
"""The Lua module, under each Lua: the scenes of tests/lua, and what can be seen of them from outside only."""

from __future__ import annotations

import re
import signal
import time

import pytest
from support import Proxy, RedisServer, RedissonShapedPeer, wait_until
from support.lua_programs import EXAMPLES, LUAS, ROOT, SOURCES, LuaProcess, play, scenes_of
from support.wire import fields, subscribers

ENDS = SOURCES / "ends.lua"
# Scenes that talk with their test, or end in a way of their own.
TALKING = [
    "binary_names", "late_renewal", "once_with_a_late_reply", "program_fails", "waits", "waits_in_coroutine",
    "waits_without_taking",
]  # fmt: skip
# Well below the lease of 30 s and the recheck every 5 s.
SOON = 4.0


@pytest.fixture(params=LUAS)
def lua(request: pytest.FixtureRequest) -> str:
    """An interpreter."""
    name: str = request.param
    return name


@pytest.mark.parametrize("scene", [scene for scene in scenes_of("basics") if scene not in TALKING])
def test_basics(server: RedisServer, lua: str, scene: str, lock_name: str) -> None:
    """Acquire and release: results and errors."""
    play(lua, "basics", scene, server.url, lock_name)
    assert server.admin.keys("*") == []


def test_binary_names(server: RedisServer, lua: str, lock_name: str) -> None:
    """A name of all 256 bytes is the key, byte for byte."""
    with LuaProcess(lua, SOURCES / "basics.lua", server.url, "binary_names", lock_name) as program:
        program.hear("held")
        assert server.admin.keys("*") == [lock_name.encode() + bytes(range(256))]
        program.tell("seen")
        program.hear("done")
        assert program.end() == 0


def test_once_with_a_late_reply(server: RedisServer, proxy: Proxy, lua: str, lock_name: str) -> None:
    """A job has not failed if at_least is over before the reply that it stays locked for that time."""
    with LuaProcess(lua, SOURCES / "basics.lua", proxy.url, "once_with_a_late_reply", lock_name) as program:
        program.hear("running")
        proxy.delay(300, direction="to_client")
        program.tell("replies are late")
        program.hear("done")
        assert program.end() == 0
    wait_until(lambda: server.admin.keys("*") == [])


@pytest.mark.parametrize("scene", [scene for scene in scenes_of("ends") if scene not in TALKING])
def test_ends(server: RedisServer, lua: str, scene: str, lock_name: str) -> None:
    """However a thing ends, even the program while it holds locks, nothing is left on the server."""
    play(lua, "ends", scene, server.url, lock_name)
    assert server.admin.keys("*") == []


def test_program_fails(server: RedisServer, lua: str, lock_name: str) -> None:
    """A program that ends with an error frees what it held."""
    with LuaProcess(lua, ENDS, server.url, "program_fails", lock_name) as program:
        assert program.end() == 1
        assert "on purpose" in program.errors()
    assert server.admin.keys("*") == []


@pytest.mark.parametrize("scene", ["waits", "waits_in_coroutine", "waits_without_taking"])
def test_wakes(server: RedisServer, peer: RedissonShapedPeer, lua: str, scene: str, lock_name: str) -> None:
    """A Redisson peer's release wakes a waiting program by its message."""
    peer.lock(lock_name)
    with LuaProcess(lua, ENDS, server.url, scene, lock_name) as program:
        program.hear("waiting")
        wait_until(lambda: subscribers(server, lock_name) == 1)
        released_at = time.monotonic()
        peer.unlock(lock_name)
        program.hear("done")
        assert time.monotonic() - released_at < SOON
        assert program.end() == 0


@pytest.mark.parametrize("scene", ["waits", "waits_without_taking"])
def test_interrupted(server: RedisServer, peer: RedissonShapedPeer, lua: str, scene: str, lock_name: str) -> None:
    """Ctrl-C ends a wait at once; nothing is held or queued, and the holder keeps the lock."""
    peer.lock(lock_name)
    with LuaProcess(lua, ENDS, server.url, scene, lock_name) as program:
        program.hear("waiting")
        wait_until(lambda: subscribers(server, lock_name) == 1)
        sent_at = time.monotonic()
        program.process.send_signal(signal.SIGINT)
        assert program.end() == 1
        assert time.monotonic() - sent_at < SOON
        assert "interrupted!" in program.errors()
    assert list(fields(server, lock_name)) == [peer.owner().encode()]
    peer.unlock(lock_name)
    assert server.admin.keys("*") == []


@pytest.mark.parametrize("scene", [scene for scene in scenes_of("events") if scene not in TALKING])
def test_events(server: RedisServer, lua: str, scene: str, lock_name: str) -> None:
    """Started calls and what next_event() returns about them."""
    play(lua, "events", scene, server.url, lock_name)
    # A holder's lease ends a moment before the server's, and one of the scenes lets a lease run out.
    wait_until(lambda: server.admin.keys("*") == [])


def test_late_renewal(server: RedisServer, lua: str, lock_name: str) -> None:
    """A renewal that is answered after more than half of the lease is an event."""
    with LuaProcess(lua, SOURCES / "events.lua", server.url, "late_renewal", lock_name) as program:
        program.hear("held")
        server.admin.execute_command("CLIENT", "PAUSE", 2000, "ALL")
        program.hear("done")
        assert program.end() == 0
    assert server.admin.keys("*") == []


@pytest.mark.parametrize("scene", scenes_of("elections"))
def test_elections(server: RedisServer, lua: str, scene: str, lock_name: str) -> None:
    """One candidate leads at a time, whatever ends the one before it, and nothing is left at the end."""
    play(lua, "elections", scene, server.url, lock_name)
    assert server.admin.keys("*") == []


@pytest.mark.parametrize("loop", ["luv", "cqueues"])
def test_loops(server: RedisServer, peer: RedissonShapedPeer, lua: str, loop: str, lock_name: str) -> None:
    """The example for a loop: two coroutines wait, the loop goes on, and both get the lock, one after the other."""
    peer.lock(lock_name)
    with LuaProcess(lua, EXAMPLES / f"{loop}.lua", server.url, lock_name) as program:
        first, second = program.line(), program.line()
        assert {first, second} == {"worker 1 waits", "worker 2 waits"}
        program.hear("the loop goes on")
        peer.unlock(lock_name)
        program.hear(first.replace("waits", "has the lock"))
        program.hear(second.replace("waits", "has the lock"))
        program.hear("done")
        assert program.end() == 0, program.errors()
    assert server.admin.keys("*") == []


def test_every_parameter_is_known() -> None:
    """Output parameters of the header, and strings with their sizes, have a typemap. SWIG would pass them on as
    pointers."""
    headers = sorted((ROOT / "core" / "include").glob("redlatch*.h"))
    header = "".join(path.read_text(encoding="utf-8") for path in headers)
    handed_out = re.findall(r"\*+(\w+_out)\b", re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL))
    strings = re.findall(r"const char \*(\w+), size_t \w+_size\b", header)
    assert len(handed_out) > 10 and strings
    interface = (ROOT / "bindings" / "redlatch.i").read_text(encoding="utf-8")
    missing = [name for name in {*handed_out, *strings} if not re.search(rf"\b{name}\b", interface)]
    assert missing == [], f"bindings/redlatch.i has no line for {', '.join(sorted(missing))}"


@pytest.mark.parametrize("scene", scenes_of("inspections"))
def test_reports(server: RedisServer, lua: str, scene: str, lock_name: str) -> None:
    """Reports of locks."""
    play(lua, "inspections", scene, server.url, lock_name)
    assert server.admin.keys("*") == []


@pytest.mark.parametrize("scene", scenes_of("answers"))
def test_answers(server: RedisServer, lua: str, scene: str, lock_name: str) -> None:
    """Started inquiries and changes, and the results in their events."""
    play(lua, "answers", scene, server.url, lock_name)
    assert [key for key in server.admin.keys("*") if not key.startswith(b"redlatch_op:")] == []
