# SPDX-License-Identifier: Apache-2.0
"""Permit semaphores: ids and leases on the server as RPermitExpirableSemaphore has them. The file includes the
scenarios of Redisson's RedissonPermitExpirableSemaphoreTest, under their names."""

from __future__ import annotations

import math
import subprocess
import sys
import threading
import time
from typing import Any, Dict, Iterator, List, Tuple

import pytest
import redlatch
from steps import Call
from support import Proxy, RedisServer, wait_until
from support.wire import SCRIPTS, load_scripts
from waiters import SOON

NEVER = 922337203685477
UNKNOWN = "0123456789abcdef" * 2


@pytest.fixture
def client(server: RedisServer) -> Iterator[redlatch.Client]:
    """A client without a proxy. The server has all scripts."""
    load_scripts(server)
    with redlatch.connect(server.url) as opened:
        yield opened


@pytest.fixture
def slots(client: redlatch.Client, lock_name: str) -> redlatch.PermitSemaphore:
    """A permit semaphore that does not exist yet."""
    return client.permit_semaphore(lock_name)


def leases(server: RedisServer, name: str) -> Dict[str, float]:
    """Returns the acquired permits and the ends of their leases."""
    found: Any = server.admin.zrange(f"{{{name}}}:timeout", 0, -1, withscores=True)
    return {member.hex(): score for member, score in found}


def sum_of(server: RedisServer, name: str) -> int:
    """Returns the sum of available and acquired permits. Only adding and setting permits changes it."""
    return int(server.admin.get(name) or 0) + len(leases(server, name))  # type: ignore[arg-type]


def must(permit: Any) -> redlatch.Permit:
    """Returns the permit, after checking that it is one."""
    assert isinstance(permit, redlatch.Permit)
    return permit


def now_ms(server: RedisServer) -> float:
    """Returns the server's time in ms."""
    seconds, microseconds = server.admin.time()  # type: ignore[misc]
    return float(seconds) * 1000 + float(microseconds) / 1000


# ------------------------------------------------------------------------- what RPermitExpirableSemaphore does --


def test_not_existent(slots: redlatch.PermitSemaphore) -> None:
    assert (slots.available(), slots.acquired(), slots.permits()) == (0, 0, 0)
    assert not slots.acquire(blocking=False)
    assert slots.lease_of(UNKNOWN) == 0.0


def test_set_add_and_count(slots: redlatch.PermitSemaphore) -> None:
    """testTrySetPermits, testAddPermits, testSetPermits, testAvailablePermits, testAcquiredPermits, testGetPermits."""
    assert slots.try_set_permits(10) and not slots.try_set_permits(15)
    assert slots.available() == 10
    slots.add_permits(5)
    slots.add_permits(-20)
    assert slots.available() == -5
    slots.add_permits(15)
    permits = slots.acquire_many(3)
    assert (slots.available(), slots.acquired(), slots.permits()) == (7, 3, 10)
    for total in (15, 5, 3):
        slots.set_permits(total)
        assert (slots.available(), slots.acquired(), slots.permits()) == (total - 3, 3, total)
    slots.set_permits(2)
    assert (slots.available(), slots.acquired(), slots.permits()) == (-1, 3, 2)
    for permit in permits:
        permit.release()
    assert (slots.available(), slots.acquired(), slots.permits()) == (2, 0, 2)


def test_set_permits_makes_one(slots: redlatch.PermitSemaphore) -> None:
    slots.set_permits(4)
    assert slots.available() == 4


def test_blocking_acquire(client: redlatch.Client, slots: redlatch.PermitSemaphore) -> None:
    slots.try_set_permits(1)
    first = must(slots.acquire())
    assert len(first.id) == 32 and int(first.id, 16)
    waiting = Call(slots.acquire)
    wait_until(lambda: client.stats()["waiters"] == 1)
    first.release()
    second = must(waiting.result(SOON))
    assert second.id != first.id
    slots.release(second.id)
    assert slots.available() == 1


def test_blocking_acquire_many(client: redlatch.Client, slots: redlatch.PermitSemaphore) -> None:
    slots.try_set_permits(5)
    held = slots.acquire_many(3)
    waiting = Call(lambda: slots.acquire_many(4))
    wait_until(lambda: client.stats()["waiters"] == 1)
    held[0].release()
    assert not waiting.done
    held[1].release()
    permits = waiting.result(SOON)
    assert isinstance(permits, list) and len({permit.id for permit in permits}) == 4
    assert slots.available() == 0


