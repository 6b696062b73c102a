# SPDX-License-Identifier: Apache-2.0
"""A loss in redlatch.aio is logged once, with the text of a client for threads, and check() raises it."""

from __future__ import annotations

import logging
import time
from functools import partial
from typing import Any, Callable, List

import pytest
import redlatch
import redlatch.aio
from loops import RUNNERS, World, run
from support import Proxy, RedisServer
from support.wire import SCRIPTS, load_scripts

Run = Callable[..., Any]
LEASE = 4.0  # a renewal is late after half of the lease


@pytest.fixture(params=RUNNERS)
def run_in(request: pytest.FixtureRequest) -> Run:
    """Runs a coroutine function in one of the loops. The function gets the World."""
    return partial(run, request.param)


def texts(caplog: pytest.LogCaptureFixture) -> List[str]:
    """Returns the logged messages. All of them must be warnings."""
    assert {record.levelno for record in caplog.records} <= {logging.WARNING}
    return [record.getMessage() for record in caplog.records]


def test_a_lease_that_ran_out(
    run_in: Run, server: RedisServer, lock_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url) as client:
            with pytest.raises(redlatch.LockLostError):
                async with client.lock(lock_name, lease=0.2) as held:
                    held.check()
                    owner = held.owner
                    await held.lost_event.wait()
                    (message,) = texts(caplog)
                    with pytest.raises(redlatch.LockLostError, match="expired") as caught:
                        held.check()
                    assert caught.value.reason == "expired"
            words = f"lock '{lock_name}' was lost (expired): owner {owner}, its lease had been over for "
            assert message.startswith(words)
            assert texts(caplog) == [message], "the release finds nothing new"

    run_in(main)


def test_a_lock_that_the_release_finds_lost(
    run_in: Run, server: RedisServer, lock_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url) as client:
            lock = client.lock(lock_name)
            for through_hold in (False, True):
                assert await lock.acquire()
                held = lock.held()
                assert held is not None
                server.admin.delete(lock_name)
                with pytest.raises(redlatch.LockLostError):
                    await (held.release() if through_hold else lock.release())
                expected = f"lock '{lock_name}' was lost (missing): owner {held.owner}, its lease was not over"
                assert texts(caplog) == [expected]
                caplog.clear()

    run_in(main)


def test_the_owner_of_a_multi_lock(
    run_in: Run, server: RedisServer, lock_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url) as client:
            both = redlatch.aio.multi_lock(client.lock(lock_name), client.lock(f"{lock_name}:2"), lease=0.2)
            with pytest.raises(redlatch.LockLostError):
                async with both as held:
                    owner = held.owner
                    await held.lost_event.wait()
            (message,) = texts(caplog)
            assert f"was lost (expired): owner {owner}, its lease had been over for " in message

    run_in(main)


def test_a_permit(run_in: Run, server: RedisServer, lock_name: str, caplog: pytest.LogCaptureFixture) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url) as client:
            with pytest.raises(redlatch.LockLostError):
                async with client.permit_semaphore(lock_name, limit=1, lease=0.2) as permit:
                    permit.check()
                    await permit.lost_event.wait()
                    assert permit.lost_reason == "expired"
                    with pytest.raises(redlatch.LockLostError, match=permit.id):
                        permit.check()
            (message,) = texts(caplog)
            assert message.startswith(f"permit {permit.id} of '{lock_name}' was lost (expired): owner ")

    run_in(main)


def test_a_permit_that_the_release_finds_lost(
    run_in: Run, server: RedisServer, lock_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url) as client:
            slots = client.permit_semaphore(lock_name, limit=1)
            permit = await slots.acquire()
            assert permit
            await slots.delete()
            with pytest.raises(redlatch.LockLostError):
                await permit.release()
            (message,) = texts(caplog)
            assert message.startswith(f"permit {permit.id} of '{lock_name}' was lost (missing): owner ")

    run_in(main)


def test_a_task_that_ended(
    run_in: Run, server: RedisServer, lock_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url, watchdog_lease=1) as client:
            held: List[redlatch.aio.Hold] = []

            async def leave_it() -> None:
                lock = client.lock(lock_name)
                assert await lock.acquire()
                now = lock.held()
                assert now is not None
                held.append(now)

            await world.spawn(leave_it).value()
            await held[0].lost_event.wait()
            (message,) = texts(caplog)
            assert message.startswith(f"lock '{lock_name}' is no longer renewed: owner {client.uuid}:")
            assert message.endswith(", the task that held it has ended")

    run_in(main)


def test_a_late_renewal(
    run_in: Run, server: RedisServer, proxy: Proxy, lock_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    load_scripts(server)

    async def main(world: World) -> None:
        async with redlatch.aio.connect(proxy.url, watchdog_lease=LEASE) as client:
            fault = proxy.hold_reply(SCRIPTS["renew"])
            async with client.lock(lock_name) as held:
                began = time.monotonic()
                await world.until(lambda: fault.hit)
                await world.sleep(max(0.0, began + LEASE / 2 + 0.3 - time.monotonic()))
                fault.release()
                await world.until(lambda: texts(caplog))
                (message,) = texts(caplog)
                held.check()
                assert message.startswith(f"lock '{lock_name}' was renewed late: owner {held.owner}, ")
                assert LEASE / 2 < float(message.split(", ")[1].split()[0]) < LEASE
            assert client.stats()["late_renewals"] == 1
        assert len(texts(caplog)) == 1

    run_in(main)


def test_options_of_other_libraries(server: RedisServer) -> None:
    with pytest.raises(TypeError, match=r"connect\(\) has no option 'socket_timeout': did you mean command_timeout=2"):
        redlatch.aio.connect(server.url, socket_timeout=2)  # type: ignore[call-arg]

    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url) as client:
            with pytest.raises(TypeError, match=r"lock\(\) has no option 'blocking_timeout': did you mean timeout=5"):
                client.lock("x", blocking_timeout=5)  # type: ignore[call-arg]
            with pytest.raises(TypeError, match=r"acquire\(\) has no option 'blocking_timeout': did you mean timeout="):
                await client.lock("x").acquire(blocking_timeout=5)  # type: ignore[call-arg]

    run("asyncio", main)
