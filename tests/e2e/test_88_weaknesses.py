# SPDX-License-Identifier: Apache-2.0
"""Weaknesses of Redisson that redlatch lacks and no other test covers. docs/proof/redisson.md lists them all."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest
import redlatch
from steps import Call
from support import Monitor, Proxy, RedisServer, wait_until
from support.wire import SCRIPTS, load_scripts, remaining_ms, scripts, sent_by
from waiters import Waiting, hold_as_redisson

MakeServer = Callable[..., RedisServer]


@pytest.fixture
def client(server: RedisServer) -> Iterator[redlatch.Client]:
    """A client straight at the server, whose scripts are known."""
    load_scripts(server)
    with redlatch.connect(server.url) as opened:
        yield opened


# -------------------------------------------------------------------------------------------------------- renewal --


def test_one_bad_lock_delays_the_renewal_of_no_other(server: RedisServer, lock_name: str) -> None:
    """W-4: of two batches one entry is refused. The other entries of its batch and those behind it are renewed."""
    with redlatch.connect(server.url, watchdog_lease=1.5) as client:
        locks = [client.lock(f"{lock_name}:{number}", owner="handle") for number in range(150)]
        for lock in locks:
            lock.acquire()
        holds = [lock.held() for lock in locks]
        with server.admin.pipeline(transaction=True) as transaction:
            transaction.delete(f"{lock_name}:7")
            transaction.rpush(f"{lock_name}:7", "element")
            transaction.execute()
        wait_until(lambda: holds[7].lost)
        renewals = client.stats()["renewals"]
        wait_until(lambda: client.stats()["renewals"] >= renewals + 4 * len(locks), 20.0)
        assert [number for number, hold in enumerate(holds) if hold.lost] == [7]


def test_a_silent_server_delays_no_renewal_on_another(make_server: MakeServer, lock_name: str) -> None:
    """W-4: Redisson renews one server after the other."""
    with make_server() as silent, make_server() as sound:
        with (
            redlatch.connect(sound.url, watchdog_lease=1.5) as other,
            redlatch.connect(silent.url, watchdog_lease=0.6, tuning=redlatch.Tuning(close_timeout=0.1)) as client,
        ):
            locks = [each.lock(lock_name, owner="handle") for each in (client, other)]
            for lock in locks:
                lock.acquire()
            holds = [lock.held() for lock in locks]
            silent.sigstop()
            try:
                wait_until(lambda: holds[0].lost)
                renewals = other.stats()["renewals"]
                wait_until(lambda: other.stats()["renewals"] >= renewals + 2)
                assert not holds[1].lost
            finally:
                silent.sigcont()


def test_many_short_holds_leave_one_timer(server: RedisServer, monitor: Monitor, lock_name: str) -> None:
    """W-5: Redisson's renewal loops multiply. redlatch renews a lock once in each third of its lease."""
    load_scripts(server)
    lease = 0.9
    with redlatch.connect(server.url, watchdog_lease=lease) as client:
        held, other = client.lock(lock_name, owner="handle"), client.lock(f"{lock_name}:other", lease=60)
        mark, started = monitor.mark(), time.monotonic()
        held.acquire()
        while True:
            other.acquire()
            other.release()
            held.release()
            held.acquire()
            time.sleep(0.002)
            if time.monotonic() - started > lease and client.stats()["acquired"] > 20:
                break
        renewals = client.stats()["renewals"]
        wait_until(lambda: client.stats()["renewals"] >= renewals + 4)
        executed = scripts(sent_by(monitor.since(mark), server, client))
        assert executed.count("renew") <= (time.monotonic() - started) / (lease / 3) + 1