def test_try_acquire(slots: redlatch.PermitSemaphore) -> None:
    slots.try_set_permits(1)
    slots.acquire()
    started_at = time.monotonic()
    assert not slots.acquire(timeout=0.5)
    assert 0.45 <= time.monotonic() - started_at < 0.5 + SOON
    assert slots.acquire_many(2, timeout=0.5) == []


def test_a_lease_that_ends(server: RedisServer, client: redlatch.Client, lock_name: str) -> None:
    """testExpire and testExpireTryAcquire: a waiter is granted when the lease ends, and a late release raises LOST."""
    slots = client.permit_semaphore(lock_name)
    slots.try_set_permits(1)
    started_at = time.monotonic()
    permit = must(slots.acquire(lease=1.0))
    assert 0.0 < permit.remaining() < 1.0
    other = redlatch.connect(server.url)
    successor = must(other.permit_semaphore(lock_name).acquire(timeout=5, lease=30))
    assert 0.99 < time.monotonic() - started_at < 1.0 + SOON
    assert permit.lost and permit.lost_event.is_set() and permit.remaining() == 0.0
    with pytest.raises(redlatch.LockLostError):
        permit.release()
    assert sum_of(server, lock_name) == 1 and leases(server, lock_name).keys() == {successor.id}
    other.close()


def test_release_without_permits(slots: redlatch.PermitSemaphore, server: RedisServer, lock_name: str) -> None:
    with pytest.raises(redlatch.NotOwnedError):
        slots.release(UNKNOWN)
    slots.try_set_permits(1)
    with pytest.raises(redlatch.NotOwnedError):
        slots.release(UNKNOWN)
    permit = must(slots.acquire())
    permit.release()
    for again, words in (
        (permit.release, f"permit {permit.id} of semaphore '{lock_name}' was released before"),
        (lambda: slots.release(permit.id), f'release permit {permit.id} of "{lock_name}": there is no such permit'),
        (lambda: slots.extend(UNKNOWN, 5), f'extend permit {UNKNOWN} of "{lock_name}": there is no such permit'),
    ):
        with pytest.raises(redlatch.NotOwnedError, match=words):
            again()
    assert sum_of(server, lock_name) == 1


@pytest.mark.parametrize("reclaimed", [False, True])
def test_release_expired_by_another_process(
    server: RedisServer, slots: redlatch.PermitSemaphore, lock_name: str, reclaimed: bool
) -> None:
    """The release of an expired permit raises LOST until another acquire has reclaimed it, and NOT_OWNED afterwards."""
    slots.try_set_permits(2)
    permit = must(slots.acquire(lease=0.5))
    time.sleep(0.6)
    with redlatch.connect(server.url) as other:
        stranger = other.permit_semaphore(lock_name)
        if reclaimed:
            stranger.acquire()
        words = "there is no such permit, or it was acquired" if reclaimed else "it was acquired and has been lost"
        with pytest.raises(
            redlatch.NotOwnedError if reclaimed else redlatch.LockLostError,
            match=f'^release permit {permit.id} of "{lock_name[:57]}.*": {words}',
        ):
            stranger.release(permit.id)
        assert sum_of(server, lock_name) == 2


def test_update_lease(server: RedisServer, slots: redlatch.PermitSemaphore, lock_name: str) -> None:
    """testUpdateLeaseTime and testGetLeaseTime: leases are shortened and extended, also for another process's permit.
    For expired and unknown permits that fails."""
    slots.try_set_permits(2)
    permit = must(slots.acquire(lease=10))
    for seconds in (5.0, 20.0):
        slots.extend(permit, seconds)
        assert seconds - 1 < slots.lease_of(permit) <= seconds
        assert seconds - 1 < permit.remaining() < seconds
    with redlatch.connect(server.url) as other:
        stranger = other.permit_semaphore(lock_name)
        assert 19 < stranger.lease_of(permit.id) <= 20
        stranger.extend(permit.id, 60)
        assert 59 < slots.lease_of(permit.id) <= 60
        for gone in (UNKNOWN,):
            with pytest.raises(redlatch.NotOwnedError):
                stranger.extend(gone, 5)
    permit.extend(30)
    assert 29 < slots.lease_of(permit) <= 30
    with pytest.raises(redlatch.InvalidArgumentError, match="seconds is 0; expected more than 0 seconds"):
        permit.extend(0)
    permit.release()
    for late in (lambda: permit.extend(5), lambda: slots.extend(permit, 5)):
        with pytest.raises(redlatch.NotOwnedError, match=rf"permit {permit.id} .*{lock_name}.* was released before"):
            late()
    short = must(slots.acquire(lease=0.5))
    wait_until(lambda: short.lost)
    for late in (lambda: slots.extend(short, 5), lambda: short.extend(5)):
        with pytest.raises(redlatch.LockLostError, match=f"extend permit {short.id} of .*: it was acquired and"):
            late()
    server.admin.zadd(f"{{{lock_name}}}:timeout", {bytes.fromhex(UNKNOWN): NEVER})
    assert slots.lease_of(UNKNOWN) == math.inf


