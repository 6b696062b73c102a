# SPDX-License-Identifier: Apache-2.0
"""What a loss does by itself: it is logged once, and `on_lost` says what follows. Also: check()."""

from __future__ import annotations

import gc
import logging
import signal
import subprocess
import sys
import threading
import time
from typing import Any, Dict, Iterator, List

import pytest
import redlatch
from redlatch.expected import SWEEP
from support import Proxy, RedisServer, wait_until
from support.wire import SCRIPTS, load_scripts

LEASE = 9.0  # a renewal is late after half of it
SOON = 10.0


class Records(logging.Handler):
    """Keeps the logged records."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.kept: List[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keeps a record."""
        self.kept.append(record)


@pytest.fixture
def logged() -> Iterator[List[logging.LogRecord]]:
    """The records of the logger `redlatch` during the test."""
    records = Records()
    logging.getLogger("redlatch").addHandler(records)
    yield records.kept
    logging.getLogger("redlatch").removeHandler(records)


def texts(records: List[logging.LogRecord]) -> List[str]:
    """Returns the messages, after checking that all are warnings."""
    assert {record.levelno for record in records} <= {logging.WARNING}
    return [record.getMessage() for record in records]


def wait_logged(records: List[logging.LogRecord], count: int) -> List[str]:
    """Waits until there are `count` messages, and checks that no more follow. Returns them."""
    wait_until(lambda: len(texts(records)) >= count, SOON, f"{count} messages")
    time.sleep(0.2)
    assert len(texts(records)) == count, texts(records)
    return texts(records)


# ---------------------------------------------------------------------------------------------------------- the log --


def test_a_lease_that_ran_out(client: redlatch.Client, lock_name: str, logged: List[logging.LogRecord]) -> None:
    lock = client.lock(lock_name, lease=0.2)
    assert lock.acquire()
    held = lock.held()
    assert held is not None
    owner = held.owner
    (message,) = wait_logged(logged, 1)
    assert message.startswith(f"lock '{lock_name}' was lost (expired): owner {owner}, its lease ")
    with pytest.raises(redlatch.LockLostError):
        lock.release()
    assert wait_logged(logged, 1) == [message], "the release finds nothing new"


def test_a_lock_that_the_server_forgot(
    client: redlatch.Client, server: RedisServer, lock_name: str, logged: List[logging.LogRecord]
) -> None:
    """The loss is found at the end of the block, even if the block raised, and logged with one message as always."""
    with pytest.raises(ValueError, match="of the block") as caught:
        with client.lock(lock_name) as held:
            owner = held.owner
            server.admin.delete(lock_name)
            raise ValueError("of the block")
    assert wait_logged(logged, 1) == [
        f"lock '{lock_name}' was lost (missing): owner {owner}, its lease was not over"
    ]
    if sys.version_info >= (3, 11):
        assert "failed" in caught.value.__notes__[0]


def test_max_hold(client: redlatch.Client, lock_name: str, logged: List[logging.LogRecord]) -> None:
    lock = client.fenced_lock(lock_name, max_hold=0.2)
    assert lock.acquire()
    (message,) = wait_logged(logged, 1)
    assert message.startswith(f"lock '{lock_name}' was lost (max_hold): owner {client.uuid}:")
    with pytest.raises(redlatch.LockLostError):
        lock.release()


def test_a_permit(
    client: redlatch.Client, server: RedisServer, lock_name: str, logged: List[logging.LogRecord]
) -> None:
    slots = client.permit_semaphore(lock_name, limit=2)
    permit = slots.acquire(lease=2)
    assert permit
    permit.check()
    (message,) = wait_logged(logged, 1)
    assert message.startswith(f"permit {permit.id} of '{lock_name}' was lost (expired): owner {client.uuid}:")
    assert permit.lost_reason == "expired"
    with pytest.raises(redlatch.LockLostError, match="was lost .expired.") as caught:
        permit.check()
    assert caught.value.reason == "expired"
    with pytest.raises(redlatch.LockLostError):
        permit.release()


def test_a_multi_lock(
    client: redlatch.Client, server: RedisServer, lock_name: str, logged: List[logging.LogRecord]
) -> None:
    lock = redlatch.multi_lock(client.lock(f"{lock_name}:a"), client.lock(f"{lock_name}:b"))
    with pytest.raises(redlatch.LockLostError):
        with lock as held:
            owner = held.owner
            assert server.admin.hkeys(f"{lock_name}:a") == [owner.encode()]
            server.admin.delete(f"{lock_name}:b")
    (message,) = wait_logged(logged, 1)
    assert f"was lost (missing): owner {owner}, " in message and f"lock '{lock_name}:" in message


