# SPDX-License-Identifier: Apache-2.0
"""Tasks that are cancelled at any moment leave nothing held or queued, and complete their releases."""

from __future__ import annotations

import asyncio
import gc
import random
import sys
import time
import weakref
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, AsyncContextManager, AsyncIterator, Awaitable, Callable, List, NamedTuple

import pytest
import redlatch
import redlatch.aio
import trio
from loops import RUNNERS, World, run
from stalls import Stalls
from support import Monitor, Proxy, RedisServer, wait_until
from support.wire import SCRIPTS, load_scripts, scripts
from waiters import SOON

Run = Callable[..., Any]
HELD_BACK = 0.15  # how long a test observes a wait that must not end


@pytest.fixture(params=RUNNERS)
def run_in(request: pytest.FixtureRequest) -> Run:
    """Runs a coroutine function in one of the loops, and gives it the World."""
    return partial(run, request.param)


async def nothing_is_left(world: World, client: redlatch.aio.Client, server: RedisServer) -> None:
    """Waits until the core has completed its work in the background, and no hold, waiter or key is left."""
    await world.until(lambda: client.stats()["held"] == client.stats()["waiters"] == 0, "holds and waits")
    await world.until(lambda: server.client().dbsize() == 0, "keys")


def test_a_parked_wait_ends_at_once(run_in: Run, server: RedisServer, lock_name: str) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url) as client, redlatch.aio.connect(server.url) as other:
            for make in ("lock", "fair_lock", "spin_lock", "plain_lock"):
                first, second = (getattr(client, make)(lock_name, owner="handle") for _ in range(2))
                async with getattr(other, make)(lock_name) as held:
                    waiting, behind = world.spawn(first.acquire), world.spawn(second.acquire)
                    await world.until(lambda: client.stats()["waiters"] == 2)
                    with Stalls() as stalls:
                        start = time.monotonic()
                        waiting.cancel()
                        assert await waiting.end() == ("cancelled", None)
                        assert time.monotonic() - start < stalls.widen(0.2)
                    assert client.stats()["waiters"] == 1 and held.count == 1
                assert await behind.value(), "the next one is served"
                await second.release()
                await nothing_is_left(world, client, server)

    run_in(main)


# ------------------------------------------------------------------------- each await, with its reply held back --

Reach = Callable[[], Awaitable[object]]


@asynccontextmanager
async def acquire(client: redlatch.aio.Client, name: str) -> AsyncIterator[Reach]:
    yield client.lock(name, owner="handle").acquire


@asynccontextmanager
async def enter(client: redlatch.aio.Client, name: str) -> AsyncIterator[Reach]:
    yield partial(block, client.lock(name))


@asynccontextmanager
async def enter_guarded(client: redlatch.aio.Client, name: str) -> AsyncIterator[Reach]:
    yield partial(block, client.lock(name, on_lost="cancel"))


@asynccontextmanager
async def release(client: redlatch.aio.Client, name: str) -> AsyncIterator[Reach]:
    lock = client.lock(name, owner="handle")
    await lock.acquire()
    yield lock.release


@asynccontextmanager
async def release_hold(client: redlatch.aio.Client, name: str) -> AsyncIterator[Reach]:
    lock = client.lock(name, owner="handle")
    await lock.acquire()
    held = lock.held()
    assert held is not None
    yield held.release


@asynccontextmanager
async def extend(client: redlatch.aio.Client, name: str) -> AsyncIterator[Reach]:
    lock = client.lock(name, owner="handle")
    await lock.acquire()
    yield partial(lock.extend, 30)
    await lock.release()


@asynccontextmanager
async def extend_hold(client: redlatch.aio.Client, name: str) -> AsyncIterator[Reach]:
    lock = client.lock(name, owner="handle")
    async with lock as held:
        yield partial(held.extend, 30)


@asynccontextmanager
async def once(client: redlatch.aio.Client, name: str) -> AsyncIterator[Reach]:
    yield partial(block, client.once(name, at_least=0.5, at_most=30))


@asynccontextmanager
async def take_permit(client: redlatch.aio.Client, name: str) -> AsyncIterator[Reach]:
    yield client.permit_semaphore(name, limit=1).acquire


@asynccontextmanager
async def return_permit(client: redlatch.aio.Client, name: str) -> AsyncIterator[Reach]:
    permit = await client.permit_semaphore(name, limit=1).acquire()
    assert permit
    yield permit.release


@asynccontextmanager
async def count(client: redlatch.aio.Client, name: str) -> AsyncIterator[Reach]:
    yield client.semaphore(name, limit=1).acquire


