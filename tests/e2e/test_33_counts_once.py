# SPDX-License-Identifier: Apache-2.0
"""Each change of a semaphore or latch counts once, even if its command is lost, doubled or late. Each change is tried
with each fault."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import pytest
import redlatch
from steps import Call
from support import Proxy, RedisServer, wait_until
from support.wire import SCRIPTS, load_scripts

MakeServer = Callable[..., RedisServer]

PASSWORD = "secret"
TIMEOUT = 0.3


class Change:
    """One change: its script, the call, the call's result, the key's value before and after, and what becomes of a
    change that was given up."""

    def __init__(
        self,
        script: str,
        before: Optional[int],
        make: Callable[[redlatch.Client, str], Any],
        answer: Any,
        after: Optional[int],
        ending: str,
    ) -> None:
        self.script = SCRIPTS[script]
        self.before = before
        self.make = make
        self.answer = answer
        self.after = after
        self.ending = ending  # of a given-up change: "undone", "goes on" or "either"

    def prepare(self, server: RedisServer, name: str) -> None:
        """Load the scripts, and set the count."""
        load_scripts(server)
        if self.before is not None:
            server.admin.set(name, self.before)


CHANGES: Dict[str, Change] = {
    "acquire": Change(
        "acquire_semaphore", 5, lambda c, n: c.semaphore(n).acquire(2, timeout=TIMEOUT), True, 3, "undone"
    ),
    "acquire_error": Change(
        "acquire_semaphore", 1, lambda c, n: c.semaphore(n).acquire(2, timeout=0), False, 1, "undone"
    ),
    "release": Change("release_semaphore", 5, lambda c, n: c.semaphore(n).release(2), None, 7, "goes on"),
    "release_new": Change("release_semaphore", None, lambda c, n: c.semaphore(n).release(2), None, 2, "goes on"),
    "release_if_exists": Change(
        "release_semaphore", 5, lambda c, n: c.semaphore(n).release_if_exists(2), True, 7, "goes on"
    ),
    "add": Change("add_semaphore", 5, lambda c, n: c.semaphore(n).add_permits(-7), None, -2, "either"),
    "drain": Change("drain_semaphore", 5, lambda c, n: c.semaphore(n).drain(), 5, 0, "undone"),
    "drain_owing": Change("drain_semaphore", -5, lambda c, n: c.semaphore(n).drain(), -5, 0, "undone"),
    "set": Change("try_set_count", None, lambda c, n: c.semaphore(n).try_set_permits(4), True, 4, "either"),
    "set_refused": Change("try_set_count", 1, lambda c, n: c.semaphore(n).try_set_permits(4), False, 1, "either"),
    "set_latch": Change("try_set_count", None, lambda c, n: c.latch(n).try_set_count(4), True, 4, "either"),
    "count_down": Change("count_down", 5, lambda c, n: c.latch(n).count_down(), None, 4, "goes on"),
    "count_down_last": Change("count_down", 1, lambda c, n: c.latch(n).count_down(), None, None, "goes on"),
}
every_change = pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())


def value(server: RedisServer, name: str) -> Optional[int]:
    """Returns the count in the key."""
    found: Any = server.admin.get(name)
    return None if found is None else int(found)


def long_waits(change: Change) -> Callable[[redlatch.Client, str], Any]:
    """Returns the change's call. That of an acquire has a long timeout."""
    if change is CHANGES["acquire"]:
        return lambda client, name: client.semaphore(name).acquire(2, timeout=20)
    return change.make


@pytest.fixture
def patient(server: RedisServer, proxy: Proxy) -> Iterator[redlatch.Client]:
    """A client behind the proxy. Its timeouts are longer than the faults of the tests."""
    with redlatch.connect(proxy.url, command_timeout=20, tuning=redlatch.Tuning(dead_peer_timeout=60)) as opened:
        yield opened


@pytest.fixture
def impatient(server: RedisServer, proxy: Proxy) -> Iterator[redlatch.Client]:
    """A client behind the proxy whose calls give up soon."""
    with redlatch.connect(proxy.url, command_timeout=TIMEOUT, tuning=redlatch.Tuning(dead_peer_timeout=60)) as opened:
        yield opened


# ------------------------------------------------------------------------------------------------------- succeeds --


@every_change
@pytest.mark.parametrize("cut", ["cut_before", "cut_inside", "cut_after"])
def test_a_cut_connection_is_made_again(
    server: RedisServer, proxy: Proxy, patient: redlatch.Client, lock_name: str, change: Change, cut: str
) -> None:
    change.prepare(server, lock_name)
    fault = getattr(proxy, cut)(change.script)
    assert long_waits(change)(patient, lock_name) == change.answer
    assert fault.hit
    assert value(server, lock_name) == change.after
    assert patient.stats()["resends"] == 1
    assert patient.stats()["compensations"] == 0


@every_change
def test_a_swallowed_reply_is_made_up_for(
    server: RedisServer, proxy: Proxy, patient: redlatch.Client, lock_name: str, change: Change
) -> None:
    change.prepare(server, lock_name)
    fault = proxy.swallow_reply(change.script)
    call = Call(lambda: long_waits(change)(patient, lock_name))
    connection = fault.wait_hit().connection
    wait_until(lambda: value(server, lock_name) == change.after)
    assert not call.done
    connection.cut()
    assert call.result() == change.answer
    assert value(server, lock_name) == change.after


