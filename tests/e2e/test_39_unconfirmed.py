# SPDX-License-Identifier: Apache-2.0
"""Unconfirmed releases: they do not wait for the server's reply, take effect in order, and a failure is reported."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import subprocess
import sys
import threading
from functools import partial
from typing import Any, Callable

import pytest
import redlatch
import redlatch.aio
from loops import RUNNERS, World, run
from steps import Call
from support import Monitor, Proxy, RedisServer, wait_until
from support.wire import SCRIPTS, counts, scripts

RELEASE = SCRIPTS["release"]

KINDS = {
    "mutex": lambda client, name, **more: client.lock(name, **more),
    "fenced": lambda client, name, **more: client.fenced_lock(name, **more),
    "fair": lambda client, name, **more: client.fair_lock(name, **more),
    "spin": lambda client, name, **more: client.spin_lock(name, **more),
    "plain": lambda client, name, **more: client.plain_lock(name, **more),
    "group": lambda client, name, **more: client.group_lock(name, ["a", "b"], **more),
    "read": lambda client, name, **more: client.read_write_lock(name, **more).read,
    "write": lambda client, name, **more: client.read_write_lock(name, **more).write,
}


@pytest.fixture
def through(proxy: Proxy, open_clients: Callable[..., Any]) -> redlatch.Client:
    """A client behind the proxy."""
    opened: redlatch.Client = open_clients([proxy])[0]
    return opened


def is_confirmed(client: Any) -> Callable[[], bool]:
    """Returns a predicate: whether the server has replied to all releases."""
    return lambda: client.stats()["unconfirmed"] == 0


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Returns the logged messages about releases."""
    return [record.getMessage() for record in caplog.records if record.getMessage().startswith("release ")]


@pytest.mark.parametrize("kind", KINDS)
def test_the_owner_may_acquire_again_at_once(client: redlatch.Client, lock_name: str, kind: str) -> None:
    lock = KINDS[kind](client, lock_name, confirm_release=False)
    for _ in range(50):
        assert lock.acquire(blocking=False)
        lock.release()
    wait_until(is_confirmed(client))
    assert not lock.state().locked


def test_another_thread_may_acquire_next(client: redlatch.Client, lock_name: str) -> None:
    lock = client.lock(lock_name, confirm_release=False)
    for _ in range(20):
        assert lock.acquire(blocking=False)
        lock.release()
        assert Call(lambda: lock.acquire(blocking=False) and not lock.release()).result()


def test_it_does_not_wait_for_the_reply(
    server: RedisServer, proxy: Proxy, through: redlatch.Client, lock_name: str
) -> None:
    lock = through.lock(lock_name, owner="handle", confirm_release=False)
    assert lock.acquire()
    reply = proxy.hold_reply(RELEASE)
    lock.release()
    assert not lock.owned()
    assert through.stats()["unconfirmed"] == 1
    reply.wait_hit()
    again = Call(lambda: lock.acquire(blocking=False))
    assert not again.done, "its reply comes behind that to the release"
    reply.release()
    assert again.result()
    assert through.stats()["unconfirmed"] == 0
    lock.release(confirm=True)
    assert not counts(server, lock_name)


@pytest.mark.parametrize("cut", ["cut_before", "cut_inside", "cut_after"])
def test_a_cut_connection_is_made_again(
    server: RedisServer,
    proxy: Proxy,
    monitor: Monitor,
    through: redlatch.Client,
    lock_name: str,
    caplog: pytest.LogCaptureFixture,
    cut: str,
) -> None:
    lock = through.lock(lock_name)
    assert lock.acquire()
    mark = monitor.mark()
    fault = getattr(proxy, cut)(RELEASE)
    lock.release(confirm=False)
    fault.wait_hit()
    assert lock.acquire(blocking=False), "behind the release, which is sent again"
    lock.release(confirm=False)
    wait_until(lambda: not counts(server, lock_name))
    wait_until(is_confirmed(through))
    published = [entry for entry in monitor.since(mark) if entry.lua and entry.command == "PUBLISH"]
    assert len(published) == 2, "each release was told once"
    assert not warnings(caplog)


