# SPDX-License-Identifier: Apache-2.0
"""gevent: greenlets wait in the hub, whether it patches before or after redlatch is imported."""

from __future__ import annotations

import re

import pytest
from programs import ROOT, START, UNDER_TEST, Programs

PAGE = ROOT / "docs" / "how-to" / "python.md"

SCENES = ("owners", "exclude", "kinds", "cancel", "release", "permits_given_back", "losses", "late_renewals",
          "interrupted", "one_dispatcher", "elections", "many", "close", "many_clients", "fork", "threads",
          "ends")  # fmt: skip


@pytest.mark.parametrize("order", ["before", "after"])
@pytest.mark.parametrize("scene", SCENES)
def test_scene(programs: Programs, scene: str, order: str) -> None:
    """The scenes and their checks are in gevent_scenes.py."""
    assert programs.start("a", str(UNDER_TEST / "gevent_scenes.py"), scene, order).wait(2 * START) == 0


def test_programs_of_the_page(programs: Programs) -> None:
    """The programs run as they stand on the page."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.findall(r"^```python\n(from gevent .*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    assert found
    for program in found:
        assert programs.start("page", "-c", program).wait(START) == 0
        programs.logged("page", "held by a greenlet")
