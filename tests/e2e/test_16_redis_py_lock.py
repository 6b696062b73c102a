# SPDX-License-Identifier: Apache-2.0
"""redlatch.compat.redis_py, the replacement of redis-py's lock. redis-py's own tests of its lock run in their own
stage; this file tests what they leave out: both locks on one name, threads, errors, holds that nobody releases."""

from __future__ import annotations

import gc
import logging
import os
import subprocess
import sys
import threading
import time
from typing import Any, Dict, Iterator, Type

import pytest
import redis
import redlatch
from redis import exceptions
from redis.lock import Lock as TheirLock
from redlatch.compat import redis_py
from redlatch.compat.redis_py import Lock
from support import Proxy, RedisServer, closed_port, wait_until
from support.wire import remaining_ms
from waiters import SOON


@pytest.fixture
def theirs(server: RedisServer) -> Iterator[redis.Redis]:
    """A client of redis-py."""
    with redis.Redis.from_url(server.url) as opened:
        yield opened
        opened.connection_pool.disconnect()


def redlatch_connections(server: RedisServer) -> int:
    """Returns how many connections redlatch has to the server."""
    return len(server.client_list("redlatch:"))


# ------------------------------------------------------------------------------------------------- beside redis-py --


def test_it_excludes_their_lock_and_is_excluded(theirs: redis.Redis, lock_name: str) -> None:
    ours, other = Lock(theirs, lock_name, timeout=30), TheirLock(theirs, lock_name, timeout=30)
    assert ours.acquire(blocking=False) and not other.acquire(blocking=False)
    assert ours.locked() and other.locked() and ours.owned() and not other.owned()
    ours.release()
    assert other.acquire(blocking=False) and not ours.acquire(blocking=False)
    assert ours.locked() and not ours.owned()
    other.release()
    assert not ours.locked() and not other.locked()


def test_a_waiter_gets_what_their_lock_releases(theirs: redis.Redis, lock_name: str) -> None:
    other = TheirLock(theirs, lock_name, timeout=30)
    assert other.acquire()
    timer = threading.Timer(0.3, other.do_release, [other.local.token])
    timer.start()
    with Lock(theirs, lock_name, blocking_timeout=20) as lock:
        assert lock.owned()
    timer.join()


def test_a_waiter_is_woken_by_a_message(server: RedisServer, theirs: redis.Redis, lock_name: str) -> None:
    """The waiter does not poll: even with a `sleep` of 10 s it gets the lock at once."""
    holder = Lock(theirs, lock_name, timeout=60, thread_local=False)
    assert holder.acquire()
    granted: Dict[str, float] = {}

    def wait() -> None:
        with Lock(theirs, lock_name, sleep=10, blocking_timeout=30):
            granted["at"] = time.monotonic()

    thread = threading.Thread(target=wait)
    thread.start()
    waiting = redis_py._clients.of(theirs)
    wait_until(lambda: waiting.stats()["waiters"] == 1)
    released_at = time.monotonic()
    holder.release()
    thread.join(20)
    assert granted["at"] - released_at < SOON


def test_it_is_a_plain_lock(client: redlatch.Client, theirs: redis.Redis, lock_name: str) -> None:
    """A program can therefore move on to `plain_lock` on the same name."""
    with client.plain_lock(lock_name):
        assert not Lock(theirs, lock_name).acquire(blocking=False)
    lock = Lock(client, lock_name, timeout=5)
    assert lock.acquire() and theirs.get(lock_name) == lock.local.token
    assert not client.plain_lock(lock_name, owner="handle").acquire(blocking=False)
    lock.release()


def test_lock_of_a_client(theirs: redis.Redis, server: RedisServer, lock_name: str) -> None:
    assert isinstance(theirs.lock(lock_name, lock_class=Lock), Lock)
    with redis_py.Redis.from_url(server.url) as swapped:
        assert isinstance(swapped, redis.Redis)
        lock = swapped.lock(lock_name, 7, 0.2, False, 3, thread_local=False, raise_on_release_error=False)
        assert type(lock) is Lock
        assert (lock.timeout, lock.sleep, lock.blocking, lock.blocking_timeout) == (7, 0.2, False, 3)
        assert (lock.thread_local, lock.raise_on_release_error, lock.redis) == (False, False, swapped)
        assert type(swapped.lock(lock_name, lock_class=TheirLock)) is TheirLock
        with lock:
            assert swapped.get(lock_name) == lock.local.token
    swapped.connection_pool.disconnect()


# ------------------------------------------------------------------------------------------------------- arguments --


