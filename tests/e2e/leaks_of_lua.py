# SPDX-License-Identifier: Apache-2.0
"""100 000 cycles in each Lua leak no memory and no descriptors. A stage of its own, because it takes a minute."""

from __future__ import annotations

import pytest
from support import RedisServer
from support.lua_programs import LUAS, play, scenes_of


@pytest.mark.parametrize("lua", LUAS)
@pytest.mark.parametrize("scene", scenes_of("leaks"))
def test_leaks(server: RedisServer, lua: str, scene: str, lock_name: str) -> None:
    """The scenes measure memory and descriptors themselves; the keys are checked here."""
    play(lua, "leaks", scene, server.url, lock_name)
    left = [key for key in server.admin.keys("*") if not key.startswith(b"redlatch_op:")]
    assert left == []
