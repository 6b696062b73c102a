# SPDX-License-Identifier: Apache-2.0
"""on_lost of redlatch.aio: "cancel", "log" and functions. A cancellation by "cancel" is distinguished from others."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import sys
import time
from functools import partial
from typing import Any, Callable, List, Optional

import pytest
import redlatch
import redlatch.aio
import trio
import uvloop
from loops import RUNNERS, World, run
from stalls import Stalls
from support import Proxy, RedisServer, wait_until
from support.wire import SCRIPTS

Run = Callable[..., Any]
COUNTED = sys.version_info >= (3, 11)  # asyncio counts the cancellations of a task


@pytest.fixture(params=RUNNERS)
def run_in(request: pytest.FixtureRequest) -> Run:
    """Runs a coroutine function in one of the loops. The function gets the World."""
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
                await world.sleep(0.01)  # would raise if something of the cancellation were left
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
            with pytest.raises(redlatch.InvalidArgumentError, match="expected 'raise', 'log', 'cancel' or a callable"):
                client.lock(lock_name, on_lost="stop")  # type: ignore[arg-type]

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
            async with lock as outer:  # only the inner lock is lost, and its error is handled
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
            inside: List[bool] = []

            async def work() -> None:
                async with client.lock(lock_name, on_lost="cancel"):
                    inside.append(True)
                    await world.sleep(60)

            working = world.spawn(work)
            await world.until(lambda: inside)
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

            async def work_to_the_end() -> None:
                async with client.lock(lock_name, on_lost="cancel") as held:
                    task = asyncio.current_task()
                    assert task is not None
                    server.admin.delete(lock_name)
                    while not held.lost:
                        time.sleep(0.005)
                    asyncio.get_running_loop().call_soon(task.cancel)  # comes while the block is left

            for function in (work, work_to_the_end):
                working = asyncio.create_task(function())
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


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the task cannot leave its block
def test_a_block_in_a_loop_that_was_closed(server: RedisServer, lock_name: str) -> None:
    """The loop is closed without cancelling the task. From then on the task's lock is not renewed."""

    async def hold(entered: List[None]) -> None:
        async with client.lock(lock_name, on_lost="cancel"):
            entered.append(None)
            await asyncio.sleep(100)

    async def begin() -> None:
        entered: List[None] = []
        task = asyncio.get_running_loop().create_task(hold(entered))
        while not entered:
            await asyncio.sleep(0.002)
        assert not task.done()

    client = redlatch.aio.connect(server.url, lazy=True, watchdog_lease=0.5)
    loop = asyncio.new_event_loop()
    loop.run_until_complete(begin())
    loop.close()
    del loop
    gc.collect()
    with redlatch.connect(server.url) as other, other.lock(lock_name, timeout=5):
        pass


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the task cannot leave its block
@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_a_wait_in_a_loop_that_was_closed(
    server: RedisServer, lock_name: str, new_loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    """As above, but the task waits for another lock."""
    client = redlatch.aio.connect(server.url, lazy=True, watchdog_lease=0.5)

    async def wait() -> None:
        async with client.lock(lock_name):
            await client.lock(f"{lock_name}:other").acquire()

    async def begin() -> None:
        task = asyncio.get_running_loop().create_task(wait())
        del task  # only what it waits for keeps it alive
        while client.stats()["waiters"] == 0:
            gc.collect()
            await asyncio.sleep(0.002)

    with redlatch.connect(server.url) as other, other.lock(f"{lock_name}:other"):
        loop = new_loop()
        loop.run_until_complete(begin())
        loop.close()
        del loop
        gc.collect()
        with other.lock(lock_name, timeout=5):
            pass
        wait_until(lambda: client.stats()["waiters"] == 0)


def test_a_call_of_a_loop_that_was_closed(server: RedisServer, proxy: Proxy, lock_name: str) -> None:
    """A query that a cancelled task has left does not keep the client alive."""

    async def main() -> None:
        client = redlatch.aio.connect(proxy.url, lazy=True)
        held = client.lock(lock_name, owner="handle")
        await held.acquire()
        fault = proxy.hold_reply(SCRIPTS["query"])
        query = asyncio.create_task(held.state())
        while not fault.hit:
            await asyncio.sleep(0.002)
        query.cancel()
        with pytest.raises(asyncio.CancelledError):
            await query

    loop = asyncio.new_event_loop()
    loop.run_until_complete(main())
    loop.close()
    del loop
    gc.collect()
    wait_until(lambda: not server.client().exists(lock_name))


# ------------------------------------------------------------------------------------------ "log", and functions --


def blocks_of(client: redlatch.aio.Client, name: str, on_lost: Any) -> List[Any]:
    """Returns one thing for `async with` from each function that takes on_lost, and a second from once()."""
    return [
        client.lock(name, on_lost=on_lost),
        client.read_write_lock(name, on_lost=on_lost).write,
        redlatch.aio.multi_lock(client.lock(name), client.lock(f"{name}:2"), on_lost=on_lost),
        redlatch.aio.redlock(client.lock(name), allow_few=True, on_lost=on_lost),
        client.once(name, at_most=30, on_lost=on_lost),
        client.once(name, at_least=30, at_most=60, on_lost=on_lost),
    ]


def test_log_leaves_the_block_alone(
    run_in: Run, server: RedisServer, lock_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url) as client:
            for each in blocks_of(client, lock_name, "log"):
                async with each as held:
                    server.admin.delete(lock_name)
                assert held.lost and held.lost_reason == "missing"
                assert len(caplog.records) == 1
                caplog.clear()

            @client.locked("{name}", on_lost="log")
            async def work(name: str) -> str:
                server.admin.delete(name)
                return "done"

            assert await work(lock_name) == "done"
            assert len(caplog.records) == 1

    run_in(main)


@pytest.mark.parametrize("waits", [False, True])
def test_a_function_is_called_once(run_in: Run, server: RedisServer, lock_name: str, waits: bool) -> None:
    async def main(world: World) -> None:
        called: List[redlatch.aio.Hold] = []

        def call(hold: redlatch.aio.Hold) -> None:
            called.append(hold)

        async def wait_and_call(hold: redlatch.aio.Hold) -> None:
            await world.sleep(0.01)
            async with client.lock(f"{lock_name}:other"):
                called.append(hold)

        on_lost = wait_and_call if waits else call
        async with redlatch.aio.connect(server.url) as client:
            for each in blocks_of(client, lock_name, on_lost):
                with pytest.raises(redlatch.LockLostError):
                    async with each as held:
                        server.admin.delete(lock_name)
                await world.until(lambda: called)
                (hold,) = called
                assert hold.lost and hold.lost_reason == held.lost_reason and hold.owner == held.owner
                called.clear()
                server.admin.flushall()

            @client.locked("{name}", on_lost=on_lost)
            async def work(name: str) -> None:
                server.admin.delete(name)

            with pytest.raises(redlatch.LockLostError):
                await work(lock_name)
            await world.until(lambda: called)
            assert len(called) == 1

    run_in(main)


def test_a_function_is_called_without_a_block(run_in: Run, server: RedisServer, lock_name: str) -> None:
    async def main(world: World) -> None:
        called: List[redlatch.aio.Hold] = []
        async with redlatch.aio.connect(server.url) as client:
            lock = client.lock(lock_name, on_lost=called.append)
            assert await lock.acquire()
            server.admin.delete(lock_name)
            with pytest.raises(redlatch.LockLostError):
                await lock.release()
            assert [hold.lost_reason for hold in called] == ["missing"]
            assert await lock.acquire() and await lock.acquire()
            await lock.release()
            server.admin.delete(lock_name)
            with pytest.raises(redlatch.LockLostError):
                await lock.extend(5)
            assert len(called) == 2, "two levels of one hold"

    run_in(main)


def test_nothing_is_called_of_what_is_released(run_in: Run, server: RedisServer, lock_name: str) -> None:
    async def main(world: World) -> None:
        called: List[redlatch.aio.Hold] = []
        async with redlatch.aio.connect(server.url) as client:
            lock = client.lock(lock_name, lease=0.3, on_lost=called.append)
            async with lock:
                pass
            await lock.acquire()
            await lock.release()
            async with client.once(lock_name, at_least=0.3, at_most=0.4, on_lost=called.append):
                pass
            await world.sleep(0.6)
            assert called == []

    run_in(main)


def test_a_function_that_fails_is_logged(
    run_in: Run, server: RedisServer, lock_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def main(world: World) -> None:
        def fail(hold: redlatch.aio.Hold) -> None:
            raise ZeroDivisionError

        async def fail_later(hold: redlatch.aio.Hold) -> None:
            await world.sleep(0.01)
            raise ZeroDivisionError

        async with redlatch.aio.connect(server.url) as client:
            for call in (fail, fail_later):
                with pytest.raises(redlatch.LockLostError):
                    async with client.lock(lock_name, on_lost=call):
                        server.admin.delete(lock_name)
                await world.until(lambda: len(caplog.records) == 2)
                assert caplog.records[-1].getMessage() == f"on_lost of the lock {lock_name!r} failed"
                assert caplog.records[-1].exc_info is not None
                caplog.clear()

    run_in(main)


@pytest.mark.parametrize("waits", [False, True])
def test_a_function_sees_no_context_of_the_first_caller(
    run_in: Run, server: RedisServer, lock_name: str, waits: bool
) -> None:
    """A client may be used for the first time in a request. What follows later losses is not a part of that request."""
    request: contextvars.ContextVar[str] = contextvars.ContextVar("request")

    async def main(world: World) -> None:
        seen: List[Optional[str]] = []

        def call(hold: redlatch.aio.Hold) -> None:
            seen.append(request.get(None))

        async def wait_and_call(hold: redlatch.aio.Hold) -> None:
            await world.sleep(0)
            call(hold)

        async def first() -> None:
            request.set("the first")
            async with client.lock(lock_name):
                pass

        on_lost = wait_and_call if waits else call
        client = redlatch.aio.connect(server.url, lazy=True, watchdog_lease=0.6)
        await world.spawn(first).value()
        async with client:
            assert await client.lock(lock_name, on_lost=on_lost).acquire()
            server.admin.delete(lock_name)
            await world.until(lambda: seen)
            assert seen == [None]

    run_in(main)