@every_change
def test_a_doubled_command_counts_once(
    server: RedisServer, proxy: Proxy, patient: redlatch.Client, lock_name: str, change: Change
) -> None:
    """The copy arrives last, on the connection of the original."""
    change.prepare(server, lock_name)
    copy = proxy.duplicate(change.script)
    assert long_waits(change)(patient, lock_name) == change.answer
    copy.wait_hit()
    assert value(server, lock_name) == change.after
    copy.let_arrive()
    assert value(server, lock_name) == change.after


# ------------------------------------------------------------------------------------------------------- given up --


Outage = Callable[[Proxy, Change], Tuple[Any, Callable[[], None]]]


def command_held(proxy: Proxy, change: Change) -> Tuple[Any, Callable[[], None]]:
    """The command is delayed. Later the same connection works again."""
    fault = proxy.hold(change.script)
    return fault, fault.release


def reply_held(proxy: Proxy, change: Change) -> Tuple[Any, Callable[[], None]]:
    """The reply is delayed. Later the same connection works again."""
    fault = proxy.hold_reply(change.script)
    return fault, fault.release


def reply_swallowed(proxy: Proxy, change: Change) -> Tuple[Any, Callable[[], None]]:
    """The reply and all later replies are lost, until the connection is cut and a new one is made."""
    fault = proxy.swallow_reply(change.script)

    def repair() -> None:
        fault.hits[0].connection.cut()

    return fault, repair


def cut_before(proxy: Proxy, change: Change) -> Tuple[Any, Callable[[], None]]:
    """The connection is cut before the command reaches the server, and no new one can be made for a while."""
    refusing = proxy.refuse()
    return proxy.cut_before(change.script), refusing.release


def cut_after(proxy: Proxy, change: Change) -> Tuple[Any, Callable[[], None]]:
    """The connection is cut after the command was executed, and no new one can be made for a while."""
    refusing = proxy.refuse()
    return proxy.cut_after(change.script), refusing.release


@every_change
@pytest.mark.parametrize("outage", [command_held, reply_held, reply_swallowed, cut_before, cut_after])
def test_what_was_given_up_is_as_its_kind_says(
    server: RedisServer, proxy: Proxy, impatient: redlatch.Client, lock_name: str, change: Change, outage: Outage
) -> None:
    change.prepare(server, lock_name)
    fault, repair = outage(proxy, change)
    error = Call(lambda: change.make(impatient, lock_name)).error()
    assert isinstance(error, redlatch.UnreachableError)
    assert (error.status_name, error.ambiguous) == ("no_reply", True)
    repair()
    if outage is not cut_before:
        fault.wait_outcome()
    ends = {
        "undone": [change.before], "goes on": [change.after], "either": [change.before, change.after]
    }[change.ending]
    wait_until(lambda: value(server, lock_name) in ends)
    assert impatient.latch(lock_name + ":next").wait(timeout=5), "the connection is there, and what was left is sent"
    assert value(server, lock_name) in ends


# ------------------------------------------------------------------------------------ where nothing can be killed --


@pytest.fixture(params=["client|kill", "info"])
def limited(request: pytest.FixtureRequest, make_server: MakeServer) -> Iterator[RedisServer]:
    """A server with a user who lacks one of the commands with which a client kills its old connection."""
    server = make_server()
    server.set_user("limited", PASSWORD, "+@all", f"-{request.param}")
    yield server


@pytest.mark.parametrize("name", ["acquire", "release", "add", "drain", "count_down", "set"])
def test_a_late_copy_finds_the_record(limited: RedisServer, lock_name: str, name: str) -> None:
    change = CHANGES[name]
    with Proxy(limited.address) as proxy:
        with redlatch.connect(proxy.url, username="limited", password=PASSWORD, command_timeout=20) as client:
            change.prepare(limited, lock_name)
            late = proxy.hold(change.script)
            call = Call(lambda: long_waits(change)(client, lock_name))
            late.wait_hit().connection.cut_client()
            assert call.result() == change.answer
            assert value(limited, lock_name) == change.after
            late.let_arrive()
            assert value(limited, lock_name) == change.after
            (record,) = limited.admin.scan_iter(match="redlatch_op:*")
            left: Any = limited.admin.pttl(record)
            assert 3_500_000 < left <= 3_600_000, "for an hour"


@pytest.mark.parametrize("name", ["acquire", "drain"])
def test_a_late_copy_of_what_was_given_up_finds_the_mark(limited: RedisServer, lock_name: str, name: str) -> None:
    change = CHANGES[name]
    with Proxy(limited.address) as proxy:
        with redlatch.connect(proxy.url, username="limited", password=PASSWORD, command_timeout=TIMEOUT) as client:
            change.prepare(limited, lock_name)
            late = proxy.hold(change.script)
            call = Call(lambda: change.make(client, lock_name))
            struck = late.wait_hit().connection
            assert isinstance(call.error(), redlatch.UnreachableError)
            struck.cut_client()
            marks: List[bytes] = []
            wait_until(lambda: bool(marks.extend(limited.admin.scan_iter(match="redlatch_op:*")) or marks))
            assert re.fullmatch(rb"\d+:undone", limited.admin.get(marks[0]))
            late.release()
            late.wait_outcome()
            assert value(limited, lock_name) == change.before