def test_expiration(server: RedisServer, slots: redlatch.PermitSemaphore, lock_name: str) -> None:
    """Like Redisson's expire() on the object: a lease that begins afterwards ends with the key, and no key is left."""
    slots.try_set_permits(1)
    server.admin.pexpire(lock_name, 1_000)
    slots.acquire(lease=60)
    assert 0 < server.admin.pttl(f"{{{lock_name}}}:timeout") <= 1_000
    wait_until(lambda: not server.admin.exists(lock_name, f"{{{lock_name}}}:timeout"), 3.0)


def test_concurrency(server: RedisServer, lock_name: str) -> None:
    """Of many clients and threads never more are inside than there are permits, and no permit is lost."""
    inside: List[int] = []
    most: List[int] = []

    def work(client: redlatch.Client) -> None:
        for _ in range(12):
            with must(client.permit_semaphore(lock_name).acquire()):
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    clients = [redlatch.connect(server.url) for _ in range(4)]
    try:
        clients[0].permit_semaphore(lock_name).try_set_permits(3)
        calls = [Call(lambda client=client: work(client)) for client in clients for _ in range(3)]
        for call in calls:
            call.result(30.0)
    finally:
        for client in clients:
            client.close()
    assert len(most) == 12 * 12 and max(most) <= 3
    assert sum_of(server, lock_name) == 3 and leases(server, lock_name) == {}


# --------------------------------------------------------------------------------------------------- on the wire --


def test_ids_and_scores(server: RedisServer, slots: redlatch.PermitSemaphore, lock_name: str) -> None:
    slots.try_set_permits(3)
    permits = slots.acquire_many(2, lease=20)
    assert server.admin.get(lock_name) == b"1"
    found = leases(server, lock_name)
    assert found.keys() == {permit.id for permit in permits}
    assert all(19_000 < score - now_ms(server) <= 20_000 for score in found.values())
    permits[1].release()
    assert leases(server, lock_name).keys() == {permits[0].id} and server.admin.get(lock_name) == b"2"


def test_a_permit_without_a_lease_is_renewed(server: RedisServer, lock_name: str) -> None:
    with redlatch.connect(server.url, watchdog_lease=1.0) as client:
        slots = client.permit_semaphore(lock_name)
        slots.try_set_permits(150)
        permits = slots.acquire_many(120)
        time.sleep(1.5)
        now = now_ms(server)
        assert all(score > now for score in leases(server, lock_name).values())
        assert slots.acquired() == 120 and not any(permit.lost for permit in permits[::10])
    assert sum_of(server, lock_name) == 150 and leases(server, lock_name) == {}, "closing releases them"


def test_permits_of_a_dead_process_return(server: RedisServer, client: redlatch.Client, lock_name: str) -> None:
    program = (
        "import sys, os, redlatch\n"
        "client = redlatch.connect(sys.argv[1], watchdog_lease=1.2)\n"
        "slots = client.permit_semaphore(sys.argv[2])\n"
        "slots.try_set_permits(1)\n"
        "permit = slots.acquire()\n"
        "print(permit.id, flush=True)\n"
        "sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", program, server.url, lock_name]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        first = process.stdout.readline().decode().strip()
        waiting = Call(lambda: client.permit_semaphore(lock_name).acquire(timeout=10))
        time.sleep(1.5)
        assert not waiting.done, "it is renewed as long as the process lives"
        process.kill()
        permit = must(waiting.result(5.0))
    assert permit.id != first and sum_of(server, lock_name) == 1


def test_a_waiter_wakes_at_the_nearest_expiry(
    server: RedisServer, slots: redlatch.PermitSemaphore, lock_name: str
) -> None:
    """No message comes when the lease of a holder that is gone ends."""
    server.admin.set(lock_name, 0)
    started_at = time.monotonic()
    server.admin.zadd(f"{{{lock_name}}}:timeout", {b"x" * 16: now_ms(server) + 700})
    must(slots.acquire(timeout=4))
    assert 0.69 < time.monotonic() - started_at < 0.7 + SOON


