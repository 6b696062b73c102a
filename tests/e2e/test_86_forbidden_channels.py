# SPDX-License-Identifier: Apache-2.0
"""A user who may subscribe to some channels only. A refusal is about one channel and does not affect the others."""

from __future__ import annotations

from typing import Any, Callable, List

import pytest
import redlatch
from steps import Call
from support import Proxy, RedisServer, wait_until

MakeServer = Callable[..., RedisServer]

PASSWORD = "secret"


def channel(name: str) -> str:
    """The channel of a lock."""
    return f"redisson_lock__channel:{{{name}}}"


def listeners(server: RedisServer, name: str) -> int:
    """Returns how many connections have subscribed to a lock's channel."""
    admin: Any = server.admin
    ((_, count),) = admin.pubsub_numsub(channel(name))
    return int(count)


def subscribes(proxy: Proxy) -> int:
    """Returns how many SUBSCRIBE commands were sent."""
    return sum(sent.word == "SUBSCRIBE" for sent in proxy.commands())


@pytest.mark.parametrize(
    "names", [["no", "ok"], ["ok", "no"], ["no", "ok1", "no1", "ok2"], ["ok1", "no", "ok2", "no2", "ok3"]], ids="-".join
)
def test_one_forbidden_channel_denies_no_other(make_server: MakeServer, names: List[str]) -> None:
    """All channels are requested before the server answers any."""
    server = make_server()
    if server.version < (6, 2, 0):
        pytest.skip("everybody may use all channels")
    server.set_user("limited", PASSWORD, "+@all", channels=["redisson_lock__channel:{ok*"])
    allowed = [name for name in names if name.startswith("ok")]
    with redlatch.connect(server.url) as holder, Proxy(server.address) as proxy:
        locks = [holder.lock(name, owner="handle") for name in names]
        for lock in locks:
            assert lock.acquire()
        with redlatch.connect(proxy.url, username="limited", password=PASSWORD) as client:
            held_back = proxy.hold("SUBSCRIBE")
            waits = []
            for name in names:
                waits.append(Call(client.lock(name, owner="handle").acquire))
                wait_until(lambda: subscribes(proxy) == len(waits))
            held_back.release()
            wait_until(lambda: all(listeners(server, name) for name in allowed))
            wait_until(lambda: client.stats()["subscriptions"] == len(allowed), 5.0, "those that are allowed")
            for lock, wait in zip(locks, waits):
                lock.release()
                assert wait.result()