def test_for_how_long_the_lease_had_been_over(server: RedisServer, lock_name: str) -> None:
    """A process that was stopped logs for how long it may have worked without the lock."""
    program = """
import logging, sys, time, redlatch
logging.basicConfig(level=logging.WARNING, stream=sys.stdout, format="%(message)s")
lock = redlatch.connect(sys.argv[1]).lock(sys.argv[2], lease=4)
assert lock.acquire()
print("ready", flush=True)
sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-u", "-c", program, server.url, lock_name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        child.send_signal(signal.SIGSTOP)
        time.sleep(5.5)
        child.send_signal(signal.SIGCONT)
        message = child.stdout.readline()
        child.communicate(timeout=30)
    assert f"lock '{lock_name}' was lost (expired): owner " in message
    seconds = float(message.split("its lease had been over for ")[1].split()[0])
    assert 0.3 < seconds < SOON


def test_a_late_renewal(server: RedisServer, proxy: Proxy, lock_name: str, logged: List[logging.LogRecord]) -> None:
    load_scripts(server)
    with redlatch.connect(proxy.url, watchdog_lease=LEASE) as client:
        fault = proxy.hold_reply(SCRIPTS["renew"])
        with client.lock(lock_name) as held:
            began = time.monotonic()
            fault.wait_hit(timeout=SOON)
            time.sleep(max(0.0, began + LEASE / 2 + 0.3 - time.monotonic()))
            fault.release()
            (message,) = wait_logged(logged, 1)
            held.check()
            assert message.startswith(f"lock '{lock_name}' was renewed late: owner {held.owner}, ")
            assert LEASE / 2 < float(message.split(", ")[1].split()[0]) < LEASE
        assert client.stats()["late_renewals"] == 1
    assert len(texts(logged)) == 1


def test_nothing_is_logged_of_what_is_released(
    client: redlatch.Client, lock_name: str, logged: List[logging.LogRecord]
) -> None:
    lock = client.lock(lock_name, lease=0.5)
    with lock:
        pass
    time.sleep(0.7)
    assert texts(logged) == []


# ---------------------------------------------------------------------------------------------------------- on_lost --


def test_log_leaves_the_block_alone(
    client: redlatch.Client, server: RedisServer, lock_name: str, logged: List[logging.LogRecord]
) -> None:
    lock = client.lock(lock_name, on_lost="log")
    with lock as held:
        server.admin.delete(lock_name)
    assert held.lost and held.lost_reason == "missing"
    wait_logged(logged, 1)

    @lock
    def decorated() -> str:
        server.admin.delete(lock_name)
        return "done"

    assert decorated() == "done"
    wait_logged(logged, 2)
    assert lock.acquire()
    server.admin.delete(lock_name)
    with pytest.raises(redlatch.LockLostError):
        lock.release()  # an explicit release raises
    with pytest.raises(ValueError, match="of the block"), lock:
        server.admin.delete(lock_name)
        raise ValueError("of the block")


def test_raise_is_the_default(client: redlatch.Client, server: RedisServer, lock_name: str) -> None:
    for options in ({}, {"on_lost": "raise"}):
        with pytest.raises(redlatch.LockLostError), client.lock(lock_name, **options):
            server.admin.delete(lock_name)


KINDS: Dict[str, Any] = {
    "mutex": lambda client, name, act: client.lock(name, lease=0.3, on_lost=act),
    "fenced": lambda client, name, act: client.fenced_lock(name, lease=0.3, on_lost=act),
    "fair": lambda client, name, act: client.fair_lock(name, lease=0.3, on_lost=act),
    "spin": lambda client, name, act: client.spin_lock(name, lease=0.3, on_lost=act),
    "plain": lambda client, name, act: client.plain_lock(name, lease=0.3, on_lost=act),
    "read": lambda client, name, act: client.read_write_lock(name, lease=0.3, on_lost=act).read,
    "write": lambda client, name, act: client.read_write_lock(name, lease=0.3, on_lost=act).write,
    "group": lambda client, name, act: client.group_lock(name, ["a"], lease=0.3, on_lost=act),
    "multi": lambda client, name, act: redlatch.multi_lock(client.lock(name), lease=0.3, on_lost=act),
    "redlock": lambda client, name, act: redlatch.redlock(
        client.lock(name), allow_few=True, lease=0.3, on_lost=act
    ),
}


@pytest.mark.parametrize("owner_thread", [False, True], ids=["by with", "by acquire"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_callable(client: redlatch.Client, lock_name: str, kind: str, owner_thread: bool) -> None:
    """The callable is called once, at once, with the hold. The end of the block raises nevertheless."""
    called: List[redlatch.Hold] = []
    done = threading.Event()

    def act(hold: redlatch.Hold) -> None:
        called.append(hold)
        done.set()

    lock = KINDS[kind](client, lock_name, act)
    if owner_thread:
        assert lock.acquire()
        assert done.wait(SOON)
        with pytest.raises(redlatch.LockLostError):
            lock.release()
    else:
        with pytest.raises(redlatch.LockLostError):
            with lock as held:
                assert done.wait(SOON)
                assert called == [held]
                with pytest.raises(redlatch.LockLostError):
                    held.check()
    assert len(called) == 1 and called[0].lost_reason == "expired"


def test_a_callable_of_a_nested_hold_and_of_a_failing_one(
    client: redlatch.Client, server: RedisServer, lock_name: str, logged: List[logging.LogRecord]
) -> None:
    """The callable of each lock is called. A failing one is logged, and the others are still called."""
    called: List[str] = []

    def fail(hold: redlatch.Hold) -> None:
        called.append("outer")
        raise ValueError("of the callable")

    outer = client.lock(lock_name, lease=2, on_lost=fail)
    inner = client.lock(lock_name, lease=2, on_lost=lambda hold: called.append("inner"))
    assert outer.acquire() and inner.acquire()
    wait_until(lambda: called == ["outer", "inner"], SOON)
    for lock in (inner, outer):
        with pytest.raises(redlatch.LockLostError):
            lock.release()
    (failed,) = [record for record in logged if record.levelno == logging.ERROR]
    assert failed.getMessage() == f"on_lost of the lock '{lock_name}' failed" and failed.exc_info


def test_a_callable_that_exits_costs_no_other_its_call(client: redlatch.Client, lock_name: str) -> None:
    called = threading.Event()
    outer = client.lock(lock_name, lease=2, on_lost=lambda hold: sys.exit("of the callable"))
    inner = client.lock(lock_name, lease=2, on_lost=lambda hold: called.set())
    assert outer.acquire() and inner.acquire()
    assert called.wait(SOON)
    for lock in (inner, outer):
        with pytest.raises(redlatch.LockLostError):
            lock.release()


def test_the_watching_thread_outlives_what_is_raised_in_it(
    client: redlatch.Client, lock_name: str, logged: List[logging.LogRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A callable may call sys.exit(), and a handler of the log may raise."""
    uncaught: List[Any] = []
    kept: List[redlatch.Lock] = []
    monkeypatch.setattr(threading, "excepthook", uncaught.append)

    class Full(Records):
        """Raises."""

        def emit(self, record: logging.LogRecord) -> None:
            """Raises."""
            raise OSError("the disk is full")

    def lose(on_lost: Any) -> threading.Event:
        lock = client.lock(lock_name, lease=0.1, owner="handle", on_lost=on_lost, timeout=SOON)
        assert lock.acquire()
        kept.append(lock)
        held = lock.held()
        assert held is not None
        return held.lost_event

    lose(lambda hold: sys.exit("of the callable"))
    wait_until(lambda: [each for each in logged if each.levelno == logging.ERROR and each.exc_info], SOON, "the log")
    full = Full()
    logging.getLogger("redlatch").addHandler(full)
    try:
        lose("log")
        wait_until(lambda: [each.exc_type for each in uncaught] == [OSError], SOON, "the hook")
    finally:
        logging.getLogger("redlatch").removeHandler(full)
    assert lose("log").wait(SOON)


