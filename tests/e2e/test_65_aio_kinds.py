# SPDX-License-Identifier: Apache-2.0
"""redlatch.aio, as far as the traces do not test it: kinds under cancellation, losses, several servers, scans."""

from __future__ import annotations

import time
from functools import partial
from typing import Any, Callable, List

import pytest
import redlatch
import redlatch.aio
from loops import RUNNERS, World, run
from support import Proxy, RedisServer
from support.wire import SCRIPTS

Run = Callable[..., Any]


@pytest.fixture(params=RUNNERS)
def run_in(request: pytest.FixtureRequest) -> Run:
    """Runs a coroutine function in one of the loops, and gives it the World."""
    return partial(run, request.param)


def test_permits_of_a_cancelled_task_are_given_back(
    run_in: Run, server: RedisServer, proxy: Proxy, lock_name: str
) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(proxy.url) as client:
            for make, script in (("semaphore", "acquire_semaphore"), ("permit_semaphore", "acquire_permits")):
                semaphore = getattr(client, make)(f"{lock_name}:{make}", limit=2)

                async def use(semaphore: Any = semaphore) -> None:
                    async with semaphore:
                        await world.sleep(60)

                async with semaphore:
                    pass
                using = [world.spawn(use) for _ in range(4)]
                await world.until(lambda: client.stats()["waiters"] == 2)
                for each in using:
                    each.cancel()
                for each in using:
                    assert await each.end() == ("cancelled", None)
                assert await semaphore.available() == 2, "when the tasks have ended"
                fault = proxy.hold_reply(SCRIPTS[script])
                taking = world.spawn(semaphore.acquire)
                await world.until(lambda fault=fault: fault.hit)
                taking.cancel()
                assert await taking.end() == ("cancelled", None)
                fault.release()
                end = time.monotonic() + 10
                while await semaphore.available() != 2:
                    assert time.monotonic() < end
            assert client.stats()["waiters"] == 0

    run_in(main)


def test_permits_and_their_losses(run_in: Run, server: RedisServer, lock_name: str) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url, watchdog_lease=0.5) as client:
            slots = client.permit_semaphore(lock_name, limit=2)
            with pytest.raises(redlatch.LockLostError):
                async with slots as permit:
                    waiting = world.spawn(permit.lost_event.wait)
                    assert await slots.delete()
                    await waiting.end()
                    assert permit.lost
            async with slots, slots as inner:
                none = await slots.acquire(timeout=0)
                assert not none
                with pytest.raises(redlatch.LockTimeoutError):
                    async with none:
                        raise AssertionError("there was no permit")
                await slots.release(inner.id)
                with pytest.raises(redlatch.NotOwnedError, match="was released before"):
                    inner.check()
                with pytest.raises(redlatch.NotOwnedError):
                    await inner.release()
            with pytest.raises(redlatch.NotOwnedError):
                await slots.__aexit__(None, None, None)
            with pytest.raises(redlatch.NotFoundError):
                async with client.permit_semaphore("nobody made it"):
                    raise AssertionError("there is none")
            assert await slots.available() == 2

    run_in(main)


def test_a_latch_that_opens_and_waits_that_are_cancelled(run_in: Run, server: RedisServer, lock_name: str) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url) as client:
            latch = client.latch(lock_name)
            assert await latch.try_set_count(2)
            cancelled, waiting = world.spawn(latch.wait), world.spawn(latch.wait)
            free = world.spawn(client.wait_free, lock_name)
            await world.until(lambda: client.stats()["waiters"] == 3)
            cancelled.cancel()
            assert await cancelled.end() == ("cancelled", None)
            await latch.count_down()
            assert not await latch.wait(timeout=0.01) and not waiting.done
            await latch.count_down()
            assert await waiting.value() and await free.value()

    run_in(main)


def test_drained_permits_of_a_cancelled_task(run_in: Run, server: RedisServer, proxy: Proxy, lock_name: str) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(proxy.url) as client:
            semaphore = client.semaphore(lock_name)
            await semaphore.try_set_permits(3)
            assert await semaphore.drain() == 3
            await semaphore.release(3)
            fault = proxy.hold_reply(SCRIPTS["drain_semaphore"])
            draining = world.spawn(semaphore.drain)
            await world.until(lambda: fault.hit)
            draining.cancel()
            fault.release()
            assert await draining.end() == ("cancelled", None)
            assert await semaphore.available() == 3

    run_in(main)


