# SPDX-License-Identifier: Apache-2.0
"""gevent: greenlets wait in the hub, whether it patches before or after redlatch is imported."""

from __future__ import annotations

import pytest
from programs import START, UNDER_TEST, Programs

SCENES = ("owners", "exclude", "kinds", "cancel", "release", "permits_given_back", "losses", "late_renewals",
          "interrupted", "one_dispatcher", "elections", "many", "close", "many_clients", "fork", "threads",
          "ends")  # fmt: skip


@pytest.mark.parametrize("order", ["before", "after"])
@pytest.mark.parametrize("scene", SCENES)
def test_scene(programs: Programs, scene: str, order: str) -> None:
    """What is seen is in gevent_scenes.py."""
    assert programs.start("a", str(UNDER_TEST / "gevent_scenes.py"), scene, order).wait(2 * START) == 0
