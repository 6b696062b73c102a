# SPDX-License-Identifier: Apache-2.0
"""redlatch.aio: acquire, release and `async with` by tasks of asyncio, uvloop and trio; owners; loops; closing."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from functools import partial
from typing import Any, AsyncIterator, Callable, List, Optional

import pytest
import redlatch
import redlatch.aio
from loops import RUNNERS, Started, World, run
from stalls import hold_the_gil
from support import RedisServer, free_port, wait_until
from waiters import SOON

Run = Callable[..., Any]


@pytest.fixture(params=RUNNERS)
def run_in(request: pytest.FixtureRequest) -> Run:
    """Runs a coroutine function in one of the loops, and gives it the World."""
    return partial(run, request.param)


@pytest.fixture
def names(lock_name: str) -> List[str]:
    """Names for several locks."""
    return [f"{lock_name}:{i}" for i in range(10)]


# ------------------------------------------------------------------------------------------------------- one lock --


def test_a_lock_is_held_inside_the_block_alone(run_in: Run, server: RedisServer, lock_name: str) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url) as client:
            lock = client.lock(lock_name, timeout=5)
            async with lock as held:
                assert (held.count, held.lost, held.lost_reason, held.token) == (1, False, None, None)
                assert held.owner.startswith(client.uuid) and 20 < held.remaining() <= 30
                assert server.client().hgetall(lock_name) == {held.owner.encode(): b"1"}
                assert lock.owned() and lock.hold_count() == 1
                async with lock as inner:
                    assert inner.count == 2
                assert held.count == 1
                assert (await lock.state()).owner == held.owner
            assert not server.client().exists(lock_name) and not lock.owned() and lock.held() is None

    run_in(main)


def test_acquire_says_whether_and_release_ends_it(run_in: Run, server: RedisServer, lock_name: str) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url) as client:
            lock = client.lock(lock_name, owner="handle")
            other = client.lock(lock_name, owner="handle", timeout=0.05)
            assert await lock.acquire()
            assert not await other.acquire(blocking=False)
            assert not await other.acquire()
            with pytest.raises(redlatch.LockTimeoutError, match="held by another owner during") as caught:
                async with other:
                    raise AssertionError("it was not obtained")
            assert caught.value.lock_name == lock_name
            await lock.release()
            assert await other.acquire(lease=5)
            assert 4 < (await lock.state()).ttl <= 5
            await other.release()
            with pytest.raises(redlatch.NotOwnedError):
                await other.release()
            assert server.client().dbsize() == 0

    run_in(main)


def test_a_waiter_is_woken_by_the_release(run_in: Run, server: RedisServer, lock_name: str) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url) as client, redlatch.aio.connect(server.url) as other:

            async def take() -> float:
                async with other.lock(lock_name):
                    return time.monotonic()

            async with client.lock(lock_name):
                waiting = world.spawn(take)
                await world.until(lambda: other.stats()["subscriptions"] == 1)
            released = time.monotonic()
            assert (await waiting.value()) - released < SOON
            assert other.stats()["scripts"] < 8, "it did not ask again and again"

    run_in(main)


def test_hold_by_hand_and_lost(run_in: Run, server: RedisServer, lock_name: str) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url, watchdog_lease=0.6) as client:
            async with client.lock(lock_name) as held:
                await held.extend(20)
                assert 15 < held.remaining() <= 20
                await held.release()
                assert held.count == 0
                with pytest.raises(redlatch.NotOwnedError):
                    await held.release()
            with pytest.raises(redlatch.LockLostError) as caught:
                async with client.lock(lock_name) as held:
                    event = held.lost_event
                    assert event is held.lost_event and not event.is_set()
                    waiting = world.spawn(event.wait)
                    assert await client.lock(lock_name).force_release()
                    await waiting.end()
                    assert event.is_set() and held.lost and held.lost_reason == "missing"
            assert caught.value.reason == "missing"
            with pytest.raises(ZeroDivisionError):
                async with client.lock(lock_name):
                    await client.lock(lock_name).force_release()
                    1 / 0  # noqa: B018
            assert client.stats()["held"] == 0

    run_in(main)


def test_decorated_coroutine_functions(run_in: Run, server: RedisServer, lock_name: str) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url) as client:

            @client.lock(lock_name)
            async def held_while_it_runs(value: int) -> int:
                await world.sleep(0)
                assert server.client().exists(lock_name)
                return value

            assert await held_while_it_runs(7) == 7
            assert not server.client().exists(lock_name)
            with pytest.raises(TypeError, match="coroutine functions"):
                client.lock(lock_name)(lambda: None)  # type: ignore[arg-type]

    run_in(main)


# --------------------------------------------------------------------------------------------------------- owners --


def test_tasks_are_owners_and_inherit_nothing(run_in: Run, server: RedisServer, lock_name: str) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url) as client:
            lock = client.lock(lock_name)

            async def child() -> Any:
                owned = lock.owned()
                obtained = await lock.acquire(timeout=0)
                with pytest.raises(redlatch.NotOwnedError):
                    await lock.release()
                return owned, obtained

            async with lock:
                assert await world.spawn(child).value() == (False, False)
                assert lock.owned()

    run_in(main)


def test_a_handle_wanders_between_tasks(run_in: Run, server: RedisServer, lock_name: str) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url) as client:
            lock = client.lock(lock_name, owner="handle")
            assert await world.spawn(lock.acquire).value()
            assert lock.owned()
            await world.spawn(lock.release).value()
            assert not server.client().exists(lock_name)

    run_in(main)


def test_a_block_may_be_left_by_another_task(run_in: Run, server: RedisServer, lock_name: str) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url) as client:
            for owner in ("task", "handle"):
                lock = client.lock(lock_name, owner=owner)  # type: ignore[arg-type]
                held = await lock.__aenter__()
                await world.spawn(lock.__aexit__, None, None, None).value()
                assert held.count == 0 and not server.client().exists(lock_name), owner

    run_in(main)


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # trio's, of a generator that nobody closed
@pytest.mark.parametrize("kind", ["read", "permits", "once"])
def test_a_dropped_generator_leaves_its_own_block(
    run_in: Run, server: RedisServer, lock_name: str, kind: str
) -> None:
    """The loop closes it in a new task, which has entered no block. It leaves the block of the generator, not the one
    that another task has entered since."""

    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url) as client:
            manager: Any = {
                "read": lambda: client.read_write_lock(lock_name).read,
                "permits": lambda: client.permit_semaphore(lock_name, limit=2),
                "once": lambda: client.once(lock_name, at_most=30),
            }[kind]()
            inside: List[Any] = []
            closed: List[bool] = []
            ending: List[bool] = []

            async def rows() -> AsyncIterator[int]:
                try:
                    async with manager:
                        yield 1
                finally:
                    closed.append(True)

            async def work() -> None:
                async with manager as held:
                    inside.append(held)
                    await world.until(lambda: ending)

            generator = rows()
            assert await generator.__anext__() == 1
            working = world.spawn(work)
            await world.until(lambda: inside)
            del generator
            gc.collect()
            await world.until(lambda: closed)
            if kind == "once":
                assert inside == [None] and not server.client().exists(lock_name), "it was a skipped one"
            else:
                inside[0].check()
            ending.append(True)
            await working.value()
            assert client.stats()["held"] == 0 and not (await client.inspect(lock_name)).holders

    run_in(main)


def test_the_hold_of_a_task_that_ended_runs_out(run_in: Run, server: RedisServer, lock_name: str) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url, watchdog_lease=0.5) as client:

            async def leave_it_held() -> Optional[redlatch.aio.Hold]:
                await client.lock(lock_name).acquire()
                return client.lock(lock_name).held()

            held = await world.spawn(leave_it_held).value()
            gc.collect()
            await world.until(lambda: held.lost)
            assert held.lost_reason == "abandoned"
            async with client.lock(lock_name, timeout=5):
                pass

    run_in(main)


# ---------------------------------------------------------------------------------------------- loops and clients --


def test_a_client_belongs_to_one_loop(run_in: Run, server: RedisServer, lock_name: str) -> None:
    client = redlatch.aio.connect(server.url, lazy=True)
    lock = client.lock(lock_name, owner="handle")

    async def first(world: World) -> None:
        async with lock:
            pass

    async def second(world: World) -> None:
        with pytest.raises(RuntimeError, match="another event loop"):
            await lock.acquire()
        with pytest.raises(RuntimeError, match="another event loop"):
            await client.close()

    run_in(first)
    run_in(second)
    for name in RUNNERS:
        run(name, second)
    with pytest.raises(RuntimeError, match="no event loop runs here"):
        lock.acquire().send(None)


def test_what_was_held_when_a_loop_ended_is_free_after_its_lease(
    run_in: Run, server: RedisServer, lock_name: str
) -> None:
    clients: List[redlatch.aio.Client] = []

    async def leave_all_open(world: World) -> Started:
        client = redlatch.aio.connect(server.url, lazy=True, watchdog_lease=0.5)
        clients.append(client)
        await client.lock(lock_name).acquire()

        async def wait() -> None:
            await client.lock(lock_name).acquire()

        waiting = world.spawn(wait)
        await world.until(lambda: client.stats()["waiters"] == 1)
        return waiting

    assert run_in(leave_all_open).outcome == ("cancelled", None)
    gc.collect()
    with redlatch.connect(server.url) as other, other.lock(lock_name, timeout=5):
        pass
    assert clients[0].stats()["held"] == clients[0].stats()["waiters"] == 0
    clients.clear()
    gc.collect()
    wait_until(lambda: not server.client_list("redlatch:"))


@pytest.mark.parametrize("on_lost", ["raise", "cancel", print])
def test_a_client_that_nobody_closed_releases_when_it_is_collected(
    run_in: Run, server: RedisServer, lock_name: str, on_lost: Any
) -> None:
    async def main(world: World) -> None:
        client = await redlatch.aio.connect(server.url)
        held = client.lock(lock_name, owner="handle", on_lost=on_lost)
        await held.acquire()
        lock = client.lock(lock_name)
        assert not await lock.acquire(blocking=False)
        del client, held, lock
        gc.collect()
        assert not server.client().exists(lock_name)
        async with redlatch.aio.connect(server.url) as next_one, next_one.lock(lock_name, timeout=5):
            await world.sleep(0)

    run_in(main)


LOOP_IN_A_DAEMON = """
import sys, threading, redlatch.aio, {}
async def main():
    async with redlatch.aio.connect(sys.argv[1]) as client, client.lock(sys.argv[2]):
        held.set()
        await {}(100)
