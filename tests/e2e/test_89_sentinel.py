# SPDX-License-Identifier: Apache-2.0
"""Clients that find their master through sentinels."""

from __future__ import annotations

from typing import Iterator

import pytest
import redlatch
from support import wait_until
from support.sentinels import Watched


@pytest.fixture(name="watched", scope="module")
def watched_fixture() -> Iterator[Watched]:
    """Servers and sentinels that the tests of this module share; each finds some master."""
    with Watched() as watched:
        yield watched


def test_acquire_and_release(watched: Watched, lock_name: str) -> None:
    """The lock is on the master that the sentinels announce."""
    with redlatch.connect(watched.url()) as client:
        with client.lock(lock_name, timeout=5):
            assert watched.master.admin.exists(lock_name)
        assert not watched.master.admin.exists(lock_name)