@asynccontextmanager
async def count_back(client: redlatch.aio.Client, name: str) -> AsyncIterator[Reach]:
    semaphore = client.semaphore(name, limit=1)
    assert await semaphore.acquire()
    yield semaphore.release


async def block(entered: Any) -> None:
    """Enters something and leaves it."""
    async with entered:
        pass


class Await(NamedTuple):
    """An await of a task: the script whose reply is held back there, and the scripts of its grant and of its end."""

    reach: Callable[[redlatch.aio.Client, str], AsyncContextManager[Reach]]
    held_back: str
    to_its_end: bool  # a cancelled task waits for the reply
    grant: str = "acquire"
    end: str = "release"
    undo: str = ""  # what undoes an acquire that was cancelled before its reply, if it is not `end`


AWAITS = [
    Await(acquire, "acquire", False),
    Await(enter, "acquire", False),
    Await(enter, "release", True),
    Await(enter_guarded, "acquire", False),
    Await(enter_guarded, "release", True),
    Await(release, "release", True),
    Await(release_hold, "release", True),
    Await(extend, "extend", False),
    Await(extend_hold, "extend", False),
    Await(once, "acquire", False),
    Await(once, "extend", True, end="extend"),
    Await(take_permit, "acquire_permits", False, "acquire_permits", "release_permits"),
    Await(return_permit, "release_permits", True, "acquire_permits", "release_permits"),
    Await(count, "acquire_semaphore", False, "acquire_semaphore", "release_semaphore", undo="undo_taken"),
    Await(count_back, "release_semaphore", True, "acquire_semaphore", "release_semaphore"),
]
GIVEN_BACK = [each for each in AWAITS if each.held_back == each.grant]


def named(each: Await) -> str:
    """Returns the id of a case in the names of tests."""
    return f"{each.reach.__name__}-{each.held_back}"


async def all_is_free(world: World, client: redlatch.aio.Client, server: RedisServer, name: str) -> None:
    """Waits until nothing is held or waited for, and a semaphore has its permit."""
    await world.until(lambda: client.stats()["held"] == client.stats()["waiters"] == 0, "holds and waits")
    key = server.client()
    await world.until(lambda: key.type(name) != b"hash", "locks")
    await world.until(lambda: key.get(name) in (None, b"1"), "permits")


@pytest.mark.parametrize("case", AWAITS, ids=named)
def test_cancelled_with_the_reply_held_back(
    run_in: Run, server: RedisServer, proxy: Proxy, monitor: Monitor, lock_name: str, case: Await
) -> None:
    load_scripts(server)

    async def main(world: World) -> None:
        async with redlatch.aio.connect(proxy.url) as client:
            async with case.reach(client, lock_name) as reach:
                fault = proxy.hold_reply(SCRIPTS[case.held_back])
                reaching = world.spawn(reach)
                await world.until(lambda: fault.hit)
                reaching.cancel()
                if case.to_its_end:
                    await world.sleep(HELD_BACK)
                    assert not reaching.done, "it waits for the reply"
                    reaching.cancel()
                else:
                    with Stalls() as stalls:
                        start = time.monotonic()
                        assert await reaching.end() == ("cancelled", None)
                        assert time.monotonic() - start < stalls.widen(SOON)
                fault.release()
                assert await reaching.end() == ("cancelled", None)
            await all_is_free(world, client, server, lock_name)
        sent = scripts(monitor.top_level())
        assert (sent.count(case.grant), sent.count(case.undo or case.end)) == (1, 1), sent

    run_in(main)


@pytest.mark.parametrize("case", GIVEN_BACK, ids=named)
def test_a_grant_that_a_cancelled_task_gives_back(
    run_in: Run, server: RedisServer, proxy: Proxy, monitor: Monitor, lock_name: str, case: Await
) -> None:
    """The core has the grant when the task is cancelled. The reply to the release of that grant is held back."""
    load_scripts(server)

    async def main(world: World) -> None:
        async with redlatch.aio.connect(proxy.url) as client, case.reach(client, lock_name) as reach:
            grant, back = proxy.hold_reply(SCRIPTS[case.grant]), proxy.hold_reply(SCRIPTS[case.end])
            reaching = world.spawn(reach)
            await world.until(lambda: grant.hit)
            replies = client.stats()["round_trips"]
            grant.release()
            wait_until(lambda: client.stats()["round_trips"] > replies)  # blocks the loop
            reaching.cancel()
            await world.until(lambda: back.hit)
            reaching.cancel()
            await world.sleep(HELD_BACK)
            assert not reaching.done, "it waits for the reply"
            back.release()
            assert await reaching.end() == ("cancelled", None)
            await all_is_free(world, client, server, lock_name)
        sent = scripts(monitor.top_level())
        assert (sent.count(case.grant), sent.count(case.end)) == (1, 1), sent

    run_in(main)