def test_nine_thousand_expired_permits(server: RedisServer, slots: redlatch.PermitSemaphore, lock_name: str) -> None:
    """W-21: Redisson's script fails with more than about 8000. redlatch's script reclaims a thousand at a time."""
    server.admin.set(lock_name, 0)
    dead = {index.to_bytes(16, "big"): 1000 + index for index in range(9000)}
    server.admin.zadd(f"{{{lock_name}}}:timeout", dead)
    assert (slots.available(), slots.acquired(), slots.permits()) == (9000, 0, 9000)
    permits = slots.acquire_many(1000)
    assert len(permits) == 1000 and sum_of(server, lock_name) == 9000
    for _ in range(9):
        slots.acquire()
    assert len(leases(server, lock_name)) == 1009 and sum_of(server, lock_name) == 9000


def test_a_ttl_is_kept(server: RedisServer, slots: redlatch.PermitSemaphore, lock_name: str) -> None:
    slots.try_set_permits(5)
    server.admin.pexpire(lock_name, 60_000)
    for change in (slots.acquire, lambda: slots.add_permits(2), lambda: slots.set_permits(9)):
        change()
        assert 50_000 < server.admin.pttl(lock_name) <= 60_000


@pytest.mark.parametrize("key", ["{name}", "{{{name}}}:timeout"])
def test_a_key_of_another_type_is_untouched(
    server: RedisServer, slots: redlatch.PermitSemaphore, lock_name: str, key: str
) -> None:
    admin: Any = server.admin
    place = key.format(name=lock_name)
    if place != lock_name:
        admin.set(lock_name, 3)
    admin.rpush(place, "x")
    before = admin.dump(place), admin.get(lock_name) if place != lock_name else None
    calls = [slots.acquire, slots.available, lambda: slots.set_permits(3), lambda: slots.release(UNKNOWN), slots.delete]
    for call in calls:
        with pytest.raises(redlatch.ServerError) as caught:
            call()
        assert caught.value.status_name == "wrong_type"
    assert (admin.dump(place), admin.get(lock_name) if place != lock_name else None) == before


# -------------------------------------------------------------------------------------------- lost and late ones --


@pytest.mark.parametrize("cut", ["cut_before", "cut_inside", "cut_after"])
@pytest.mark.parametrize("script", ["acquire_permits", "release_permits", "set_permits"])
def test_a_cut_connection_changes_no_count(
    server: RedisServer, proxy: Proxy, lock_name: str, cut: str, script: str
) -> None:
    load_scripts(server)
    with redlatch.connect(proxy.url, command_timeout=20) as client:
        slots = client.permit_semaphore(lock_name)
        slots.try_set_permits(5)
        fault = getattr(proxy, cut)(SCRIPTS[script])
        permits = slots.acquire_many(3)
        assert len(leases(server, lock_name)) == 3 and sum_of(server, lock_name) == 5
        permits[0].release()
        slots.set_permits(6)
        assert fault.hit
        assert len(leases(server, lock_name)) == 2 and sum_of(server, lock_name) == 6


@pytest.mark.parametrize("script", ["acquire_permits", "release_permits"])
def test_a_doubled_command_changes_no_count(
    server: RedisServer, proxy: Proxy, lock_name: str, script: str
) -> None:
    load_scripts(server)
    with redlatch.connect(proxy.url, command_timeout=20) as client:
        slots = client.permit_semaphore(lock_name)
        slots.try_set_permits(5)
        copy = proxy.duplicate(SCRIPTS[script])
        permits = slots.acquire_many(3)
        if script == "acquire_permits":
            copy.release()
            copy.wait_outcome()
        permits[0].release()
        if script == "release_permits":
            copy.release()
            copy.wait_outcome()
        assert len(leases(server, lock_name)) == 2 and sum_of(server, lock_name) == 5


def test_what_was_given_up_is_undone(
    server: RedisServer, proxy: Proxy, slots: redlatch.PermitSemaphore, lock_name: str
) -> None:
    slots.try_set_permits(5)
    with redlatch.connect(proxy.url, command_timeout=0.3, tuning=redlatch.Tuning(dead_peer_timeout=60)) as impatient:
        fault = proxy.hold_reply(SCRIPTS["acquire_permits"])
        error = Call(lambda: impatient.permit_semaphore(lock_name).acquire_many(3, blocking=False)).error()
        assert isinstance(error, redlatch.UnreachableError)
        fault.release()
        fault.wait_outcome()
        wait_until(lambda: leases(server, lock_name) == {})
        assert sum_of(server, lock_name) == 5


