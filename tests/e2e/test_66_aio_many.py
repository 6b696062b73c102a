# SPDX-License-Identifier: Apache-2.0
"""Many tasks share a few locks and are cancelled at random.

The locks stay exclusive, every wait ends, and no key, descriptor or memory is left. REDLATCH_AIO_TASKS and
REDLATCH_AIO_SECONDS make the load larger than in a usual run.
"""

from __future__ import annotations

import gc
import os
import random
import time
from functools import partial
from typing import Any, Callable, Dict, List

import pytest
import redlatch
import redlatch.aio
from loops import RUNNERS, Started, World, run
from support import RedisServer, wait_until

Run = Callable[..., Any]
TASKS = int(os.environ.get("REDLATCH_AIO_TASKS", "1000"))
SECONDS = float(os.environ.get("REDLATCH_AIO_SECONDS", "2"))
LOCKS = max(TASKS // 100, 10)
IDLE = 0.01  # the part of a core that all waiting tasks together may use


@pytest.fixture(params=RUNNERS)
def run_in(request: pytest.FixtureRequest) -> Run:
    """Runs a coroutine function in one of the loops. The function gets the World."""
    return partial(run, request.param)


def resident() -> int:
    """Returns the resident memory of this process in bytes."""
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Crowd:
    """Tasks that take locks at random. `inside` counts the tasks that hold each lock."""

    def __init__(self, world: World, client: redlatch.aio.Client, name: str) -> None:
        self._world = world
        self._client = client
        self._draw = random.Random(15)
        self._names = [f"{name}:{i}" for i in range(LOCKS)]
        self.inside: Dict[str, int] = dict.fromkeys(self._names, 0)
        self.granted = self.cancelled = 0
        self.over = False

    async def work(self) -> None:
        """Takes locks until `over` is set."""
        while not self.over:
            name = self._draw.choice(self._names)
            lock = self._client.lock(name, timeout=self._draw.choice([None, 0.01, 30]))
            try:
                async with lock as held:
                    self.inside[name] += 1
                    try:
                        assert self.inside[name] == 1 and held.count == 1, f"two tasks have {name}"
                        self.granted += 1
                        await self._world.sleep(0 if self._draw.random() < 0.9 else 0.002)
                    finally:
                        self.inside[name] -= 1
            except redlatch.LockTimeoutError:
                await self._world.sleep(0)

    async def harass(self, seconds: float) -> None:
        """Cancels tasks at random for `seconds`, and starts another task in the place of each."""
        tasks: List[Started] = [self._world.spawn(self.work) for _ in range(TASKS)]
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            await self._world.sleep(self._draw.random() * 0.004)
            for _ in range(self._draw.randrange(TASKS // 100)):
                place = self._draw.randrange(TASKS)
                tasks[place].cancel()
                how, what = await tasks[place].end() if tasks[place].done else ("", None)
                assert how != "error", what
                tasks[place] = self._world.spawn(self.work)
                self.cancelled += 1
        self.over = True
        for task in tasks:
            how, what = await task.end()
            assert how == "ok", what


def test_random_cancellation(run_in: Run, server: RedisServer, lock_name: str) -> None:
    async def main(world: World) -> None:
        witness = server.client()
        assert witness.dbsize() == 0  # opens the connection before descriptors are counted
        descriptors = len(os.listdir("/proc/self/fd"))
        await attack(world, server, lock_name, descriptors)
        gc.collect()  # the memory of a client keeps two descriptors open
        wait_until(lambda: witness.dbsize() == 0)
        wait_until(lambda: len(os.listdir("/proc/self/fd")) <= descriptors)

    run_in(main)


async def attack(world: World, server: RedisServer, name: str, descriptors: int) -> None:
    """Runs two crowds on one client. The first makes the allocations that are made only once."""
    async with redlatch.aio.connect(server.url) as client:
        await Crowd(world, client, name).harass(SECONDS / 4)
        gc.collect()
        before = resident()
        crowd = Crowd(world, client, name)
        most = world.spawn(watch, world, client, crowd)
        await crowd.harass(SECONDS)
        subscriptions, now = await most.value()
        assert crowd.granted > 100 and crowd.cancelled > 20
        assert subscriptions <= LOCKS, "one subscription for each lock"
        assert now - descriptors < 12, "no descriptor for each task"
        await world.until(lambda: client.stats()["held"] == client.stats()["waiters"] == 0)
        assert client.stats()["lost"] == 0
        gc.collect()
        assert resident() - before < 40e6, "memory is given back"


async def watch(world: World, client: redlatch.aio.Client, crowd: Crowd) -> List[int]:
    """Returns the highest numbers of subscriptions and of descriptors until the crowd is over."""
    most = [0, 0]
    while not crowd.over:
        most = [max(most[0], client.stats()["subscriptions"]), max(most[1], len(os.listdir("/proc/self/fd")))]
        await world.sleep(0.05)
    return most


def thing_of(clients: List[redlatch.aio.Client], draw: random.Random, name: str) -> Any:
    """Returns something for `async with`: a lock of any kind, a composite lock or a semaphore."""
    client = clients[0]
    first, second = draw.sample(["a", "b", "c"], 2)
    return draw.choice(
        [
            lambda: redlatch.aio.multi_lock(client.lock(f"{name}:{first}"), client.lock(f"{name}:{second}")),
            lambda: redlatch.aio.multi_lock(client.lock(f"{name}:a"), clients[1].lock(f"{name}:b")),
            lambda: redlatch.aio.redlock(*(each.lock(f"{name}:red") for each in clients)),
            lambda: client.semaphore(f"{name}:semaphore", limit=2),
            lambda: client.permit_semaphore(f"{name}:permits", limit=2),
            lambda: client.fair_lock(f"{name}:fair"),
            lambda: client.fenced_lock(f"{name}:fenced", owner="handle"),
            lambda: client.group_lock(f"{name}:group", [first, second]),
            lambda: client.plain_lock(f"{name}:plain"),
            lambda: client.read_write_lock(f"{name}:sides").read,
            lambda: client.read_write_lock(f"{name}:sides").write,
        ]
    )()


def test_every_kind_under_random_cancellation(run_in: Run, servers: List[RedisServer], lock_name: str) -> None:
    async def main(world: World) -> None:
        clients = [redlatch.aio.connect(each.url, lazy=True) for each in servers]
        draw = random.Random(15)
        end = time.monotonic() + SECONDS

        async def work(seed: int) -> int:
            own = random.Random(seed)
            entered = 0
            while time.monotonic() < end:
                async with thing_of(clients, own, lock_name):
                    entered += 1
                    await world.sleep(own.choice([0, 0, 0.001]))
            return entered

        tasks = [world.spawn(work, seed) for seed in range(40)]
        while time.monotonic() < end:
            await world.sleep(draw.random() * 0.01)
            place = draw.randrange(len(tasks))
            tasks[place].cancel()
            assert (await tasks[place].end())[0] != "error", tasks[place].outcome
            tasks[place] = world.spawn(work, draw.random())
        assert sum([await task.value() for task in tasks]) > 50
        for client in clients:
            await world.until(lambda client=client: client.stats()["held"] == client.stats()["waiters"] == 0)
        assert await clients[0].semaphore(f"{lock_name}:semaphore").available() == 2
        assert await clients[0].permit_semaphore(f"{lock_name}:permits").available() == 2
        for client in clients:
            assert client.stats()["lost"] == 0
            await client.close()

    run_in(main)


def test_waiters_do_not_busy_the_loop(run_in: Run, server: RedisServer, lock_name: str) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url) as client, redlatch.aio.connect(server.url) as other:
            async with other.lock(lock_name):
                waiting = [world.spawn(client.lock(lock_name, owner="handle").acquire) for _ in range(TASKS)]
                await world.until(lambda: client.stats()["waiters"] == TASKS)
                await world.sleep(0.5)
                begun, used = time.monotonic(), time.process_time()
                await world.sleep(5)
                assert time.process_time() - used < IDLE * (time.monotonic() - begun)
                for each in waiting:
                    each.cancel()
                for each in waiting:
                    assert await each.end() == ("cancelled", None)
            assert client.stats()["waiters"] == 0

    run_in(main)


def test_a_closed_client_needs_no_garbage_collector(run_in: Run, server: RedisServer, lock_name: str) -> None:
    """Its memory keeps two descriptors open. No cycle of objects keeps it."""

    async def main(world: World) -> None:
        async def use() -> None:
            async with redlatch.aio.connect(server.url) as client, client.lock(lock_name):
                pass

        await use()
        gc.collect()
        descriptors = len(os.listdir("/proc/self/fd"))
        gc.disable()
        try:
            await use()
            end = time.monotonic() + 5
            while len(os.listdir("/proc/self/fd")) > descriptors and time.monotonic() < end:
                await world.sleep(0.01)
            assert len(os.listdir("/proc/self/fd")) <= descriptors
        finally:
            gc.enable()

    run_in(main)
