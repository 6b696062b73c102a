# SPDX-License-Identifier: Apache-2.0
"""on_lost="cancel" of redlatch.aio: a loss cancels the block, and its cancellation is told apart from others."""

from __future__ import annotations

import asyncio
import sys
import time
from functools import partial
from typing import Any, Callable

import pytest
import redlatch
import redlatch.aio
import trio
from loops import RUNNERS, World, run
from stalls import Stalls
from support import Proxy, RedisServer

Run = Callable[..., Any]
COUNTED = sys.version_info >= (3, 11)  # cancellations of a task of asyncio are


@pytest.fixture(params=RUNNERS)
def run_in(request: pytest.FixtureRequest) -> Run:
    """Runs a coroutine function in one of the loops; it gets the World."""
    return partial(run, request.param)


def test_a_loss_cancels_the_block(run_in: Run, server: RedisServer, lock_name: str) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url, watchdog_lease=0.6) as client:
            for lock in (
                client.lock(lock_name, on_lost="cancel"),
                client.read_write_lock(lock_name, on_lost="cancel").write,
                redlatch.aio.multi_lock(client.lock(lock_name), client.lock(f"{lock_name}:2"), on_lost="cancel"),
            ):
                with pytest.raises(redlatch.LockLostError) as caught:
                    async with lock as held:
                        server.admin.delete(lock_name)
                        await world.sleep(60)
                assert caught.value.reason == "missing" and held.lost
                await world.sleep(0.01)  # nothing of the cancellation is left
                async with lock:
                    pass
            assert client.stats()["held"] == 0

    run_in(main)


def test_a_lease_that_ends_while_the_server_is_cut_off(
    run_in: Run, server: RedisServer, proxy: Proxy, lock_name: str
) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(proxy.url, watchdog_lease=0.6, command_timeout=0.5) as client:
            with pytest.raises(redlatch.LockLostError) as caught, Stalls() as stalls:
                async with client.lock(lock_name, on_lost="cancel"):
                    start = time.monotonic()
                    proxy.stall()
                    await world.sleep(60)
            assert caught.value.reason == "expired"
            assert time.monotonic() - start < stalls.widen(0.6 + 1.0)

    run_in(main)


def test_what_the_block_raised_comes_out(run_in: Run, server: RedisServer, lock_name: str) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url, watchdog_lease=0.6) as client:
            lock = client.lock(lock_name, on_lost="cancel")
            with pytest.raises(ZeroDivisionError):
                async with lock:
                    server.admin.delete(lock_name)
                    try:
                        await world.sleep(60)
                    finally:
                        1 / 0  # noqa: B018
            await world.sleep(0.01)
            with pytest.raises(redlatch.LockLostError):
                async with lock as held:
                    server.admin.delete(lock_name)
                    end = time.monotonic() + 10
                    while not held.lost:
                        assert time.monotonic() < end
                        time.sleep(0.005)  # so that the loss strikes at the end of the block
            await world.sleep(0.01)
            async with lock as held:
                await held.release()
            with pytest.raises(redlatch.InvalidArgumentError, match="'raise' or 'cancel'"):
                client.lock(lock_name, on_lost="log")  # type: ignore[arg-type]

    run_in(main)


def test_blocks_inside_each_other(run_in: Run, server: RedisServer, lock_name: str) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url, watchdog_lease=0.6) as client:
            lock, other = (client.lock(f"{lock_name}{i}", on_lost="cancel") for i in range(2))
            with pytest.raises(redlatch.LockLostError):
                async with lock, lock:
                    server.admin.delete(f"{lock_name}0")
                    await world.sleep(60)
            await world.sleep(0.01)
            async with lock as outer:  # only the inner one is lost, and its error handled
                with pytest.raises(redlatch.LockLostError):
                    async with other:
                        server.admin.delete(f"{lock_name}1")
                        await world.sleep(60)
                assert not outer.lost
                await world.sleep(0.01)
            with pytest.raises(redlatch.LockLostError, match=f"{lock_name[:20]}"):
                async with lock, other as inner:
                    server.admin.delete(f"{lock_name}0")
                    await world.sleep(60)
            assert not inner.lost and client.stats()["held"] == 0
            await world.sleep(0.01)

    run_in(main)


def test_a_cancellation_by_somebody_else(run_in: Run, server: RedisServer, lock_name: str) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url, watchdog_lease=0.6) as client:

            async def work() -> None:
                async with client.lock(lock_name, on_lost="cancel"):
                    await world.sleep(60)

            working = world.spawn(work)
            await world.until(lambda: server.client().exists(lock_name))
            working.cancel()
            assert await working.end() == ("cancelled", None)
            assert not server.client().exists(lock_name)

    run_in(main)


@pytest.mark.skipif(not COUNTED, reason="before Python 3.11 two cancellations at once are not told apart")
def test_both_at_once_in_asyncio(server: RedisServer, lock_name: str) -> None:
    async def main() -> None:
        async with redlatch.aio.connect(server.url, watchdog_lease=0.6) as client:

            async def work() -> None:
                async with client.lock(lock_name, on_lost="cancel") as held:
                    task = asyncio.current_task()
                    assert task is not None
                    server.admin.delete(lock_name)
                    try:
                        await asyncio.sleep(60)
                    finally:
                        assert held.lost
                        task.cancel()

            working = asyncio.create_task(work())
            with pytest.raises(asyncio.CancelledError):
                await working
            assert working.cancelled()
            with pytest.raises(redlatch.LockLostError):
                async with asyncio.timeout(30):
                    async with client.lock(lock_name, on_lost="cancel"):
                        server.admin.delete(lock_name)
                        await asyncio.sleep(60)

    asyncio.run(main())


def test_both_at_once_in_trio(server: RedisServer, lock_name: str) -> None:
    async def main() -> None:
        async with redlatch.aio.connect(server.url, watchdog_lease=0.6) as client:
            with trio.CancelScope() as scope:
                async with client.lock(lock_name, on_lost="cancel"):
                    server.admin.delete(lock_name)
                    try:
                        await trio.sleep(60)
                    finally:
                        scope.cancel()
            assert scope.cancelled_caught

    trio.run(main)
