# SPDX-License-Identifier: Apache-2.0
"""redlatch.compat.redis_py_asyncio, the replacement of redis.asyncio's lock. redis-py's own tests of its lock run in
their own stage; this file tests what they leave out: both locks on one name, cancellation, loops, losses."""

from __future__ import annotations

import asyncio
import gc
import os
from typing import Any, Awaitable, Callable

import pytest
import redis
import redis.asyncio
import redlatch
import redlatch.aio
from redis import exceptions
from redis.asyncio.lock import Lock as TheirLock
from redlatch.compat import redis_py, redis_py_asyncio
from redlatch.compat.redis_py_asyncio import Lock
from support import Proxy, RedisServer, closed_port, wait_until
from support.wire import remaining_ms

Body = Callable[[redis.asyncio.Redis], Awaitable[Any]]


def run(server: RedisServer, body: Body) -> Any:
    """Runs a coroutine function with a client of redis.asyncio."""

    async def main() -> Any:
        async with redis.asyncio.Redis.from_url(server.url) as theirs:
            return await asyncio.wait_for(body(theirs), 30)

    return asyncio.run(main())


def test_it_excludes_their_lock_and_is_excluded(server: RedisServer, lock_name: str) -> None:
    async def body(theirs: redis.asyncio.Redis) -> None:
        ours, other = Lock(theirs, lock_name, timeout=30), TheirLock(theirs, lock_name, timeout=30)
        assert await ours.acquire(blocking=False) and not await other.acquire(blocking=False)
        assert await ours.locked() and await other.locked() and await ours.owned() and not await other.owned()
        assert not redis_py.Lock(redis.Redis.from_url(server.url), lock_name).acquire(blocking=False)
        await ours.release()
        assert await other.acquire(blocking=False) and not await ours.acquire(blocking=False)
        assert await ours.locked() and not await ours.owned()
        asyncio.get_running_loop().call_later(0.2, lambda: asyncio.ensure_future(other.release()))
        async with Lock(theirs, lock_name, blocking_timeout=20) as waited:
            assert await waited.owned()

    run(server, body)


def test_any_task_may_release(server: RedisServer, lock_name: str) -> None:
    async def body(theirs: redis.asyncio.Redis) -> None:
        lock = Lock(theirs, lock_name, timeout=60)
        assert await asyncio.ensure_future(lock.acquire())
        assert await theirs.get(lock_name) == lock.local.token
        assert not await lock.acquire(blocking=False)
        releasing = lock.release()
        assert lock.local.token is None and await theirs.exists(lock_name)
        await releasing
        with pytest.raises(exceptions.LockError) as caught:
            lock.release()  # at once, as redis-py does
        assert type(caught.value) is exceptions.LockError and caught.value.lock_name == lock_name

    run(server, body)


def test_a_hold_outlives_the_lock_object_and_its_task(server: RedisServer, lock_name: str) -> None:
    async def body(theirs: redis.asyncio.Redis) -> None:
        async def acquire(name: str, **options: Any) -> bool:
            return await Lock(theirs, name, **options).acquire()

        assert await asyncio.ensure_future(acquire(lock_name, timeout=60))
        assert await asyncio.ensure_future(acquire(f"{lock_name}:renewed"))
        gc.collect()
        await asyncio.sleep(0)
        for name in (lock_name, f"{lock_name}:renewed"):
            assert not await Lock(theirs, name).acquire(blocking=False)
            assert await theirs.delete(name) == 1

    run(server, body)


def test_a_cancelled_acquire_leaves_nothing(server: RedisServer, lock_name: str) -> None:
    async def body(theirs: redis.asyncio.Redis) -> None:
        holder = Lock(theirs, lock_name, timeout=60)
        assert await holder.acquire()
        lock = Lock(theirs, lock_name)
        for _ in range(20):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(lock.acquire(), 0.005)
        assert lock.local.token is None
        await holder.release()
        for number in range(20):  # at the moment of the grant
            task = asyncio.ensure_future(lock.acquire())
            await asyncio.sleep(number / 20_000)
            task.cancel()
            if (await asyncio.gather(task, return_exceptions=True))[0] is True:
                await lock.release()
            assert not await theirs.exists(lock_name)

    run(server, body)


def test_what_nobody_releases_leaves_nothing_in_the_client(server: RedisServer, lock_name: str) -> None:
    async def body(_theirs: redis.asyncio.Redis) -> None:
        async with redlatch.aio.connect(server.url) as client:
            for number in range(20):
                assert await Lock(client, f"{lock_name}:{number}", timeout=0.1).acquire()
            while client.stats()["lost"] < 20 or client._losses._guards:
                await asyncio.sleep(0.01)
            assert client.stats()["held"] == 0

    run(server, body)