def test_a_block_that_is_cancelled_releases(run_in: Run, server: RedisServer, lock_name: str) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url) as client:

            async def work() -> None:
                async with client.lock(lock_name):
                    await world.sleep(60)

            working = world.spawn(work)
            await world.until(lambda: server.client().exists(lock_name))
            working.cancel()
            assert await working.end() == ("cancelled", None)
            assert not server.client().exists(lock_name), "released when the task has ended"

    run_in(main)


def test_cancelled_at_each_turn_of_the_loop(run_in: Run, server: RedisServer, lock_name: str) -> None:
    """Cancelled after every number of turns that acquire, block and release can take, with and without a rival."""

    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url) as client:
            lock = client.lock(lock_name, timeout=5)

            async def work() -> None:
                async with lock as held:
                    assert held.count == 1, "nothing was left by one before"
                    await world.sleep(0)

            ends = {"ok": 0, "cancelled": 0}
            turns = 0
            while ends["ok"] < 10:
                rival = world.spawn(work) if turns % 2 else None
                working = world.spawn(work)
                for _ in range(turns // 2):
                    await world.sleep(0)
                working.cancel()
                how, what = await working.end()
                assert how != "error", what
                ends[how] += 1
                if rival is not None:
                    await rival.value()
                assert client.stats()["waiters"] == 0
                turns += 1
            assert ends["cancelled"] >= 5
            await nothing_is_left(world, client, server)

    run_in(main)


def test_cancelled_at_the_moment_of_the_grant(run_in: Run, server: RedisServer, lock_name: str) -> None:
    async def main(world: World) -> None:
        draw = random.Random(15)
        async with redlatch.aio.connect(server.url) as client, redlatch.aio.connect(server.url) as other:
            lock, theirs = client.lock(lock_name), other.lock(lock_name)

            async def take() -> None:
                await lock.acquire()
                assert lock.hold_count() == 1
                await lock.release()

            ends = {"ok": 0, "cancelled": 0}
            end = time.monotonic() + 20
            while min(ends.values()) < 40:
                assert time.monotonic() < end, ends
                await theirs.acquire()
                taking = world.spawn(take)
                await world.until(lambda: client.stats()["waiters"] == 1)
                await theirs.release()
                until = time.monotonic() + draw.random() * 0.003
                while time.monotonic() < until:
                    await world.sleep(0)
                taking.cancel()
                how, what = await taking.end()
                assert how != "error", what
                ends[how] += 1
                assert client.stats()["waiters"] == 0
            await nothing_is_left(world, client, server)

    run_in(main)


def test_a_question_is_left(run_in: Run, server: RedisServer, proxy: Proxy, lock_name: str) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(proxy.url) as client:
            lock = client.lock(lock_name)
            await lock.state()
            fault = proxy.hold_reply(SCRIPTS["query"])
            with Stalls() as stalls:
                start = time.monotonic()
                assert not await world.limited(0.05, lock.state)
                assert time.monotonic() - start < stalls.widen(0.5)
            fault.release()
            assert not (await lock.state()).locked

    run_in(main)


def test_opening_that_is_cancelled_leaves_no_client(run_in: Run, server: RedisServer, proxy: Proxy) -> None:
    async def main(world: World) -> None:
        fault = proxy.stall()

        async def open_it() -> None:
            await redlatch.aio.connect(proxy.url)

        assert not await world.limited(0.05, open_it)
        fault.release()
        await world.until(lambda: not server.client_list("redlatch:"))

    run_in(main)


def test_closing_that_is_cancelled_closes(run_in: Run, server: RedisServer, lock_name: str) -> None:
    async def main(world: World) -> None:
        client = await redlatch.aio.connect(server.url)
        await client.lock(lock_name, owner="handle").acquire()
        closing = world.spawn(client.close)
        await world.sleep(0)
        closing.cancel()
        await closing.end()
        if not client.closed:  # cancelled before it began
            await client.close()
        assert not server.client().exists(lock_name) and not server.client_list("redlatch:")

    run_in(main)


def test_a_cancelled_wait_keeps_nothing_alive(server: RedisServer, lock_name: str) -> None:
    async def main() -> None:
        async with redlatch.aio.connect(server.url) as client, redlatch.aio.connect(server.url) as other:
            async with other.lock(lock_name):
                lock = client.lock(lock_name)
                reference = weakref.ref(lock)
                waiting = asyncio.create_task(lock.acquire())
                while client.stats()["waiters"] == 0:
                    await asyncio.sleep(0.002)
                gc.disable()
                try:
                    waiting.cancel()
                    with pytest.raises(asyncio.CancelledError):
                        await waiting
                    del waiting, lock
                    await asyncio.sleep(0)
                    assert reference() is None, "no cycle of the exception, its traceback and the frames in it"
                finally:
                    gc.enable()

    asyncio.run(main())


# --------------------------------------------------------------------------------------- what each library offers --


def test_wait_for(server: RedisServer, lock_name: str) -> None:
    """Before Python 3.12 wait_for() makes a new task. The owner is nevertheless the task that called acquire()."""

    async def main() -> None:
        async with redlatch.aio.connect(server.url) as client, redlatch.aio.connect(server.url) as other:
            lock, theirs = client.lock(lock_name), other.lock(lock_name)
            assert await asyncio.wait_for(lock.acquire(), 5)
            await asyncio.sleep(0.01)
            assert lock.owned()
            await asyncio.wait_for(lock.release(), 5)
            async with theirs:
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(lock.acquire(), 0.05)
                assert client.stats()["waiters"] == 0
                assert await asyncio.gather(lock.acquire(timeout=0), lock.acquire(timeout=0.01)) == [False, False]
            await asyncio.shield(lock.acquire())
            assert lock.owned()
            await lock.release()
            assert server.client().dbsize() == 0

    asyncio.run(main())


@pytest.mark.skipif(sys.version_info < (3, 11), reason="asyncio.timeout and TaskGroup came with Python 3.11")
def test_timeout_and_task_group(server: RedisServer, lock_name: str) -> None:
    async def main() -> None:
        async with redlatch.aio.connect(server.url) as client, redlatch.aio.connect(server.url) as other:
            async with other.lock(lock_name):
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.05):
                        async with client.lock(lock_name):
                            raise AssertionError("it was not obtained")
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    async with client.lock(lock_name):
                        await asyncio.sleep(60)
            assert not server.client().exists(lock_name)
            task = asyncio.current_task()
            assert task is not None and task.cancelling() == 0

            async def fail() -> None:
                async with client.lock(lock_name):
                    raise ZeroDivisionError

            with pytest.raises(ExceptionGroup) as caught:  # type: ignore[name-defined]  # noqa: F821
                async with asyncio.TaskGroup() as group:
                    for _ in range(5):
                        group.create_task(fail())
            assert caught.group_contains(ZeroDivisionError)
            assert client.stats()["held"] == client.stats()["waiters"] == 0
            assert not server.client().exists(lock_name)

    asyncio.run(main())