held = threading.Event()
threading.Thread(target=lambda: {}, daemon=True).start()
held.wait()
"""


@pytest.mark.parametrize(
    "words",
    [
        ("asyncio", "asyncio.sleep", "asyncio.run(main())"),
        ("asyncio, uvloop", "asyncio.sleep", "uvloop.run(main())"),
        ("trio", "trio.sleep", "trio.run(main)"),
    ],
    ids=RUNNERS,
)
def test_a_client_of_a_loop_in_a_daemon_thread_releases_when_python_ends(
    server: RedisServer, lock_name: str, words: Any
) -> None:
    command = [sys.executable, "-X", "dev", "-c", LOOP_IN_A_DAEMON.format(*words), server.url, lock_name]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")
    assert not server.client().exists(lock_name)


def test_opening(run_in: Run, server: RedisServer, lock_name: str) -> None:
    async def main(world: World) -> None:
        client = redlatch.aio.connect(server.url)
        assert not client.closed and "not connected" in repr(client)
        with pytest.raises(RuntimeError, match="async with client"):
            client.lock(lock_name)
        assert await client is client
        assert client.url == server.url and len(client.uuid) == 36 and "open" in repr(client)
        async with client:
            pass
        assert client.closed and "closed" in repr(client)
        await client.close()
        with pytest.raises(redlatch.ClosedError):
            await client.lock(lock_name).acquire()
        never = redlatch.aio.connect(server.url)
        await never.close()
        assert never.closed
        with pytest.raises(redlatch.UnreachableError):
            await redlatch.aio.connect(f"redis://127.0.0.1:{free_port()}")
        with pytest.raises(redlatch.InvalidArgumentError, match="command_timeout"):
            await redlatch.aio.connect(server.url, command_timeout=-5)
        with pytest.raises(TypeError, match="blocking_timeout"):
            redlatch.aio.connect(server.url, blocking_timeout=5)  # type: ignore[call-arg]
        async with redlatch.aio.connect(server.url, lazy=True) as lazy:
            with pytest.raises(redlatch.InvalidArgumentError, match="'thread'; expected 'task' or 'handle'"):
                lazy.lock(lock_name, owner="thread")  # type: ignore[arg-type]

    run_in(main)


def test_closing_tells_who_waits(run_in: Run, server: RedisServer, names: List[str]) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url) as other:
            async with other.lock(names[0]):
                client = await redlatch.aio.connect(server.url)
                await client.lock(names[1], owner="handle").acquire()
                lock = client.lock(names[0], owner="handle")
                waiting = [world.spawn(client.lock(names[0], owner="handle").acquire) for _ in range(20)]
                await world.until(lambda: client.stats()["waiters"] == 20)
                await client.close()
                for each in waiting:
                    how, error = await each.end()
                    assert how == "error" and isinstance(error, redlatch.ClosedError)
                with pytest.raises(redlatch.ClosedError):
                    await lock.acquire()
                assert not server.client().exists(names[1])

    run_in(main)


@pytest.mark.parametrize("block", [time.sleep, hold_the_gil])
def test_a_blocked_loop_loses_no_lock(
    run_in: Run, server: RedisServer, lock_name: str, block: Callable[[float], None]
) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url, watchdog_lease=1) as client:
            async with client.lock(lock_name) as held:
                block(3.0)  # three leases
                assert not held.lost and held.remaining() > 0
                assert server.client().hgetall(lock_name) == {held.owner.encode(): b"1"}
            assert client.stats()["lost"] == 0

    run_in(main)


def test_a_grant_that_a_blocked_loop_does_not_take(run_in: Run, server: RedisServer, lock_name: str) -> None:
    async def main(world: World) -> None:
        tuning = redlatch.Tuning(claim_timeout=0.6)
        async with redlatch.aio.connect(server.url, watchdog_lease=1, tuning=tuning) as client:
            lock = client.lock(lock_name, owner="handle")
            with redlatch.connect(server.url) as other, other.lock(lock_name) as theirs:
                waiting = world.spawn(lock.acquire)
                await world.until(lambda: client.stats()["waiters"] == 1)
                theirs.release()  # the loop is blocked from here on
                wait_until(lambda: client.stats()["acquired"] == 1)  # the loop does not notice the grant
                wait_until(lambda: not server.client().exists(lock_name))
                how, error = await waiting.end()
                assert how == "error" and error.status_name == "unclaimed"

    run_in(main)


def test_a_forked_child_opens_its_own_client(run_in: Run, server: RedisServer, lock_name: str) -> None:
    client = redlatch.aio.connect(server.url, lazy=True)
    lock = client.lock(lock_name)
    ended: List[str] = []

    async def child(world: World) -> None:
        with pytest.raises(redlatch.ForkedError):
            await lock.acquire()
        async with redlatch.aio.connect(server.url) as mine:
            assert not await mine.lock(lock_name).acquire(timeout=0)
        ended.append("well")

    async def parent(world: World) -> None:
        async with lock as held:
            pid = os.fork()
            if pid == 0:  # another thread of the child has no loop yet
                thread = threading.Thread(target=run_in, args=(child,))
                thread.start()
                thread.join()
                os._exit(0 if ended else 1)
            while True:
                found, status = os.waitpid(pid, os.WNOHANG)
                if found:
                    break
                await world.sleep(0.005)
            assert status == 0 and not held.lost
        await client.close()

    run_in(parent)


def test_neither_library_is_imported_for_the_other(server: RedisServer, lock_name: str) -> None:
    program = """
import sys
import redlatch.aio
async def main():
    async with redlatch.aio.connect(sys.argv[1]) as client:
        async with client.lock(sys.argv[2]) as held:
            held.lost_event
assert "trio" not in sys.modules and "asyncio" not in sys.modules
import {library}
{library}.run({call})
assert "{other}" not in sys.modules
"""
    for library, call, other in (("trio", "main", "asyncio"), ("asyncio", "main()", "trio")):
        text = program.format(library=library, call=call, other=other)
        command = [sys.executable, "-c", text, server.url, lock_name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