def test_a_loss_and_the_end_of_a_block(server: RedisServer, lock_name: str) -> None:
    async def body(theirs: redis.asyncio.Redis) -> None:
        lock = Lock(theirs, lock_name, timeout=20)
        with pytest.raises(exceptions.LockNotOwnedError) as caught:
            async with lock:
                assert await lock.extend(20) and 30_000 < remaining_ms(server, lock_name) <= 40_000
                assert await lock.reacquire() and remaining_ms(server, lock_name) <= 20_000
                await theirs.delete(lock_name)
        assert isinstance(caught.value.__cause__, (redlatch.LockLostError, redlatch.NotOwnedError))
        async with Lock(theirs, lock_name, timeout=20, raise_on_release_error=False):
            await theirs.delete(lock_name)
        with pytest.raises(exceptions.LockError):
            lock.extend(5)

    run(server, body)


def test_a_grant_that_comes_too_late(server: RedisServer, proxy: Proxy, lock_name: str) -> None:
    async def body(_theirs: redis.asyncio.Redis) -> None:
        async with redlatch.aio.connect(proxy.url) as client:
            lock = Lock(client, lock_name, timeout=0.1)
            slow = proxy.delay(200)
            with pytest.raises(exceptions.LockNotOwnedError, match="cannot acquire") as caught:
                await lock.acquire()
            assert isinstance(caught.value.__cause__, redlatch.LockLostError)
            slow.release()

    run(server, body)


def test_each_loop_has_a_client(server: RedisServer, lock_name: str) -> None:
    """Locks of one connection pool work in each new event loop."""
    pool = redis.asyncio.ConnectionPool.from_url(server.url)

    async def use() -> None:
        async with Lock(pool, lock_name, timeout=20), Lock(pool, f"{lock_name}:2"):
            assert redis_py_asyncio._clients.of(pool) is redis_py_asyncio._clients.of(pool)

    for _ in range(3):
        asyncio.run(use())


def test_a_forked_child_has_a_client_of_its_own(server: RedisServer, lock_name: str) -> None:
    pool = redis.asyncio.ConnectionPool.from_url(server.url)

    async def use() -> bool:
        return await Lock(pool, lock_name).acquire(blocking=False)

    assert asyncio.run(use())
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(int(asyncio.run(use())))
        finally:
            os._exit(9)
    assert os.waitpid(pid, 0)[1] == 0
    server.admin.delete(lock_name)


def test_what_is_refused(server: RedisServer, client: redlatch.Client, lock_name: str) -> None:
    with pytest.raises(TypeError, match=r"expected redis\.asyncio\.Redis"):
        Lock(redis.Redis.from_url(server.url), lock_name)
    with pytest.raises(TypeError, match="of type Client; expected a client of redis-py"):
        Lock(client, lock_name)

    async def token(theirs: redis.asyncio.Redis) -> None:
        with pytest.raises(redlatch.UnsupportedError, match="token is 'mine'; expected None"):
            await Lock(theirs, lock_name).acquire(token="mine")

    run(server, token)


def test_what_the_server_refuses(server: RedisServer, lock_name: str) -> None:
    async def body(theirs: redis.asyncio.Redis) -> None:
        await theirs.rpush(lock_name, "x")
        with pytest.raises(exceptions.ResponseError):
            await Lock(theirs, lock_name).acquire(blocking=False)
        with closed_port() as port:
            lock = Lock(redis.asyncio.Redis(port=port), lock_name)
            with pytest.raises(exceptions.ConnectionError) as caught:
                await lock.acquire(blocking=False)
            assert isinstance(caught.value.__cause__, redlatch.UnreachableError)

    run(server, body)


def test_lock_of_a_client(server: RedisServer, lock_name: str) -> None:
    async def body(_theirs: redis.asyncio.Redis) -> None:
        async with redis_py_asyncio.Redis.from_url(server.url) as swapped:
            lock = swapped.lock(lock_name, 7, 0.2, False, 3, thread_local=False, raise_on_release_error=False)
            assert type(lock) is Lock
            assert (lock.timeout, lock.sleep, lock.blocking, lock.blocking_timeout) == (7, 0.2, False, 3)
            assert type(swapped.lock(lock_name, lock_class=TheirLock)) is TheirLock
            async with lock:
                assert await swapped.get(lock_name) == lock.local.token

    run(server, body)


def test_the_client_goes_with_the_pool(server: RedisServer, lock_name: str) -> None:
    for _ in range(2):  # a client with a held lock is garbage after its pool
        gc.collect()
    before = len(server.client_list("redlatch:"))

    async def body(theirs: redis.asyncio.Redis) -> None:
        async with Lock(theirs, lock_name):
            assert len(server.client_list("redlatch:")) > before

    run(server, body)
    gc.collect()
    wait_until(lambda: len(server.client_list("redlatch:")) <= before)


def test_a_client_of_redlatch_that_nobody_closed(server: RedisServer, lock_name: str) -> None:
    """It is closed when it is collected, although it holds a lock."""

    async def body(_theirs: redis.asyncio.Redis) -> None:
        client = await redlatch.aio.connect(server.url)
        assert await Lock(client, lock_name).acquire()
        del client
        gc.collect()
        wait_until(lambda: not server.client().exists(lock_name))

    run(server, body)
