"""Uses of the package as a program would write them, for a type checker to read: `mypy --strict` accepts this file.

It is never run. What must be a type error is marked, and an unused mark is an error, too.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Dict, List, Optional, Tuple, Union

import redlatch
import redlatch.aio

if TYPE_CHECKING:
    from typing_extensions import assert_type


def everyday() -> None:
    client = redlatch.connect()
    lock = client.lock("orders:42")
    with lock:
        pass
    with client.lock("report", timeout=5, lease=60) as held:
        assert_type(held, redlatch.Hold)
        assert_type(held.token, Optional[int])
        assert_type(held.remaining(), float)
        assert_type(held.lost, bool)
        assert_type(held.lost_event, threading.Event)
        assert_type(held.lost_reason, Optional[redlatch.LossReason])
        held.check()
        assert_type(held.count, int)
        assert_type(held.owner, str)
        held.extend(timedelta(seconds=5))
        held.release()


def by_hand(client: redlatch.Client) -> None:
    lock = client.lock(b"\x00any bytes", timeout=timedelta(seconds=1), max_hold=3600, owner="handle")
    assert_type(lock, redlatch.Lock)
    assert_type(lock.name, Union[str, bytes])
    assert_type(lock.acquire(), bool)
    assert_type(lock.acquire(False), bool)
    assert_type(lock.acquire(timeout=None, lease=2.5), bool)
    lock.acquire(True, 5)
    lock.release()
    assert_type(lock.state(), redlatch.LockState)
    assert_type(lock.state().locked, bool)
    assert_type(lock.owned(), bool)
    assert_type(lock.hold_count(), int)
    assert_type(lock.state().ttl, float)
    assert_type(lock.state().owner, Optional[str])
    assert_type(lock.held(), Optional[redlatch.Hold])
    assert_type(lock.force_release(), bool)
    lock.extend(30)


def jobs(client: redlatch.Client) -> None:
    @client.once("report", at_least=300, at_most=timedelta(hours=1))
    def report(day: int) -> str:
        return str(day)

    assert_type(report(1), Optional[str])
    report("one")  # type: ignore[arg-type]
    with client.once("report", at_most=3600) as turn:
        assert_type(turn, Optional[redlatch.Hold])

    @client.locked("user:{user_id}", timeout=5)
    def charge(user_id: int) -> bool:
        return user_id > 0

    assert_type(charge(7), bool)
    charge(user="x")  # type: ignore[call-arg]
    with client.elect("scheduler", on_gain=lambda: None) as election:
        assert_type(election.is_leader, bool)
        assert_type(election.leader(), Optional[redlatch.Party])
        election.resign()


async def jobs_of_tasks(client: redlatch.aio.Client) -> None:
    @client.once("report", at_least=300, at_most=timedelta(hours=1))
    async def report(day: int) -> str:
        return str(day)

    assert_type(await report(1), Optional[str])

    @client.locked("user:{user_id}", timeout=5)
    async def charge(user_id: int) -> bool:
        return user_id > 0

    assert_type(await charge(7), bool)
    assert_type(redlatch.release_on_sigterm(), bool)
    async with redlatch.aio.release_on_sigterm() as handled:
        assert_type(handled, bool)
    async with client.elect("scheduler") as election:
        assert_type(await election.leader(), Optional[redlatch.Party])
        await election.resign()


def losses(client: redlatch.Client, stop: threading.Event) -> None:
    def on_lost(hold: redlatch.Hold) -> None:
        stop.set()

    actions: List[redlatch.OnLost] = ["raise", "log", on_lost, lambda hold: print(hold.owner)]
    for action in actions:
        client.fair_lock("x", on_lost=action)
    redlatch.multi_lock(client.lock("a", on_lost="log"), client.lock("b"), on_lost=on_lost)
    client.lock("x", on_lost="cancel")  # type: ignore[arg-type]


def kinds(client: redlatch.Client) -> None:
    sides = client.read_write_lock("catalogue", owner="handle", lease=5)
    assert_type(sides.read, redlatch.Lock)
    slots = client.permit_semaphore("slots", timeout=5, lease=timedelta(minutes=1), limit=3, wait_for_creation=True)
    taken = slots.acquire(timeout=1)
    assert_type(taken, Union[redlatch.Permit, redlatch.NoPermit])
    if taken:
        assert_type(taken.id, str)
    with slots.acquire() as permit:
        assert_type(permit, redlatch.Permit)
    with client.semaphore("gate", timeout=5, limit=2) as gate:
        assert_type(gate.acquire(2), bool)
    with slots as permit:
        assert_type(permit, redlatch.Permit)
        permit.extend(5)
        slots.extend(permit.id, timedelta(seconds=5))


def all_options() -> None:
    with redlatch.connect(
        "unix:///run/redis.sock",
        watchdog_lease=timedelta(seconds=10),
        name_prefix=b"app:",
        lazy=True,
        username="app",
        password="secret",
        database=2,
        connect_timeout=1,
        command_timeout=0.5,
        unreachable_timeout=60,
        release_on_close=False,
        label="typing",
        tuning=redlatch.Tuning(
            busy_poll=False, linger=0, dead_peer_timeout=5, close_timeout=timedelta(0), claim_timeout=10
        ),
    ) as client:
        assert_type(client, redlatch.Client)
        assert_type(client.uuid, str)
        assert_type(client.closed, bool)
        assert_type(client.stats(), Dict[str, int])
        assert_type(client.wait_free("job", 0.5), bool)
        for report in client.scan("job:*"):
            assert_type(report, redlatch.Report)
            assert_type([party.owner for party in report.parties], List[str])
            places = [(party.label, party.host, party.pid) for party in report.parties]
            assert_type(places, List[Tuple[Optional[str], Optional[str], Optional[int]]])
        assert_type(client.inspect(b"job").ttl, float)
        assert_type(client.inspect(b"job").locked, Optional[bool])


def decorated(client: redlatch.Client) -> int:
    @client.lock("job")
    def job(count: int, *, dry: bool = False) -> int:
        return 0 if dry else count

    class Worker:
        @client.lock("job")
        def work(self, what: str) -> str:
            return what

    assert_type(Worker().work("it"), str)
    job("many")  # type: ignore[arg-type]
    return job(3, dry=True)


def failing(lock: redlatch.Lock) -> None:
    try:
        lock.release()
    except redlatch.LockLostError as error:
        assert_type(error.lock_name, Union[str, bytes, None])
        assert_type(error.status, redlatch.Status)
        assert_type(error.status_name, str)
        assert_type(error.retryable, bool)
        assert_type(error.ambiguous, bool)
    except (redlatch.NotOwnedError, redlatch.UnreachableError, redlatch.ServerError):
        raise
    except TimeoutError:
        pass


def mistaken(client: redlatch.Client) -> None:
    client.lock(42)  # type: ignore[arg-type]
    client.lock("x", blocking_timeout=5)  # type: ignore[call-arg]
    client.lock("x", owner="process")  # type: ignore[arg-type]
    client.lock("x").acquire(timeout="5")  # type: ignore[arg-type]
    redlatch.connect(lazy="no")  # type: ignore[arg-type]


async def tasks() -> None:
    async with redlatch.aio.connect("redis://127.0.0.1", command_timeout=2, lazy=True) as client:
        assert_type(client, redlatch.aio.Client)
        lock = client.lock("orders:42", timeout=timedelta(seconds=5), owner="handle", on_lost="cancel")
        assert_type(await lock.acquire(), bool)
        assert_type(await lock.release(), None)
        assert_type((await lock.state()).ttl, float)
        assert_type(lock.held(), Optional[redlatch.aio.Hold])
        async with lock as held:
            assert_type(held, redlatch.aio.Hold)
            assert_type(held.remaining(), float)
            assert_type(held.lost_event.is_set(), bool)
            await held.lost_event.wait()
            assert_type(await held.release(), None)
        assert_type(client.read_write_lock("catalogue").write, redlatch.aio.Lock)
        assert_type(await client.semaphore("gate", limit=2).drain(), int)
        taken = await client.permit_semaphore("slots").acquire(timeout=1)
        assert_type(taken, Union[redlatch.aio.Permit, redlatch.aio.NoPermit])
        async with taken as permit:
            assert_type(permit, redlatch.aio.Permit)
        assert_type(await client.latch("ready").wait(), bool)
        assert_type(await client.inspect("orders:42"), redlatch.Report)
        assert_type([report async for report in client.scan()], List[redlatch.Report])
        assert_type(redlatch.aio.multi_lock(lock, lock), redlatch.aio.MultiLock)

        @client.lock("nightly")
        async def nightly(count: int) -> str:
            return str(count)

        assert_type(await nightly(1), str)
        client.lock("x", owner="thread")  # type: ignore[arg-type]
        redlatch.aio.connect(tcp_nodelay=True)  # type: ignore[call-arg]
        redlatch.multi_lock(lock)  # type: ignore[arg-type]
    assert_type(await redlatch.aio.connect(), redlatch.aio.Client)