def test_a_lease_that_is_over_is_lost_at_once(monitor: Monitor, client: redlatch.Client, lock_name: str) -> None:
    lock = client.lock(lock_name, lease=0.1, confirm_release=False)
    assert lock.acquire()
    held = lock.held()
    assert held is not None
    assert held.lost_event.wait(5)
    mark = monitor.mark()
    with pytest.raises(redlatch.LockLostError):
        lock.release()
    assert "release" not in scripts(monitor.since(mark))


def test_a_failure_is_logged(
    server: RedisServer, client: redlatch.Client, lock_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    with client.lock(lock_name, confirm_release=False) as held:
        server.client().delete(lock_name)
    wait_until(lambda: warnings(caplog))
    (message,) = warnings(caplog)
    assert f'"{lock_name}"' in message and held.owner in message
    assert [record.levelno for record in caplog.records if record.getMessage() == message] == [logging.WARNING]
    assert held.lost and held.lost_reason == "missing"


def test_a_nested_release_sends_nothing(monitor: Monitor, client: redlatch.Client, lock_name: str) -> None:
    lock = client.lock(lock_name, confirm_release=False)
    assert lock.acquire() and lock.acquire()
    mark = monitor.mark()
    lock.release()
    assert lock.hold_count() == 1
    lock.release()
    wait_until(is_confirmed(client))
    assert scripts(monitor.since(mark)).count("release") <= 1  # the first release is sent as text


def test_closing_waits_for_the_reply(server: RedisServer, proxy: Proxy, lock_name: str) -> None:
    client = redlatch.connect(proxy.url, tuning=redlatch.Tuning(close_timeout=20))
    lock = client.lock(lock_name, confirm_release=False)
    for _ in range(2):  # from the second release on the script is sent by its SHA1
        assert lock.acquire()
        lock.release()
        wait_until(is_confirmed(client))
    assert lock.acquire()
    kept = proxy.hold(RELEASE)
    lock.release()
    kept.wait_hit()
    closing = Call(client.close)
    assert counts(server, lock_name) and not closing.done
    kept.release()
    closing.result()
    assert not counts(server, lock_name)


def test_closing_waits_within_its_timeout(proxy: Proxy, lock_name: str, caplog: pytest.LogCaptureFixture) -> None:
    client = redlatch.connect(proxy.url, tuning=redlatch.Tuning(close_timeout=0.2))
    lock = client.lock(lock_name, confirm_release=False)
    assert lock.acquire()
    stalled = proxy.stall()
    lock.release()
    with caplog.at_level(logging.WARNING, logger="redlatch"):
        Call(client.close).result()
        wait_until(lambda: warnings(caplog) != [])
    assert re.search("did not answer|no reply", warnings(caplog)[0]) and "until its lease ends" in warnings(caplog)[0]
    stalled.release()


def test_a_forked_child_does_not_take_it_for_a_hold(
    server: RedisServer, proxy: Proxy, through: redlatch.Client, lock_name: str
) -> None:
    lock = through.lock(lock_name, owner="handle", confirm_release=False)
    assert lock.acquire()
    reply = proxy.hold_reply(RELEASE)
    lock.release()
    reply.wait_hit()
    child = os.fork()
    if child == 0:
        try:
            free = not lock.owned() and through.stats()["unconfirmed"] == 0 and lock.acquire(blocking=False)
            lock.release()
            through.close()
            os._exit(0 if free else 1)
        finally:
            os._exit(2)
    reply.release()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    wait_until(is_confirmed(through))
    assert not counts(server, lock_name)


PROGRAM = """
import logging, sys, redlatch
logging.basicConfig(stream=sys.stdout, format="%(name)s %(message)s")
client, other = redlatch.connect(sys.argv[1]), redlatch.connect(sys.argv[1])
with client.lock(sys.argv[2], confirm_release=False):
    pass
with client.lock(sys.argv[2] + ":lost", confirm_release=False):
    other.lock(sys.argv[2] + ":lost").force_release()
"""


def test_the_end_of_the_process_waits(server: RedisServer, proxy: Proxy, lock_name: str) -> None:
    slow = proxy.delay(50)
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, proxy.url, lock_name], capture_output=True, text=True, check=True, timeout=60
    )
    slow.release()
    assert not counts(server, lock_name)
    assert f'redlatch release "{lock_name}:lost"' in ended.stdout, ended


