# SPDX-License-Identifier: Apache-2.0
"""A hold whose owner id on the server changes is the same hold to its user.

A user who may not kill old connections loses the reply of an `extend`: the command may still arrive, so the hold moves
to a new owner id. Hold objects, releases and losses must go by the hold, not by that id.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Callable, Dict, Iterator

import pytest
import redlatch
from support import Proxy, RedisServer
from support.wire import SCRIPTS, load_scripts

PASSWORD = "secret"
MakeLock = Callable[[redlatch.Client, str], redlatch.Lock]

KINDS: Dict[str, MakeLock] = {
    "mutex": lambda client, name: client.lock(name),
    "fenced": lambda client, name: client.fenced_lock(name),
    "plain": lambda client, name: client.plain_lock(name),
    "fair": lambda client, name: client.fair_lock(name),
    "spin": lambda client, name: client.spin_lock(name),
    "read": lambda client, name: client.read_write_lock(name).read,
    "write": lambda client, name: client.read_write_lock(name).write,
    "group": lambda client, name: client.group_lock(name, ["a", "b"]),
    "multi": lambda client, name: redlatch.multi_lock(client.lock(name), client.lock(name + ":2")),
}
SCRIPT = {"plain": "extend_plain", "read": "extend_read", "write": "extend_write", "group": "extend_group"}


@pytest.fixture
def client(server: RedisServer, proxy: Proxy) -> Iterator[redlatch.Client]:
    """A client behind the proxy. Its user may not call CLIENT and INFO."""
    server.set_user("limited", PASSWORD, "+@all", "-client", "-info")
    load_scripts(server)
    with redlatch.connect(proxy.url, username="limited", password=PASSWORD) as opened:
        yield opened
    admin: Any = server.admin
    admin.acl_deluser("limited")


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """A kind of lock."""
    name: str = request.param
    return name


def extend_and_lose_the_reply(proxy: Proxy, hold: redlatch.Hold, kind: str, seconds: float = 60) -> str:
    """Makes the hold move to a new owner id. Returns the old one."""
    before = hold.owner
    lost = proxy.cut_after(SCRIPTS[SCRIPT.get(kind, "extend")])
    with suppress(redlatch.LockLostError):  # if the extension takes longer than the new lease
        hold.extend(seconds)
    lost.wait_hit()
    return before


def test_it_is_released(server: RedisServer, proxy: Proxy, client: redlatch.Client, kind: str,
                           lock_name: str) -> None:
    lock = KINDS[kind](client, lock_name)
    with lock as hold:
        before = extend_and_lose_the_reply(proxy, hold, kind)
        assert hold.owner != before
        assert hold.count == 1 and not hold.lost
        assert 50.0 < hold.remaining() <= 60.0
        hold.extend(20)
        hold.release()
        assert hold.count == 0
    assert lock.owned() is False
    assert [key for key in server.admin.keys("*") if b"token" not in key] == []


def test_it_is_left_by_its_with(server: RedisServer, proxy: Proxy, client: redlatch.Client, kind: str,
                                   lock_name: str) -> None:
    with KINDS[kind](client, lock_name) as hold:
        extend_and_lose_the_reply(proxy, hold, kind)
    assert [key for key in server.admin.keys("*") if b"token" not in key] == []


def test_a_call_on_it_tells_of_its_loss(server: RedisServer, proxy: Proxy, client: redlatch.Client, kind: str,
                                           lock_name: str) -> None:
    with pytest.raises(redlatch.LockLostError), KINDS[kind](client, lock_name) as hold:
        lost = hold.lost_event
        extend_and_lose_the_reply(proxy, hold, kind)
        server.admin.flushall()
        with pytest.raises(redlatch.LockLostError):
            hold.extend(60)
        assert hold.lost
        assert lost.wait(10)


def test_its_loss_is_reported(proxy: Proxy, client: redlatch.Client, kind: str, lock_name: str) -> None:
    """The core reports by itself that the lease has run out."""
    lock = KINDS[kind](client, lock_name)
    assert lock.acquire(lease=30)
    hold = lock.held()
    assert hold is not None
    lost = hold.lost_event
    extend_and_lose_the_reply(proxy, hold, kind, seconds=0.5)
    assert lost.wait(10)
    with pytest.raises(redlatch.LockLostError):
        lock.release()
