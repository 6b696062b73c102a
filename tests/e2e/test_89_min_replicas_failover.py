# SPDX-License-Identifier: Apache-2.0
"""What `min_replicas` is for: a master dies during grants, and its successor has every lock that was granted."""

from __future__ import annotations

import threading
from typing import List

import pytest
import redlatch
from support import wait_until
from support.sentinels import Watched


def test_no_grant_is_lost_with_the_master(lock_name: str) -> None:
    """All replicas must acknowledge. After the failover nothing is granted until there are as many replicas again."""
    granted: List[str] = []
    ended: List[BaseException] = []
    with Watched() as watched, redlatch.connect(watched.url(), min_replicas=2, release_on_close=False) as client:
        old = watched.master

        def acquire_all() -> None:
            for number in range(100_000):
                name = f"{lock_name}:{number}"
                try:
                    obtained = client.lock(name, lease=60).acquire(timeout=0)
                except redlatch.RedlatchError as error:
                    ended.append(error)
                    return
                if obtained:  # false if an acquire whose reply was lost is not undone yet
                    granted.append(name)

        thread = threading.Thread(target=acquire_all)
        thread.start()
        wait_until(lambda: len(granted) >= 200)
        old.kill()
        thread.join(20.0)
        assert len(ended) == 1 and isinstance(ended[0], redlatch.RedlatchError) and ended[0].retryable, ended
        master = watched.wait_for_new_master(old)
        missing = [name for name in granted if not master.admin.exists(name)]
        assert not missing, f"{len(missing)} of {len(granted)} grants are gone"
        held = client.lock(granted[0]).state()
        assert held.locked

        def refused() -> bool:
            try:
                client.lock(f"{lock_name}:other").acquire(timeout=0)
            except redlatch.NotReplicatedError:
                return True
            except redlatch.UnreachableError:
                return False
            pytest.fail("granted with one replica of two")

        wait_until(refused, 10.0)
        old.start()
        with client.lock(f"{lock_name}:other", timeout=30, lease=10):
            pass
