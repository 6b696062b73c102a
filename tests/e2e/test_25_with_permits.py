# SPDX-License-Identifier: Apache-2.0
"""Both semaphores as `with` blocks: semaphores that do not exist, limits, timeouts, and releases that fail."""

from __future__ import annotations

import logging
import time
from typing import Any, Callable, List

import pytest
import redlatch
from access_rules import open_frugal, permit
from steps import Call
from support import Monitor, RedisServer, wait_until
from support.wire import load_scripts, scripts, sent_by

Make = Callable[..., Any]

# A bound on waits that would last for ever after a mistake.
SOON = 5.0


@pytest.fixture(params=["semaphore", "permit_semaphore"])
def make(request: pytest.FixtureRequest, server: RedisServer, client: redlatch.Client, lock_name: str) -> Make:
    """Makes a semaphore object with options. Each test runs with both kinds."""
    load_scripts(server)
    return lambda **options: getattr(client, request.param)(lock_name, **options)


def test_one_that_nobody_made_is_an_error(make: Make, lock_name: str) -> None:
    gate = make()
    words = r"nobody made the semaphore; expected try_set_permits\(\), limit="
    with pytest.raises(redlatch.NotFoundError, match=words) as caught:
        with gate:
            raise AssertionError("it is not entered")
    assert (caught.value.status_name, caught.value.lock_name, caught.value.retryable) == ("not_found", lock_name, True)
    assert gate.try_set_permits(1)
    with gate:
        assert gate.available() == 0


def test_one_whose_permits_are_taken_is_waited_for(make: Make) -> None:
    gate = make()
    assert gate.try_set_permits(1)
    taken = gate.acquire()

    def enter() -> int:
        with make() as inside:
            return 1 if inside else 0

    waiting = Call(enter)
    gate.release() if taken is True else taken.release()
    assert waiting.result(SOON) == 1


def test_its_making_is_waited_for_on_request(client: redlatch.Client, make: Make) -> None:
    gate = make(wait_for_creation=True)

    def enter() -> bool:
        with gate:
            return True

    waiting = Call(enter)
    wait_until(lambda: client.stats()["waiters"] == 1, SOON, "a waiter")
    assert make().try_set_permits(1)
    assert waiting.result(SOON)


@pytest.mark.parametrize("kind", ["semaphore", "permit_semaphore"])
def test_that_it_does_not_exist_takes_no_right_to_ask(server: RedisServer, lock_name: str, kind: str) -> None:
    """The acquiring script reports it, so the user needs no further right."""
    permit(server, lock_name, [kind.replace("_", " ")])
    with open_frugal(server) as frugal, pytest.raises(redlatch.NotFoundError):
        with getattr(frugal, kind)(lock_name):
            raise AssertionError("it is not entered")


def test_a_limit_makes_it_once(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, make: Make, lock_name: str
) -> None:
    gate = make(limit=2)
    assert not server.admin.exists(lock_name), "nothing is sent before it is used"
    with gate:
        assert gate.available() == 1
    assert gate.acquire(blocking=False)
    mark = monitor.mark()
    with gate:
        pass
    assert len(scripts(sent_by(monitor.since(mark), server, client))) == 2, "it is known to be there"
    mark = monitor.mark()
    with make(limit=9):
        assert gate.available() == 0, "the limit of who came first"
    assert len(scripts(sent_by(monitor.since(mark), server, client))) == 3, "with `available`: nothing is asked before"


def test_a_limit_makes_it_in_the_command_that_acquires(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, make: Make, lock_name: str
) -> None:
    """A waiter for the creation gets the permit that is left."""
    patient = make()
    waiting = Call(lambda: bool(patient.acquire()))
    wait_until(lambda: client.stats()["subscriptions"] == 1, SOON, "a waiter that hears of it")
    mark = monitor.mark()
    with redlatch.connect(server.url) as other:
        kind = type(patient).__name__.replace("Permit", "permit_").lower()
        first = getattr(other, kind)(lock_name, limit=2).acquire()
        assert len(scripts(sent_by(monitor.since(mark), server, other))) == 1
        assert first and waiting.result(SOON), "it is told of the permit that is left"
        assert patient.available() == 0


