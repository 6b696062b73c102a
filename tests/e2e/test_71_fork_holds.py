# SPDX-License-Identifier: Apache-2.0
"""A forked child is granted a lock that its parent held at the fork. From then on its calls are about its own hold."""

from __future__ import annotations

from typing import Callable, Dict, List

import pytest
import redlatch
from forks import in_child, refused
from support import RedisServer


def answers_as_its_own(lock: redlatch.Lock) -> None:
    """In a child whose parent held the lock: from the child's first grant on, its calls are about its own holds."""
    refused({"owned": lock.owned, "hold_count": lock.hold_count, "held": lock.held, "release": lock.release})
    lock.force_release()
    for _ in range(2):
        with lock as mine:
            assert lock.owned() and lock.hold_count() == mine.count == 1
        assert not lock.owned() and lock.hold_count() == 0 and lock.held() is None
        for over in (lock.release, mine.release, mine.check, lambda: lock.extend(1)):
            with pytest.raises(redlatch.NotOwnedError):
                over()
    assert lock.acquire()
    in_child(lambda: refused({"owned": lock.owned, "release": lock.release}))
    lock.release()


@pytest.mark.parametrize("kind", ["thread", "handle", "multi", "read"])
def test_after_its_first_grant_a_child_is_answered_about_its_own_holds(
    server: RedisServer, lock_name: str, kind: str
) -> None:
    with redlatch.connect(server.url) as client:
        locks: Dict[str, Callable[[], redlatch.Lock]] = {
            "thread": lambda: client.lock(lock_name),
            "handle": lambda: client.lock(lock_name, owner="handle"),
            "multi": lambda: redlatch.multi_lock(client.lock(f"{lock_name}:a"), client.lock(f"{lock_name}:b")),
            "read": lambda: client.read_write_lock(lock_name).read,
        }
        lock = locks[kind]()
        with pytest.raises(redlatch.LockLostError), lock:
            in_child(lambda: answers_as_its_own(lock))


def test_after_a_grant_by_a_majority_a_child_is_answered_about_its_own_holds(
    servers: List[RedisServer], open_clients: Callable[..., List[redlatch.Client]], lock_name: str
) -> None:
    lock = redlatch.redlock(*(client.lock(lock_name) for client in open_clients(servers)))

    def live() -> None:
        refused({"owned": lock.owned})
        for each in servers[1:]:
            each.client().delete(lock_name)
        with lock:  # the first server still has the parent's hold
            assert lock.owned()
        assert not lock.owned()
        with pytest.raises(redlatch.NotOwnedError):
            lock.release()

    with pytest.raises(redlatch.LockLostError), lock:
        in_child(live)


def test_a_stale_release_of_the_parents_multi_lock_leaves_the_childs_own_member(
    server: RedisServer, lock_name: str
) -> None:
    with redlatch.connect(server.url) as client:
        first, second = (client.lock(f"{lock_name}:{each}") for each in "ab")
        both = redlatch.multi_lock(first, second)

        def live() -> None:
            first.force_release()
            with first:
                refused({"release": both.release, "owned": both.owned})
                assert first.owned() and server.admin.exists(f"{lock_name}:a")

        with pytest.raises(redlatch.LockLostError), both:
            in_child(live)


@pytest.mark.parametrize("at_least", [0, 60])
def test_a_child_that_leaves_a_job_of_its_parent_raises_its_own_exception(
    server: RedisServer, lock_name: str, at_least: float
) -> None:
    with redlatch.connect(server.url) as client:
        job = client.once(lock_name, at_least=at_least, at_most=3600)
        assert job.__enter__() is not None
        in_child(lambda: job.__exit__(KeyError, KeyError("its own"), None))
        assert client.inspect(lock_name).locked
        job.__exit__(None, None, None)
        assert client.inspect(lock_name).locked == (at_least > 0)
