# SPDX-License-Identifier: Apache-2.0
"""Commands about several names that a server refuses because of some of them: renewals, and releases of sets."""

from __future__ import annotations

import pytest
import redlatch
from support import RedisServer, wait_until
from support.cluster import whole_cluster

WATCHDOG = 1.0


def rounds(client: redlatch.Client, count: int) -> None:
    """Waits until all holds had time for some renewals."""
    renewals = client.stats()["renewals"]
    wait_until(lambda: client.stats()["renewals"] >= renewals + count)


def test_a_forbidden_name_costs_no_other_its_lease(server: RedisServer, lock_name: str) -> None:
    server.set_user("narrow", "word", "+@all")
    try:
        with redlatch.connect(
            server.url, username="narrow", password="word", watchdog_lease=WATCHDOG
        ) as client:
            good = [client.lock(f"good:{lock_name}:{i}") for i in range(3)]
            bad = client.lock(f"bad:{lock_name}")
            holds = [lock.__enter__() for lock in (good[0], bad, *good[1:])]
            lost = holds.pop(1)
            server.admin.execute_command("ACL", "SETUSER", "narrow", "resetkeys", "~good:*")
            wait_until(lambda: lost.lost)
            rounds(client, 10)
            assert client.stats()["lost"] == 1
            for hold in holds:
                hold.check()
                hold.release()
    finally:
        server.admin.execute_command("ACL", "DELUSER", "narrow")


def test_names_of_several_slots_at_one_address(lock_name: str) -> None:
    """As behind a proxy that shards: a script may have keys of one slot only."""
    with whole_cluster() as node, redlatch.connect(
        node.url.replace("redis+cluster:", "redis:"), watchdog_lease=WATCHDOG
    ) as client:
        holds = [client.lock(f"{lock_name}:{i}").__enter__() for i in range(5)]
        rounds(client, 30)
        assert client.stats()["lost"] == 0
        for hold in holds:
            hold.check()
            hold.release()


def test_a_forbidden_name_of_a_multi_lock_keeps_no_other_locked(server: RedisServer, lock_name: str) -> None:
    server.set_user("narrow", "word", "+@all")
    names = [f"good:{lock_name}:1", f"bad:{lock_name}", f"good:{lock_name}:2"]
    try:
        with redlatch.connect(server.url, username="narrow", password="word") as client:
            lock = redlatch.multi_lock(*(client.lock(name) for name in names))
            lock.acquire()
            server.admin.execute_command("ACL", "SETUSER", "narrow", "resetkeys", "~good:*")
            with pytest.raises(redlatch.PermissionDeniedError):
                lock.release()
            assert [server.admin.exists(name) for name in names] == [0, 1, 0]
            assert client.stats()["held"] == 0
    finally:
        server.admin.execute_command("ACL", "DELUSER", "narrow")
