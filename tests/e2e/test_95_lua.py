# SPDX-License-Identifier: Apache-2.0
"""The Lua module, under each Lua: scenes of tests/lua, and what of them can only be seen from outside."""

from __future__ import annotations

import pytest
from env import RedisServer
from lua_programs import LUAS, LuaProcess, play, scenes_of

TALKING = ["binary_names"]


@pytest.fixture(params=LUAS)
def lua(request: pytest.FixtureRequest) -> str:
    """An interpreter."""
    name: str = request.param
    return name


@pytest.mark.parametrize("scene", [scene for scene in scenes_of("basics") if scene not in TALKING])
def test_95_01_basics(server: RedisServer, lua: str, scene: str, lock_name: str) -> None:
    """Acquire, release, what is answered and what is raised."""
    play(lua, "basics", scene, server.url, lock_name)
    assert server.admin.keys("*") == []


def test_95_02_binary_names(server: RedisServer, lua: str, lock_name: str) -> None:
    """A name of all 256 bytes is the key, byte for byte."""
    with LuaProcess(lua, "basics", "binary_names", server.url, lock_name) as program:
        program.hear("held")
        assert server.admin.keys("*") == [lock_name.encode() + bytes(range(256))]
        program.tell("seen")
        program.hear("done")
        assert program.end() == 0