@pytest.mark.parametrize(
    ("sleep", "blocking_timeout", "waits"), [(0.1, 0.3, True), (0.1, 0, False), (0.1, -1, False), (90, 60, False)]
)
def test_how_long_it_waits(
    theirs: redis.Redis, lock_name: str, sleep: float, blocking_timeout: float, waits: bool
) -> None:
    """With a blocking_timeout below 0 it does not wait, as in redis-py, although -1 means for ever in redlatch."""
    with Lock(theirs, lock_name, timeout=60):
        began = time.monotonic()
        assert not Lock(theirs, lock_name, sleep=sleep, blocking_timeout=blocking_timeout).acquire()
        assert time.monotonic() - began >= 0.3 if waits else time.monotonic() - began < 30


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"timeout": -1}, redlatch.InvalidArgumentError, "timeout is -1; expected more than 0 seconds"),
        ({"timeout": "5"}, TypeError, "timeout is '5', of type str"),
        ({"name": ""}, redlatch.InvalidArgumentError, "name is 0 bytes long"),
        ({"redis": object()}, TypeError, "redis_client is of type object; expected a client of redis-py"),
    ],
)
def test_what_is_refused(
    theirs: redis.Redis, arguments: Dict[str, Any], error: Type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        Lock(**{"redis": theirs, "name": "x", **arguments})


def test_a_token_is_refused(theirs: redis.Redis, lock_name: str) -> None:
    with pytest.raises(redlatch.UnsupportedError, match="token is 'mine'; expected None"):
        Lock(theirs, lock_name).acquire(token="mine")
    assert not theirs.exists(lock_name)


def test_a_client_of_asyncio_is_refused(server: RedisServer, lock_name: str) -> None:
    from redis import asyncio as theirs_asyncio

    with pytest.raises(TypeError, match="expected redis.Redis: this Lock blocks"):
        Lock(theirs_asyncio.Redis.from_url(server.url), lock_name)


# --------------------------------------------------------------------------------------------------------- threads --


def in_another_thread(call: Any) -> Any:
    """Returns what a call on another thread returns or raises."""
    outcome: Dict[str, Any] = {}

    def run() -> None:
        try:
            outcome["value"] = call()
        except exceptions.LockError as error:
            outcome["value"] = error

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(20)
    return outcome["value"]


def test_who_may_release(theirs: redis.Redis, lock_name: str) -> None:
    for thread_local in (True, False):
        lock = Lock(theirs, lock_name, timeout=60, thread_local=thread_local)
        assert lock.acquire()
        error = in_another_thread(lock.release)
        assert (type(error) is exceptions.LockError) == thread_local
        assert lock.locked() == thread_local
        if thread_local:
            assert error.lock_name == lock_name and "has not acquired it" in str(error)
            assert not in_another_thread(lambda lock=lock: lock.acquire(blocking=False))
            lock.release()


def test_a_hold_outlives_the_lock_object_and_its_thread(
    server: RedisServer, theirs: redis.Redis, lock_name: str
) -> None:
    """For example, a job that must not run twice an hour acquires a lock for an hour and never releases it."""
    assert in_another_thread(lambda: Lock(theirs, lock_name, timeout=60).acquire())
    assert in_another_thread(lambda: Lock(theirs, f"{lock_name}:renewed").acquire())
    gc.collect()
    for name in (lock_name, f"{lock_name}:renewed"):
        assert not Lock(theirs, name).acquire(blocking=False)
        assert theirs.delete(name) == 1


def test_a_hold_outlives_the_process(server: RedisServer, theirs: redis.Redis, lock_name: str) -> None:
    program = (
        "import redis, sys; from redlatch.compat.redis_py import Lock;"
        "assert Lock(redis.Redis.from_url(sys.argv[1]), sys.argv[2], timeout=60).acquire()"
    )
    subprocess.run([sys.executable, "-c", program, server.url, lock_name], check=True, timeout=60)
    assert 50_000 < remaining_ms(server, lock_name) <= 60_000


def test_a_forked_child_has_a_client_of_its_own(server: RedisServer, theirs: redis.Redis, lock_name: str) -> None:
    with Lock(theirs, lock_name, timeout=60):
        pid = os.fork()
        if pid == 0:
            try:
                assert not Lock(theirs, lock_name).acquire(blocking=False)
                with Lock(theirs, f"{lock_name}:child", blocking_timeout=5):
                    os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(pid, 0)[1] == 0


# ---------------------------------------------------------------------------------------------------------- losses --


def test_what_expired_can_be_acquired_again(theirs: redis.Redis, lock_name: str) -> None:
    lock = Lock(theirs, lock_name, timeout=0.2)
    for _ in range(3):
        assert lock.acquire(blocking_timeout=10)
        token = lock.local.token
        wait_until(lambda: not theirs.exists(lock_name))
        assert not lock.owned()
    with pytest.raises(exceptions.LockNotOwnedError) as caught:
        lock.release()
    assert caught.value.lock_name == lock_name and lock.local.token is None
    assert isinstance(caught.value.__cause__, (redlatch.LockLostError, redlatch.NotOwnedError))
    assert token is not None


def test_what_nobody_releases_leaves_nothing_in_the_client(
    client: redlatch.Client, server: RedisServer, lock_name: str
) -> None:
    for number in range(20):
        assert Lock(client, f"{lock_name}:{number}", timeout=0.1).acquire()
    wait_until(lambda: client.stats()["lost"] == 20 and not len(client._expected), 10.0)
    assert client.stats()["held"] == 0


def test_the_end_of_a_block_logs_if_it_is_not_to_raise(
    theirs: redis.Redis, lock_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="redlatch"):
        with Lock(theirs, lock_name, timeout=60, raise_on_release_error=False):
            theirs.delete(lock_name)
    assert "cannot release the lock: the caller no longer holds it" in [
        record.getMessage() for record in caplog.records
    ]


def test_extend_adds_or_replaces(theirs: redis.Redis, server: RedisServer, lock_name: str) -> None:
    with Lock(theirs, lock_name, timeout=20) as lock:
        assert lock.extend(20) and 30_000 < remaining_ms(server, lock_name) <= 40_000
        assert lock.extend(5, replace_ttl=True) and remaining_ms(server, lock_name) <= 5_000
        assert lock.reacquire() and 10_000 < remaining_ms(server, lock_name) <= 20_000
        assert theirs.get(lock_name) == lock.local.token
        theirs.persist(lock_name)
        with pytest.raises(exceptions.LockNotOwnedError):
            lock.extend(5)


def test_a_timeout_of_zero_is_none(theirs: redis.Redis, lock_name: str) -> None:
    """A timeout of 0 means none: the lock is renewed, so there is nothing to extend."""
    with Lock(theirs, lock_name, timeout=0) as lock:
        for refused in (lock.reacquire, lambda: lock.extend(5)):
            with pytest.raises(exceptions.LockError, match="it has no timeout"):
                refused()


# ---------------------------------------------------------------------------------------------------------- errors --


def test_a_server_that_is_not_there(lock_name: str) -> None:
    """The constructor connects to no server, so only the first call fails."""
    with closed_port() as port:
        lock = Lock(redis.Redis(port=port), lock_name)
        for call in (lambda: lock.acquire(blocking=False), lock.locked):
            with pytest.raises(exceptions.ConnectionError) as caught:
                call()
            assert isinstance(caught.value.__cause__, redlatch.UnreachableError)


def test_a_server_that_does_not_answer(proxy: Proxy, lock_name: str) -> None:
    with redis.Redis.from_url(proxy.url, socket_timeout=2) as theirs:
        lock = Lock(theirs, lock_name, timeout=60)
        assert lock.acquire()
        stalled = proxy.stall()
        with pytest.raises(exceptions.TimeoutError):
            lock.locked()
        stalled.release()
        lock.release()


def test_a_grant_that_comes_too_late(proxy: Proxy, lock_name: str) -> None:
    """It is given back."""
    with redis.Redis.from_url(proxy.url, socket_timeout=5) as theirs:
        lock = Lock(theirs, lock_name, timeout=0.1)
        assert not lock.locked()
        slow = proxy.delay(200)
        with pytest.raises(exceptions.LockNotOwnedError, match="cannot acquire") as caught:
            lock.acquire()
        assert isinstance(caught.value.__cause__, redlatch.LockLostError)
        slow.release()
        with Lock(theirs, lock_name, timeout=60, blocking_timeout=SOON) as other:
            assert other.owned()


def test_what_the_server_refuses(server: RedisServer, theirs: redis.Redis, lock_name: str) -> None:
    theirs.rpush(lock_name, "x")
    with pytest.raises(exceptions.ResponseError):
        Lock(theirs, lock_name).acquire(blocking=False)
    url = f"redis://127.0.0.1:{server.port}"
    with pytest.raises(exceptions.AuthenticationError):
        Lock(redis.Redis.from_url(url, username="nobody", password="x"), lock_name).locked()
    server.set_user("reader", "x", "+@all", "-@scripting")
    with pytest.raises(exceptions.NoPermissionError):
        Lock(redis.Redis.from_url(url, username="reader", password="x"), lock_name).acquire(blocking=False)
    server.admin.execute_command("ACL", "DELUSER", "reader")


# --------------------------------------------------------------------------------------------------------- clients --


def test_the_client_goes_with_the_pool(server: RedisServer, lock_name: str) -> None:
    """Each pool has one redlatch client, however many redis-py clients and locks use it."""
    for _ in range(2):  # a client with a held lock is garbage after its pool
        gc.collect()  # otherwise clients of other tests could be closed during this test
    before = redlatch_connections(server)
    pool = redis.ConnectionPool.from_url(server.url)
    clients = [redis.Redis(connection_pool=pool) for _ in range(3)]
    assert len({id(redis_py._clients.of(given)) for given in [*clients, pool]}) == 1
    with Lock(clients[0], lock_name), Lock(clients[1], f"{lock_name}:2"):
        assert redlatch_connections(server) > before
    pool.disconnect()
    del clients, pool
    gc.collect()
    wait_until(lambda: redlatch_connections(server) <= before)