def test_a_callable_of_a_thread_that_ended(client: redlatch.Client, lock_name: str) -> None:
    called: List[Any] = []
    lock = client.lock(lock_name, on_lost=lambda hold: called.append(hold.lost_reason))
    thread = threading.Thread(target=lock.acquire)
    thread.start()
    thread.join()
    wait_until(lambda: called == ["abandoned"], SOON)


def test_a_callable_of_what_was_released_is_not_called_and_not_kept(
    client: redlatch.Client, server: RedisServer, lock_name: str
) -> None:
    called: List[Any] = []
    lock = client.lock(lock_name, on_lost=called.append)
    for release_twice in (lock.release, lambda: [held.release() for held in [lock.held()] if held]):
        with lock:
            assert lock.acquire() and len(client._expected) == 1
            release_twice()
            assert len(client._expected) == 1, "it is held once more"
        assert len(client._expected) == 0
    other = client.lock(lock_name)
    for _ in range(3 * SWEEP):
        assert lock.acquire()
        other.release()
        assert len(client._expected) <= SWEEP + 2
    with pytest.raises(redlatch.LockLostError), lock as held:
        server.admin.delete(lock_name)
    assert called == [held], "the end of the block has found it"


def test_a_release_that_fails_keeps_no_callable(server: RedisServer, proxy: Proxy, lock_name: str) -> None:
    with redlatch.connect(proxy.url, command_timeout=0.2) as client:
        lock = client.lock(lock_name, on_lost=print)
        for end in (lock.release, lambda: [held.release() for held in [lock.held()] if held],
                    lambda: lock.__exit__(None, None, None)):  # fmt: skip
            assert lock.__enter__().count == len(client._expected) == 1
            proxy.stall()
            with pytest.raises(redlatch.UnreachableError):
                end()
            assert len(client._expected) == 0
            proxy.resume()
            wait_until(lambda: not server.client().exists(lock_name), SOON)


