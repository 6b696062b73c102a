# SPDX-License-Identifier: Apache-2.0
"""A lost reply never makes a hold count wrong, and a call that was given up leaves nothing behind.

The lease is 30 s in all tests, so no mistake is hidden by the end of a lease.
"""

from __future__ import annotations

import time
from typing import Callable, Iterator, Tuple

import pytest
import redlatch
from stalls import Stalls
from steps import STEPS, Call, Step
from support import Connection, Fault, Monitor, Proxy, RedisServer, wait_until
from support.wire import counts, remaining_ms
from waiters import SOON

# UNDONE_WITHIN: the time from when the server can be used again until a given-up call is undone. BACK_OFF: how long a
# client may take to connect to it again.
UNDONE_WITHIN = 0.5
BACK_OFF = 0.1

Outage = Callable[[Proxy, Step], Tuple[Fault, Callable[[], None], float]]
every_step = pytest.mark.parametrize("kind", STEPS.values(), ids=STEPS.keys())


@pytest.fixture
def stalls() -> Iterator[Stalls]:
    """Measures the machine's stalls during the test."""
    with Stalls() as measuring:
        yield measuring


@pytest.fixture
def patient(proxy: Proxy) -> Iterator[redlatch.Client]:
    """A client behind the proxy. Its timeouts are longer than the faults of the tests."""
    with redlatch.connect(proxy.url, command_timeout=20, tuning=redlatch.Tuning(dead_peer_timeout=60)) as opened:
        yield opened


@pytest.fixture
def impatient(proxy: Proxy) -> Iterator[redlatch.Client]:
    """A client behind the proxy whose calls give up soon."""
    with redlatch.connect(proxy.url, command_timeout=TIMEOUT, tuning=redlatch.Tuning(dead_peer_timeout=60)) as opened:
        yield opened


# --------------------------------------------------------------------------------------------- calls that succeed --


@every_step
@pytest.mark.parametrize("cut", ["cut_before", "cut_inside", "cut_after"])
def test_a_cut_connection_is_made_again(
    server: RedisServer,
    proxy: Proxy,
    monitor: Monitor,
    patient: redlatch.Client,
    lock_name: str,
    kind: Callable[..., Step],
    cut: str,
) -> None:
    step = kind(server, monitor, patient, lock_name)
    mark = monitor.mark()
    fault: Fault = getattr(proxy, cut)(step.script)
    step.make()
    assert fault.hit
    step.check_made()
    step.finish()
    published = [entry for entry in monitor.since(mark) if entry.lua and entry.command == "PUBLISH"]
    assert len(published) == 1, "the release was told once"
    assert patient.stats()["compensations"] == 0


@every_step
def test_a_swallowed_reply_is_made_up_for(
    server: RedisServer,
    proxy: Proxy,
    monitor: Monitor,
    patient: redlatch.Client,
    lock_name: str,
    kind: Callable[..., Step],
) -> None:
    step = kind(server, monitor, patient, lock_name)
    fault = proxy.swallow_reply(step.script)
    call = Call(step.make)
    connection = fault.wait_hit().connection
    time.sleep(0.05)
    assert not call.done
    connection.cut()
    call.result()
    step.check_made()
    step.finish()


def test_a_silent_connection_is_given_up(
    server: RedisServer, proxy: Proxy, monitor: Monitor, lock_name: str
) -> None:
    """The client ends a silent connection itself, after its dead-peer timeout."""
    with redlatch.connect(proxy.url, tuning=redlatch.Tuning(dead_peer_timeout=0.5)) as client:
        step = STEPS["acquire"](server, monitor, client, lock_name)
        fault = proxy.swallow_reply(step.script)
        started_at = time.monotonic()
        step.make()
        assert 0.5 <= time.monotonic() - started_at < 0.5 + SOON
        assert fault.hit
        step.check_made()
        assert remaining_ms(server, lock_name) <= 30_000
        held = step.lock.held()
        assert held is not None and held.remaining() < 30.0 - 0.01 * 30.0
        step.finish()


# ------------------------------------------------------------------------------------------------ calls that fail --

TIMEOUT = 0.3


def command_held(proxy: Proxy, step: Step) -> Tuple[Fault, Callable[[], None], float]:
    """The command is delayed. Later the same connection works again."""
    fault = proxy.hold(step.script)
    return fault, fault.release, UNDONE_WITHIN


def reply_held(proxy: Proxy, step: Step) -> Tuple[Fault, Callable[[], None], float]:
    """The reply is delayed. Later the same connection works again."""
    fault = proxy.hold_reply(step.script)
    return fault, fault.release, UNDONE_WITHIN


def reply_swallowed(proxy: Proxy, step: Step) -> Tuple[Fault, Callable[[], None], float]:
    """The reply and all later replies are lost, until the connection is cut and a new one is made."""
    fault = proxy.swallow_reply(step.script)

    def repair() -> None:
        fault.hits[0].connection.cut()

    return fault, repair, UNDONE_WITHIN


def cut_before(proxy: Proxy, step: Step) -> Tuple[Fault, Callable[[], None], float]:
    """The connection is cut before the command reaches the server, and no new one can be made for a while."""
    refusing = proxy.refuse()
    return proxy.cut_before(step.script), refusing.release, BACK_OFF + UNDONE_WITHIN


def cut_after(proxy: Proxy, step: Step) -> Tuple[Fault, Callable[[], None], float]:
    """The connection is cut after the command was executed, and no new one can be made for a while."""
    refusing = proxy.refuse()
    return proxy.cut_after(step.script), refusing.release, BACK_OFF + UNDONE_WITHIN


def late_copy(proxy: Proxy, step: Step) -> Tuple[Fault, Callable[[], None], float]:
    """The client's connection is cut while the command is delayed. It arrives when the client can connect again."""
    refusing = proxy.refuse()
    fault = proxy.hold(step.script)

    def repair() -> None:
        refusing.release()
        fault.release()

    return fault, repair, BACK_OFF + UNDONE_WITHIN


OUTAGES = [command_held, reply_held, reply_swallowed, cut_before, cut_after, late_copy]


@every_step
@pytest.mark.parametrize("outage", OUTAGES)
def test_what_was_given_up_is_undone(
    server: RedisServer,
    proxy: Proxy,
    monitor: Monitor,
    impatient: redlatch.Client,
    stalls: Stalls,
    lock_name: str,
    kind: Callable[..., Step],
    outage: Outage,
) -> None:
    step = kind(server, monitor, impatient, lock_name, timeout=TIMEOUT)
    fault, repair, bound = outage(proxy, step)
    call = Call(step.make)
    struck: Connection = fault.wait_hit().connection
    if outage is late_copy:
        struck.cut_client()
    error = call.error()
    assert isinstance(error, redlatch.UnreachableError)
    assert (error.status_name, error.ambiguous, error.retryable) == ("no_reply", True, True)
    step.wait_given_up()
    repair()
    repaired_at = time.monotonic()
    if outage is not cut_before:
        fault.wait_outcome()
    wait_until(lambda: counts(server, lock_name) == step.given_up, bound + 1.0)
    assert time.monotonic() - repaired_at < stalls.widen(bound)
    step.check_given_up()
    proxy.resume()
    assert step.client.lock(lock_name + ":next").acquire(timeout=5) is True
    step.check_given_up()
    step.finish()
