# SPDX-License-Identifier: Apache-2.0
"""Error texts of failed calls on multi locks and RedLocks: they name the member that was in the way, and its server."""

from __future__ import annotations

from typing import Any, Callable, List
from uuid import uuid4

import pytest
import redlatch
from redlatch._ffi import lib, text
from support import RedisServer, free_port
from waiters import hold_as_redisson

OpenClients = Callable[..., List[redlatch.Client]]


@pytest.fixture
def lock_name() -> str:
    """A short name, because error texts cut long ones."""
    return f"words:{uuid4().hex[:12]}"


def address(server: RedisServer) -> str:
    return f"127.0.0.1:{server.port}"


def words(acquire: Callable[[], Any]) -> str:
    """Returns the error text of an acquire that raises or returns False."""
    try:
        assert acquire() is False
    except redlatch.RedlatchError as error:
        return str(error)
    return text(lib.redlatch_last_error())


def test_the_member_that_others_hold_is_named(
    server: RedisServer, open_clients: OpenClients, lock_name: str
) -> None:
    client = open_clients([server])[0]
    names = [f"{{{lock_name}}}:{letter}" for letter in "abc"]
    hold_as_redisson(server, names[1])
    lock = redlatch.multi_lock(*map(client.lock, names))
    assert words(lambda: lock.acquire(timeout=0)) == f'acquire "{names[1]}": held by another owner'
    text = words(lambda: lock.acquire(timeout=0.5))
    assert text.startswith(f'acquire "{names[1]}": held by another owner during the wait of 0.5 s')


def test_where_no_single_one_is_to_blame_all_are_named(
    server: RedisServer, open_clients: OpenClients, lock_name: str
) -> None:
    client = open_clients([server], unreachable_timeout=0.5)[0]
    names = [f"{{{lock_name}}}:{letter}" for letter in "abcde"]
    lock = redlatch.multi_lock(*map(client.lock, names))
    server.admin.replicaof("127.0.0.1", free_port())
    try:
        text = words(lock.acquire)
        assert text.startswith(f'acquire "{names[0]}", "{names[1]}", "{names[2]}" and 2 more: the server is a read-')
        text = words(redlatch.multi_lock(client.lock(names[0]), client.lock(names[3])).acquire)
        assert text.startswith(f'acquire "{names[0]}", "{names[3]}": the server is a read-only')
    finally:
        server.admin.replicaof("NO", "ONE")


def test_of_several_servers_the_one_is_named_too(
    servers: List[RedisServer], open_clients: OpenClients, lock_name: str
) -> None:
    clients = open_clients(servers[:2], unreachable_timeout=0.5)
    lock = redlatch.multi_lock(clients[0].lock(f"{lock_name}:a"), clients[1].lock(f"{lock_name}:b"))
    hold_as_redisson(servers[1], f"{lock_name}:b")
    text = words(lambda: lock.acquire(timeout=0.5))
    assert text.startswith(f'acquire "{lock_name}:b": held by another owner during the wait of 0.5 s')
    assert text.endswith(f", on {address(servers[1])}")
    with pytest.raises(redlatch.NotOwnedError, match=f'release "{lock_name}:[ab]": .*, on 127[^ ]+ '):
        lock.release()
    servers[1].stop()
    text = words(lock.acquire)
    assert text.startswith(f'acquire "{lock_name}:b": ') and text.count(address(servers[1])) == 1


def test_of_a_majority_it_says_how_many(
    servers: List[RedisServer], open_clients: OpenClients, lock_name: str
) -> None:
    clients = open_clients(servers, unreachable_timeout=0.5)
    lock = redlatch.redlock(*(client.lock(lock_name) for client in clients))
    for server in servers[1:]:
        hold_as_redisson(server, lock_name)
    text = words(lambda: lock.acquire(timeout=0))
    assert text == f'acquire "{lock_name}": held by another owner, on 2 of 3 servers'
    for server in servers[1:]:
        server.stop()
    text = words(lock.acquire)
    assert "127.0.0.1:" in text and text.endswith(", on 2 of 3 servers")
