# SPDX-License-Identifier: Apache-2.0
"""Tests of the other libraries' plain locks themselves, through the test driver. A failure here is never redlatch's
fault."""

from __future__ import annotations

from contextlib import closing
from typing import Callable

import pytest
from plain_peers import MAJORITY_PEERS, PLAIN_PEERS
from support import RedisServer


@pytest.mark.parametrize("library", PLAIN_PEERS)
def test_exclusion(library: str, server: RedisServer, name: str) -> None:
    """One holds. The other is refused, and waits until the first releases."""
    make = PLAIN_PEERS[library]
    with closing(make(server.url, name)) as first, closing(make(server.url, name)) as second:
        assert first.acquire(0, 20)
        assert server.admin.type(first.key) == b"string" and 0 < server.admin.pttl(first.key) <= 20_000
        assert not second.acquire(0, 20)
        assert not second.acquire(0.1, 20)
        assert first.extend(40) and server.admin.pttl(first.key) > 20_000
        assert first.release()
        assert second.acquire(1, 20)
        assert second.release() and not server.admin.exists(first.key)


@pytest.mark.parametrize("library", PLAIN_PEERS)
def test_a_lock_that_was_taken_away(library: str, server: RedisServer, name: str) -> None:
    """If another holds the lock by now, release and extension are refused and leave it unchanged."""
    with closing(PLAIN_PEERS[library](server.url, name)) as lock:
        assert lock.acquire(0, 20)
        server.admin.set(lock.key, "somebody", px=20_000)
        assert not lock.extend(20)
        assert not lock.release()
        assert server.admin.get(lock.key) == b"somebody"


@pytest.mark.parametrize("library", MAJORITY_PEERS)
def test_majority(library: str, make_server: Callable[[], RedisServer], name: str) -> None:
    """Two of three servers are enough, one is not."""
    servers = [make_server() for _ in range(3)]
    with closing(MAJORITY_PEERS[library]([server.url for server in servers], name)) as lock:
        servers[0].admin.set(lock.key, "somebody", px=20_000)
        assert lock.acquire(0, 20)
        assert [server.admin.exists(lock.key) for server in servers] == [1, 1, 1]
        lock.release()
        servers[1].admin.set(lock.key, "somebody", px=20_000)
        assert not lock.acquire(0, 20)
        assert servers[2].admin.exists(lock.key) == 0