def test_one_that_is_deleted_meanwhile(
    server: RedisServer, client: redlatch.Client, make: Make, lock_name: str
) -> None:
    gate, entered = make(), make()
    assert gate.try_set_permits(1) and gate.acquire()

    def enter() -> None:
        with entered:
            raise AssertionError("it is not entered")

    waiting = Call(enter)
    wait_until(lambda: client.stats()["subscriptions"] == 1, SOON, "a waiter")
    assert gate.delete()
    server.admin.publish(f"redisson_sc:{{{lock_name}}}", 1)  # so that it rechecks before 5 s
    with pytest.raises(redlatch.NotFoundError, match="nobody made the semaphore; expected"):
        waiting.result(SOON)


def test_a_timeout_of_its_own(make: Make) -> None:
    gate = make(timeout=0.3, limit=1)
    with gate:
        began = time.monotonic()
        with pytest.raises(redlatch.LockTimeoutError, match=r"too few permits during the wait of 0.3 s"):
            with gate:
                raise AssertionError("it is not entered")
        assert not gate.acquire()
        assert 0.6 < time.monotonic() - began < SOON
        assert not gate.acquire(blocking=False)


@pytest.mark.parametrize("option, value", [("limit", 0), ("limit", 2**31), ("timeout", -2)])
def test_bad_options(make: Make, option: str, value: int) -> None:
    with pytest.raises(redlatch.InvalidArgumentError, match=f"{option} is {value}; expected"):
        make(**{option: value})
    with pytest.raises(TypeError, match=f"{option} is 'x', of type str; expected"):
        make(**{option: "x"})
    with pytest.raises(TypeError, match="wait_for_creation is 1, of type int; expected True or False"):
        make(wait_for_creation=1)


def test_a_failing_release_hides_nothing_and_is_reported(
    server: RedisServer, make: Make, lock_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    def spoil() -> None:
        """Replaces the keys of the permits by keys of another type."""
        for key in (lock_name, f"{{{lock_name}}}:timeout"):
            server.admin.delete(key)
            server.admin.lpush(key, "x")

    failures: List[BaseException] = []
    for error in (None, KeyError("the block's")):
        server.admin.flushdb()
        caplog.clear()
        try:
            with make(limit=1):
                spoil()
                if error:
                    raise error
        except (redlatch.RedlatchError, KeyError) as failure:
            failures.append(failure)
    assert isinstance(failures[0], redlatch.RedlatchError) and failures[1].args == ("the block's",)
    (record,) = [each for each in caplog.records if each.levelno == logging.WARNING]
    lost = isinstance(failures[0], redlatch.LockLostError)  # a loss is logged like any other
    assert lock_name in record.getMessage()
    assert ("was lost (missing)" if lost else "the block raised KeyError") in record.getMessage()
    if hasattr(failures[1], "add_note"):  # Python 3.11
        assert any("redlatch: while the block ran" in note for note in getattr(failures[1], "__notes__", []))


def test_no_permit_in_time(client: redlatch.Client, lock_name: str) -> None:
    slots = client.permit_semaphore(lock_name, limit=1, lease=20)
    with slots.acquire(timeout=5) as permit:
        assert 0 < permit.remaining() <= 20
        none = slots.acquire(timeout=0.2)
        assert not none and "too few permits during the wait of 0.2 s" in repr(none)
        with pytest.raises(redlatch.LockTimeoutError, match="too few permits") as caught:
            with slots.acquire(timeout=0.2):
                raise AssertionError("it is not entered")
        assert caught.value.lock_name == lock_name
    with slots.acquire(lease=-1) as renewed:
        assert 20 < renewed.remaining() <= 30