def test_nursery_and_deadlines_of_trio(server: RedisServer, lock_name: str) -> None:
    async def main() -> None:
        async with redlatch.aio.connect(server.url) as client, redlatch.aio.connect(server.url) as other:
            async with other.lock(lock_name):
                with pytest.raises(trio.TooSlowError):
                    with trio.fail_after(0.05):
                        await client.lock(lock_name).acquire()
                with trio.CancelScope() as scope:
                    scope.cancel()
                    await client.lock(lock_name).acquire()
                assert scope.cancelled_caught and client.stats()["waiters"] == 0
            with trio.move_on_after(0.05) as scope:
                async with client.lock(lock_name):
                    await trio.sleep(60)
            assert scope.cancelled_caught and not server.client().exists(lock_name)

    trio.run(main)


def test_a_loss_that_a_cancelled_release_finds_is_reported(
    run_in: Run, server: RedisServer, proxy: Proxy, lock_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The cancellation ends the task, but the loss is still logged, and on_lost is still called."""
    load_scripts(server)
    called: List[redlatch.aio.Hold] = []

    async def main(world: World) -> None:
        async with redlatch.aio.connect(proxy.url) as client:
            lock = client.lock(lock_name, on_lost=called.append)

            async def work() -> None:
                await lock.acquire()
                server.client().delete(lock_name)
                await lock.release()

            fault = proxy.hold_reply(SCRIPTS["release"])
            working = world.spawn(work)
            await world.until(lambda: fault.hit)
            working.cancel()
            await world.sleep(HELD_BACK)
            fault.release()
            assert await working.end() == ("cancelled", None)
            assert len(called) == 1
            assert not client._expected

    run_in(main)
    assert [record.message for record in caplog.records if lock_name in record.message] != []
