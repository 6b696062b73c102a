# SPDX-License-Identifier: Apache-2.0
"""The scripts of the read-write lock when their replies are lost or late, or their commands arrive twice.

The lease is 30 s in all tests, so no mistake is hidden by the end of a lease.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List, Tuple

import pytest
import redlatch
from support import Fault, Proxy, RedisServer, wait_until
from support.read_write import base, levels, owner_of, sides, timeout_key, ttl_ms, wire
from support.wire import SCRIPTS, load_scripts
from waiters import Waiting

CUTS = ["cut_before", "cut_inside", "cut_after"]
Both = Tuple[redlatch.Lock, redlatch.Lock]


@pytest.fixture
def patient(server: RedisServer, proxy: Proxy) -> Iterator[redlatch.Client]:
    """A client behind the proxy. Its timeouts are longer than the faults of the tests."""
    load_scripts(server)
    with redlatch.connect(proxy.url, command_timeout=20, tuning=redlatch.Tuning(dead_peer_timeout=60)) as opened:
        yield opened


@pytest.fixture
def impatient(server: RedisServer, proxy: Proxy) -> Iterator[redlatch.Client]:
    """A client behind the proxy whose calls give up soon."""
    load_scripts(server)
    with redlatch.connect(proxy.url, command_timeout=0.3, tuning=redlatch.Tuning(dead_peer_timeout=60)) as opened:
        yield opened


class Case:
    """One script: what is held before the call, the call, and the hold counts of reader and writer after it."""

    def __init__(
        self,
        script: str,
        before: str,
        call: Callable[[redlatch.Lock, redlatch.Lock], object],
        after: Tuple[int, int],
        given_up: Tuple[int, int],
    ) -> None:
        self.script, self.before, self.call, self.after, self.given_up = script, before, call, after, given_up

    def prepare(self, both: Both) -> None:
        """Acquire what is held before the call: one acquire for each letter."""
        for letter in self.before:
            assert both["rw".index(letter)].acquire()


CASES: Dict[str, Case] = {
    "read": Case("acquire_read", "", lambda read, write: read.acquire(), (1, 0), (0, 0)),
    "read beside write": Case("acquire_read", "w", lambda read, write: read.acquire(), (1, 1), (0, 1)),
    "write": Case("acquire_write", "", lambda read, write: write.acquire(), (0, 1), (0, 0)),
    "read again": Case("reenter_read", "r", lambda read, write: read.acquire(), (2, 0), (1, 0)),
    "write again": Case("reenter", "w", lambda read, write: write.acquire(), (0, 2), (0, 1)),
    "release read": Case("release_read", "r", lambda read, write: read.release(), (0, 0), (0, 0)),
    "release one read": Case("release_read", "rr", lambda read, write: read.release(), (1, 0), (1, 0)),
    "release write": Case("release_write", "w", lambda read, write: write.release(), (0, 0), (0, 0)),
    "release one write": Case("release_write", "ww", lambda read, write: write.release(), (0, 1), (0, 1)),
    "downgrade": Case("release_write", "wr", lambda read, write: write.release(), (1, 0), (1, 0)),
    "extend read": Case("extend_read", "rr", lambda read, write: read.extend(20), (2, 0), (2, 0)),
    "extend write": Case("extend_write", "wr", lambda read, write: write.extend(20), (1, 1), (1, 1)),
}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def stands(server: RedisServer, name: str, both: Both) -> Tuple[int, int]:
    """Returns the hold counts of readers and writers on the server. Checks that the holds are the caller's, and that a
    reader has a timeout key for each acquire."""
    found = wire(server, name)
    if not found:
        assert server.admin.keys() == []
        return 0, 0
    assert found.pop("mode") == ("write" if any(field.endswith(":write") for field in found) else "read")
    writers = {field: int(count) for field, count in found.items() if field.endswith(":write")}
    readers = {field: int(count) for field, count in found.items() if field not in writers}
    assert len(readers) <= 1 and len(writers) <= 1
    for owner, count in readers.items():
        assert owner == owner_of(both[0]) and len(levels(server, name, owner)) == count
    assert list(writers) == ([f"{owner_of(both[1])}:write"] if writers else [])
    return sum(readers.values()), sum(writers.values())


def let_go(both: Both) -> None:
    """Release both locks completely."""
    for lock in both:
        for _ in range(lock.hold_count()):
            lock.release()


@every_case
@pytest.mark.parametrize("cut", CUTS)
def test_a_cut_connection_is_made_again(
    server: RedisServer, proxy: Proxy, patient: redlatch.Client, lock_name: str, case: Case, cut: str
) -> None:
    both = sides(patient, lock_name)
    case.prepare(both)
    fault: Fault = getattr(proxy, cut)(SCRIPTS[case.script])
    case.call(*both)
    assert fault.hit
    assert stands(server, lock_name, both) == case.after
    assert (both[0].hold_count(), both[1].hold_count()) == case.after
    let_go(both)
    assert server.admin.keys() == [] and patient.stats()["compensations"] == 0


@every_case
def test_a_command_that_runs_twice(
    server: RedisServer, proxy: Proxy, patient: redlatch.Client, lock_name: str, case: Case
) -> None:
    both = sides(patient, lock_name)
    case.prepare(both)
    fault = proxy.duplicate(SCRIPTS[case.script])
    case.call(*both)
    fault.release()
    fault.wait_outcome()
    assert stands(server, lock_name, both) == case.after
    let_go(both)
    assert server.admin.keys() == []


@every_case
def test_what_was_given_up_is_undone(
    server: RedisServer, proxy: Proxy, impatient: redlatch.Client, lock_name: str, case: Case
) -> None:
    both = sides(impatient, lock_name)
    case.prepare(both)
    fault = proxy.hold_reply(SCRIPTS[case.script])
    with pytest.raises(redlatch.UnreachableError) as caught:
        if "acquire" in case.script or "reenter" in case.script:
            both["write" in case.script or case.script == "reenter"].acquire(timeout=0.3)
        else:
            case.call(*both)
    assert caught.value.status_name == "no_reply"
    fault.release()
    held: List[Tuple[int, int]] = []

    def resolved() -> bool:
        held[:] = [(both[0].hold_count(), both[1].hold_count())]
        try:
            return held[0] == case.given_up and stands(server, lock_name, both) == case.given_up
        except AssertionError:  # until the undo, the given-up hold is on the server and is not the caller's
            return False

    wait_until(resolved, 5.0)
    let_go(both)
    wait_until(lambda: server.admin.keys() == [], 5.0)


@pytest.mark.parametrize("cut", CUTS)
def test_a_hand_over_whose_reply_is_lost(
    server: RedisServer, proxy: Proxy, patient: redlatch.Client, lock_name: str, cut: str
) -> None:
    _, write = sides(patient, lock_name)
    assert write.acquire()
    before = patient.stats()["round_trips"]
    waiter = Waiting(write, 30.0, keep=True)
    wait_until(lambda: patient.stats()["round_trips"] == before + 2)
    fault: Fault = getattr(proxy, cut)(SCRIPTS["hand_over_write"])
    write.release()
    assert waiter.result() is True and fault.hit
    assert list(wire(server, lock_name).values()) == ["write", "1"]
    waiter.leave()
    assert server.admin.keys() == []


@pytest.mark.parametrize("script", ["acquire_read", "acquire_many"])
def test_a_late_read_outlasts_neither_its_lease_nor_the_lock(
    server: RedisServer, lock_name: str, script: str
) -> None:
    """The hash was deleted, but a timeout key of the hold is left, which had been extended."""
    admin: Any = server.admin
    owner = "0aaaaaaa-0000-8000-8000-00000000000a:1"
    words = [owner, 5000, ""] if script == "acquire_read" else [5000, "r", owner, base(lock_name), ""]
    timeout = timeout_key(lock_name, owner, 1)
    admin.set(timeout, "1", px=60_000)
    assert admin.eval(SCRIPTS[script].text.decode(), 2, lock_name, timeout, *words) in (None, [0])
    whole = ttl_ms(server, lock_name)  # read before the timeout key's TTL, which ends no later
    assert levels(server, lock_name, owner)[0] <= whole <= 5000


@pytest.mark.parametrize("script", ["reenter_read", "acquire_many"])
def test_so_it_is_with_a_further_nested_acquire(server: RedisServer, lock_name: str, script: str) -> None:
    admin: Any = server.admin
    owner = "0aaaaaaa-0000-8000-8000-00000000000a:1"
    admin.hset(lock_name, mapping={"mode": "read", owner: "1"})
    admin.pexpire(lock_name, 4000)
    for level in (1, 2):
        admin.set(timeout_key(lock_name, owner, level), "1", px=4000 if level == 1 else 60_000)
    words = [owner, 2, 5000, base(lock_name)]
    if script == "acquire_many":
        words = [5000, "R", owner, 2, base(lock_name), ""]
    keys = [lock_name, timeout_key(lock_name, owner, 2)]
    assert admin.eval(SCRIPTS[script].text.decode(), 2, *keys, *words) in (1, [0])
    whole = ttl_ms(server, lock_name)  # read before the timeout keys' TTLs, which end no later
    left = levels(server, lock_name, owner)
    assert left[0] <= 4000 < left[1] <= whole <= 5000