def test_threads_hand_over(client: redlatch.Client, lock_name: str) -> None:
    inside, most, total = 0, 0, 0

    def work() -> None:
        nonlocal inside, most, total
        lock = client.lock(lock_name, confirm_release=False)
        for _ in range(100):
            with lock:
                inside += 1
                most = max(most, inside)
                total += 1
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (most, total) == (1, 400)
    assert client.stats()["hand_overs"] > 0


def test_what_cannot_be_unconfirmed_is_refused(
    server: RedisServer, client: redlatch.Client, open_clients: Callable[..., Any], lock_name: str
) -> None:
    both = redlatch.multi_lock(client.lock(lock_name), client.lock(lock_name + ":2"))
    with both, pytest.raises(redlatch.UnsupportedError, match="several names"):
        both.release(confirm=False)
    with both as hold, pytest.raises(redlatch.UnsupportedError, match="several names"):
        hold.release(confirm=False)
    assert hold.count == 0 and not both.state().locked, "the end of the block has released it"
    (careful,) = open_clients([server], min_replicas=1)
    with pytest.raises(redlatch.UnsupportedError, match="min_replicas"):
        careful.lock(lock_name, confirm_release=False)
    with pytest.raises(TypeError, match="confirm_release is 1"):
        client.lock(lock_name, confirm_release=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="confirm is 'no'"):
        client.lock(lock_name).release(confirm="no")  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------------------ tasks --


@pytest.fixture(params=RUNNERS)
def run_in(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Runs a coroutine function in one of the loops, and gives it the World."""
    return partial(run, request.param)


def test_tasks(
    run_in: Callable[..., Any],
    server: RedisServer,
    proxy: Proxy,
    lock_name: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(proxy.url) as client:
            lock = client.lock(lock_name, confirm_release=False)
            for _ in range(20):
                assert await lock.acquire(blocking=False)
                await lock.release()
            assert await lock.acquire()
            reply = proxy.hold_reply(RELEASE)
            await lock.release()
            assert not lock.owned() and client.stats()["unconfirmed"] == 1
            again = world.spawn(partial(lock.acquire, blocking=False))
            await world.sleep(0.05)
            assert not again.done
            reply.release()
            assert await again.value()
            await world.until(is_confirmed(client))
        await lost_at_the_end()

    async def lost_at_the_end() -> None:
        async with redlatch.aio.connect(proxy.url) as client:
            async with client.lock(lock_name + ":lost", confirm_release=False) as held:
                server.client().delete(lock_name + ":lost")
            owner = held.owner
        (message,) = warnings(caplog)
        assert f'"{lock_name}:lost"' in message and owner in message

    run_in(main)


def test_what_is_refused_in_a_task_stays_to_be_released(
    run_in: Callable[..., Any], server: RedisServer, lock_name: str
) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url) as client:
            both = redlatch.aio.multi_lock(client.lock(lock_name), client.lock(lock_name + ":2"))
            async with both as hold:
                with pytest.raises(redlatch.UnsupportedError, match="several names"):
                    await hold.release(confirm=False)
                with pytest.raises(RuntimeError, match="another event loop"):
                    Call(lambda: asyncio.run(hold.release())).result()
                assert hold.count == 1
            assert hold.count == 0 and not (await both.state()).locked
            slots = client.permit_semaphore(lock_name + ":slots", limit=1)
            async with slots as permit:
                with pytest.raises(RuntimeError, match="another event loop"):
                    Call(lambda: asyncio.run(permit.release())).result()
                permit.check()
            assert await slots.available() == 1

    run_in(main)