def test_a_forgotten_client_is_closed(server: RedisServer, lock_name: str) -> None:
    """A callable for a held lock does not keep the client alive."""
    called: List[Any] = []
    client = redlatch.connect(server.url)
    assert client.lock(lock_name, on_lost=called.append).acquire()
    assert client.permit_semaphore(f"{lock_name}:slots", limit=1).acquire()
    uuid = client.uuid
    del client
    gc.collect()
    wait_until(lambda: not server.client().exists(lock_name), SOON)
    wait_until(lambda: not server.client_list(uuid), SOON)
    assert called == []


def test_what_is_lost_before_it_is_expected(client: redlatch.Client, lock_name: str) -> None:
    """The watching thread may see a loss before the acquiring thread has registered its callable."""
    called: List[Any] = []
    lock = client.lock(lock_name, lease=0.1)
    assert lock.acquire()
    held = lock.held()
    assert held is not None
    wait_until(lambda: client._losses.knows(held._serial), SOON)
    client._losses.expect(held._serial, called.append, held)
    assert called == [held]
    with pytest.raises(redlatch.LockLostError):
        lock.release()


async def coroutine(hold: redlatch.Hold) -> None:
    """A coroutine function, which is refused because no loop would run it."""


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        ("cancel", ValueError, "on_lost is 'cancel'; expected 'raise', 'log' or a callable"),
        (None, ValueError, "on_lost is None; expected"),
        (coroutine, TypeError, "a coroutine function; expected a function"),
    ],
)
def test_what_it_may_be(client: redlatch.Client, value: Any, error: Any, words: str) -> None:
    for make in (lambda: client.lock("x", on_lost=value), lambda: redlatch.multi_lock(client.lock("x"), on_lost=value)):
        with pytest.raises(error, match=words):
            make()


# ---------------------------------------------------------------------------------------------------------- check() --


def test_check(client: redlatch.Client, server: RedisServer, lock_name: str) -> None:
    lock = client.lock(lock_name)
    with lock as held:
        requests = client.stats()["round_trips"]
        held.check()
        assert client.stats()["round_trips"] == requests, "nothing is sent"
    with pytest.raises(redlatch.NotOwnedError, match="was released already"):
        held.check()
    with client.lock(lock_name, lease=0.2, on_lost="log") as held:
        wait_until(lambda: held.lost, SOON)
        with pytest.raises(redlatch.LockLostError) as caught:
            held.check()
        assert caught.value.reason == "expired" and caught.value.lock_name == lock_name
    with pytest.raises(redlatch.LockLostError):
        held.check()
    with redlatch.connect(server.url) as other:
        lock = other.lock(lock_name)
        assert lock.acquire()
        held = lock.held()
        assert held is not None
        other.close()
        with pytest.raises(redlatch.ClosedError):
            held.check()