def test_a_nested_acquire_with_a_lease_does_not_end_renewal(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    """W-6: in Redisson the release of the nested acquire ends the renewal of the outer one."""
    with redlatch.connect(server.url, watchdog_lease=1.5) as short:
        lock = short.lock(lock_name, owner="handle")
        lock.acquire()
        lock.acquire(lease=0.5)
        lock.release()
        renewals = short.stats()["renewals"]
        wait_until(lambda: short.stats()["renewals"] >= renewals + 4)
        assert lock.hold_count() == 1 and not client.lock(lock_name).acquire(blocking=False)
        assert 0 < remaining_ms(server, lock_name) <= 1_500
        lock.release()


# ----------------------------------------------------------------------------------------------------- multi locks --


def test_leases_do_not_grow_while_it_waits(server: RedisServer, client: redlatch.Client, lock_name: str) -> None:
    """W-15: Redisson multiplies the lease by a thousand with each round."""
    names = [f"{lock_name}:{number}" for number in range(3)]
    with redlatch.connect(server.url) as other:
        rivals = [other.lock(name, owner="handle") for name in names]
        rivals[1].acquire()
        multi = redlatch.multi_lock(*(client.lock(name) for name in names), owner="handle")
        waiting = Call(lambda: multi.acquire(lease=10.0))
        for held, following in ((1, 2), (2, 0), (0, 1)):  # some rounds fail
            wait_until(lambda: client.stats()["waiters"] == 1)
            rivals[following].acquire()
            rivals[held].release()
        rivals[1].release()
        assert waiting.result() is True
        assert all(0 < remaining_ms(server, name) <= 10_000 for name in names)
        multi.release()


def test_a_release_that_finds_one_gone_releases_the_others(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    """W-15: Redisson's release stops at the first member that fails, and its watchdog keeps the others."""
    names = [f"{lock_name}:{number}" for number in range(3)]
    multi = redlatch.multi_lock(*(client.lock(name) for name in names), owner="handle")
    multi.acquire()
    server.admin.delete(names[0])
    with pytest.raises(redlatch.LockLostError):
        multi.release()
    wait_until(lambda: server.admin.keys() == [])


# --------------------------------------------------------------------------------------------------- subscriptions --


def test_hundreds_of_channels_take_one_connection(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    """W-23: Redisson has about 250 channels for a node, and fifty semaphores that all channels share."""
    names = [f"{lock_name}:{number}" for number in range(300)]
    for name in names:
        hold_as_redisson(server, name)
    waits = [Waiting(client.lock(name, owner="handle"), 30.0) for name in names]
    wait_until(lambda: client.stats()["subscriptions"] == len(names), 20.0)

    def listening() -> List[int]:
        return [int(entry["sub"]) for entry in server.client_list("redlatch:") if int(entry["sub"]) > 0]

    wait_until(lambda: sum(listening()) == len(names))
    assert listening() == [len(names)]
    for name in names:
        with server.admin.pipeline(transaction=True) as transaction:
            transaction.delete(name)
            transaction.publish(f"redisson_lock__channel:{{{name}}}", "0")
            transaction.execute()
    assert all(waiting.result() for waiting in waits)


# ---------------------------------------------------------------------------------------------------------- clocks --

# Runs with a wrong wall clock. It waits until its timeout, keeps a lock, and queues by the server's time.
CHILD = """
import sys, time, redlatch
url, name = sys.argv[1:]
assert time.time() > float(sys.stdin.readline()) + 1000, "the wall clock is right"
with redlatch.connect(url, watchdog_lease=1.5) as client:
    held = client.lock(name + ":held")
    held.acquire()
    started = time.monotonic()
    assert not client.lock(name).acquire(timeout=0.5)
    waited = time.monotonic() - started
    assert 0.5 <= waited < 4.5, waited
    renewals = client.stats()["renewals"]
    while client.stats()["renewals"] < renewals + 2:
        time.sleep(0.01)
    assert held.owned() and not held.held().lost and 0 < held.held().remaining() <= 1.5
    held.release()
    print("queue", flush=True)
    assert client.fair_lock(name + ":fair").acquire(timeout=30)
    print("granted", flush=True)
"""


@pytest.fixture(scope="module")
def wild_clock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that makes the wall clock wrong."""
    library = tmp_path_factory.mktemp("clock") / "wild_clock.so"
    source = Path(__file__).with_name("wild_clock.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source)], check=True)
    return library


def test_the_wall_clock_is_of_no_importance(
    server: RedisServer, client: redlatch.Client, wild_clock: Path, lock_name: str
) -> None:
    """W-24: waits and leases are measured by a clock that never jumps. W-9: positions expire by the server's time, so a
    client whose clock is twenty minutes ahead evicts nobody."""
    hold_as_redisson(server, lock_name)
    fair = client.fair_lock(f"{lock_name}:fair", owner="handle")
    fair.acquire()
    patient = Waiting(client.fair_lock(f"{lock_name}:fair", owner="handle"), keep=True)
    queue, scores = (f"redisson_lock_{key}:{{{lock_name}:fair}}" for key in ("queue", "timeout"))
    wait_until(lambda: server.admin.llen(queue) == 1)
    environment: Dict[str, str] = {**os.environ, "LD_PRELOAD": str(wild_clock)}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, server.url, lock_name],
        env=environment,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdin is not None and child.stdout is not None
        child.stdin.write(f"{time.time()}\n")
        child.stdin.flush()
        assert child.stdout.readline() == "queue\n"
        wait_until(lambda: server.admin.llen(queue) == 2)
        owners: Any = server.admin.lrange(queue, 0, -1)
        now = float(server.admin.time()[0]) * 1000  # type: ignore[index]
        assert owners[0].decode().startswith(client.uuid), "nobody was evicted"
        assert server.admin.zscore(scores, owners[1]) <= now + 30_000 + 2 * 300_000 + 1000  # type: ignore[operator]
        fair.release()
        assert patient.result() is True
        patient.leave()
        assert child.stdout.readline() == "granted\n"
        assert child.wait(20) == 0


# ---------------------------------------------------------------------------------------------------------- leases --


def test_an_answer_that_comes_after_the_lease_is_no_lock(server: RedisServer, proxy: Proxy, lock_name: str) -> None:
    """W-25: Redisson counts the lease from the reply. redlatch counts from the request and reports that it is over."""
    load_scripts(server)
    with redlatch.connect(proxy.url, command_timeout=20, tuning=redlatch.Tuning(dead_peer_timeout=60)) as behind:
        lock = behind.lock(lock_name, owner="handle")
        fault = proxy.hold_reply(SCRIPTS["acquire"])
        call = Call(lambda: lock.acquire(timeout=20, lease=0.4))
        fault.wait_hit()
        wait_until(lambda: not server.admin.exists(lock_name), message="the lease to end on the server")
        fault.release()
        with pytest.raises(redlatch.LockLostError):
            call.result()
        assert not lock.owned()


def test_numbers_of_owners_never_come_again(server: RedisServer, client: redlatch.Client, lock_name: str) -> None:
    """W-27: the thread numbers of the system, which Redisson uses, repeat."""
    owners: List[str] = []

    def turn() -> None:
        with client.lock(lock_name) as held:
            owners.append(held.owner)

    for _ in range(20):
        thread = threading.Thread(target=turn)
        thread.start()
        thread.join()
    assert len(set(owners)) == 20