def test_locks_over_several_servers(run_in: Run, servers: List[RedisServer], lock_name: str) -> None:
    async def main(world: World) -> None:
        clients = [redlatch.aio.connect(each.url, lazy=True) for each in servers]
        for make in (redlatch.aio.multi_lock, redlatch.aio.redlock):
            lock = make(*(each.lock(lock_name) for each in clients), timeout=5)
            other = make(*(each.lock(lock_name) for each in clients), owner="handle")
            async with lock as held:
                assert held.count == 1 and lock.owned()
                waiting = world.spawn(other.acquire)
                await world.until(lambda: servers[0].client().exists(lock_name))
                await world.sleep(0.05)
                waiting.cancel()
                assert await waiting.end() == ("cancelled", None)
                assert not await other.acquire(timeout=0.05)
            assert await other.acquire(timeout=5)
            await other.release()
        with redlatch.connect(servers[0].url) as threads, pytest.raises(TypeError, match="redlatch.aio.Lock"):
            redlatch.aio.multi_lock(threads.lock(lock_name))  # type: ignore[arg-type]
        for each in clients:
            await each.close()
        for server in servers:
            assert not server.client().exists(lock_name)

    run_in(main)


def test_a_hold_that_the_first_server_has_no_part_in_ends_as_any_other(
    run_in: Run, servers: List[RedisServer], lock_name: str
) -> None:
    async def main(world: World) -> None:
        clients = [redlatch.aio.connect(each.url, lazy=True) for each in servers]
        lock = redlatch.aio.redlock(*(each.lock(lock_name) for each in clients))
        servers[0].stop()
        async with lock as held:
            held.check()
        with pytest.raises(redlatch.NotOwnedError, match="released already"):
            held.check()
        for each in clients:
            await each.close()

    run_in(main)


def test_members_of_one_client_in_any_order(run_in: Run, server: RedisServer, lock_name: str) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url) as client:
            names = [f"{lock_name}:{i}" for i in range(3)]
            inside = dict.fromkeys(names, 0)

            async def work(number: int) -> None:
                for turn in range(40):
                    mine = [names[(number + turn + i) % 3] for i in range(2)][:: -1 if turn % 2 else 1]
                    async with redlatch.aio.multi_lock(*map(client.lock, mine), timeout=30):
                        for name in mine:
                            inside[name] += 1
                            assert inside[name] == 1
                        await world.sleep(0)
                        for name in mine:
                            inside[name] -= 1

            for each in [world.spawn(work, number) for number in range(6)]:
                await each.value()
            assert client.stats()["held"] == client.stats()["waiters"] == server.client().dbsize() == 0

    run_in(main)


def test_a_lock_that_was_lost_while_it_was_extended(run_in: Run, server: RedisServer, lock_name: str) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url) as client:
            lock = client.lock(lock_name, lease=5)
            await lock.acquire()
            held = lock.held()
            assert held is not None
            server.admin.delete(lock_name)
            with pytest.raises(redlatch.LockLostError):
                await held.extend(5)
            with pytest.raises(redlatch.LockLostError):
                await lock.release()
            assert held.lost and held.lost_reason == "missing" and held.lost_event.is_set()

    run_in(main)


def test_many_names_are_scanned(run_in: Run, server: RedisServer, lock_name: str) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url) as client:
            names = [f"{lock_name}:{i}" for i in range(300)]
            for name in names:
                await client.lock(name, lease=60).acquire()
            found = [report.name async for report in client.scan(f"{lock_name}:*")]
            assert sorted(set(found)) == sorted(names)
            report = await client.inspect(names[0], owner=f"{client.uuid}:1")
            assert report.locked and report.holders == 1
            with pytest.raises(TypeError, match="owner is of type int"):
                await client.inspect(names[0], owner=1)  # type: ignore[arg-type]
            scan = client.scan()
            async for _ in scan:
                break  # a scan that is not finished leaves nothing behind

    run_in(main)


def test_other_credentials_and_stats(run_in: Run, make_server: Callable[..., RedisServer], lock_name: str) -> None:
    server = make_server(requirepass="secret")

    async def main(world: World) -> None:
        with pytest.raises(redlatch.AuthenticationError):
            await redlatch.aio.connect(server.url, password="wrong")
        async with redlatch.aio.connect(server.url, password="secret") as client:
            async with client.lock(lock_name):
                server.admin.config_set("requirepass", "new")
                client.set_credentials(None, "new")
                assert client.stats()["held"] == 1

    run_in(main)