def test_a_permit_that_vanished_is_lost(server: RedisServer, lock_name: str) -> None:
    with redlatch.connect(server.url, watchdog_lease=0.9) as client:
        slots = client.permit_semaphore(lock_name)
        slots.try_set_permits(2)
        permit, other = must(slots.acquire()), must(slots.acquire())
        events = [permit.lost_event, other.lost_event]
        slots.delete()
        assert all(event.wait(5.0) for event in events) and permit.lost
        with pytest.raises(redlatch.LockLostError, match="missing"):
            permit.check()
        with pytest.raises(redlatch.LockLostError):
            slots.release(permit)
        with pytest.raises(redlatch.LockLostError):
            other.release()
        with pytest.raises(redlatch.LockLostError, match="missing"):
            other.check()


# ---------------------------------------------------------------------------------------------------- being used --


def test_with(slots: redlatch.PermitSemaphore) -> None:
    slots.try_set_permits(1)
    with must(slots.acquire()) as permit:
        assert slots.available() == 0 and 25 < permit.remaining() < 30
    assert slots.available() == 1
    with pytest.raises(KeyError):
        with must(slots.acquire(lease=0.5)) as permit:
            wait_until(lambda: permit.lost)
            raise KeyError("the block's own")


def test_with_the_semaphore_itself(slots: redlatch.PermitSemaphore) -> None:
    """Each `with` has its own permit, also on one thread. The block's exception is raised, or else the error of the
    release."""
    slots.try_set_permits(2)
    with slots as outer, slots as inner:
        assert slots.available() == 0 and outer.id != inner.id
        inner.release()
        assert slots.available() == 1
    assert slots.available() == 2
    with pytest.raises(KeyError), slots as permit:
        slots.release(permit.id)
        raise KeyError("the block's own")
    with pytest.raises(redlatch.RedlatchError), slots as permit:
        permit.check()
        slots.release(permit.id)
        with pytest.raises(redlatch.NotOwnedError, match="was released before"):
            permit.check()
    assert slots.available() == 2


def test_what_cannot_be_taken_names_the_value(slots: redlatch.PermitSemaphore) -> None:
    with pytest.raises(redlatch.InvalidArgumentError, match="permits is 0; expected 1 to 1000"):
        slots.acquire_many(0)
    with pytest.raises(redlatch.InvalidArgumentError, match="permits is 1001; expected 1 to 1000"):
        slots.acquire_many(1001)


def test_any_thread_may_release(slots: redlatch.PermitSemaphore) -> None:
    """Permits belong to no thread, and outlive the thread that acquired them."""
    slots.try_set_permits(1)
    permits: List[redlatch.Permit] = []
    thread = threading.Thread(target=lambda: permits.append(must(slots.acquire())))
    thread.start()
    thread.join()
    assert not permits[0].lost
    permits[0].release()
    assert slots.available() == 1


def test_bad_arguments(slots: redlatch.PermitSemaphore) -> None:
    for wrong, words in (("x" * 32, "32 hexadecimal"), ("abc", "32 hexadecimal"), ("\0" * 32, "32 hexadecimal")):
        with pytest.raises(redlatch.InvalidArgumentError, match=words):
            slots.release(wrong)
    with pytest.raises(TypeError, match="expected a Permit"):
        slots.release(5)  # type: ignore[arg-type]
    with pytest.raises(redlatch.InvalidArgumentError, match="expected 1 to 1000"):
        slots.acquire_many(1001)
    with pytest.raises(redlatch.InvalidArgumentError, match="permits is 0"):
        slots.acquire_many(0)
    with pytest.raises(redlatch.InvalidArgumentError, match="lease is 0"):
        slots.acquire(lease=0)


def test_an_entry_that_is_interrupted_gives_its_permit_back(slots: redlatch.PermitSemaphore) -> None:
    """The permit is released even if the exception comes before the entry is noted. That exception is raised."""
    class Interrupted(List[Tuple[int, redlatch.Permit]]):
        def append(self, _: Tuple[int, redlatch.Permit]) -> None:
            raise KeyboardInterrupt

    slots.set_permits(1)
    slots._entered = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        slots.__enter__()
    assert slots.available() == 1


def test_an_exit_without_an_entry(slots: redlatch.PermitSemaphore) -> None:
    with pytest.raises(redlatch.NotOwnedError, match="no `with` block"):
        slots.__exit__(None, None, None)
