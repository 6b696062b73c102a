# SPDX-License-Identifier: Apache-2.0
"""Tests of the check itself: it catches a driver that gives any wrong answer, and a faulty trace."""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest
from liars import HABITS, LIES, Idler, Liar
from runner import (
    DRIVERS,
    TRACES,
    Driver,
    DriverProcess,
    Mismatch,
    Processes,
    Servers,
    Trace,
    complaints,
    load,
    play,
)

BROKEN = [sys.executable, str(Path(__file__).resolve().parent / "drivers" / "broken_driver.py")]
(PYTHON,) = [driver for driver in DRIVERS if driver.name == "python"]
HELD = {"name": "orders", "holders": {"a/first": 1}, "ttl_ms": [20_000, 30_000]}
# A trace in which every lie below shows.
STEPS: List[Dict[str, Any]] = [
    {"call": "open", "client": "a"},
    {"call": "lock", "lock": "x", "client": "a", "name": "orders"},
    {"call": "acquire", "lock": "x", "wait_ms": 0},
    {"keys": [HELD]},
    {
        "call": "hold",
        "lock": "x",
        "expect": {"held": True, "lost": False, "count": 1, "remaining_ms": [20_000, 30_000], "owner": "a/first"},
    },
    {"call": "query", "lock": "x", "expect": {"locked": True, "ttl_ms": [20_000, 30_000], "owner": "a/first"}},
    {
        "call": "lock",
        "lock": "y",
        "client": "a",
        "name": "",
        "expect": {"status": "invalid", "words": ["name", "65535"]},
    },
    {"call": "release", "lock": "x"},
    {"keys": []},
    {"messages": [{"channel": "redisson_lock__channel:{orders}", "message": "0"}]},
]


@pytest.fixture
def python(processes: Processes) -> DriverProcess:
    """A driver that answers truthfully."""
    return processes.get(PYTHON)


def play_with(change: Callable[[Any], None], servers: Servers, process: DriverProcess) -> None:
    """Plays STEPS after a change."""
    steps = copy.deepcopy(STEPS)
    change(steps)
    play(Trace("of-this-test", "one hold", steps), process, servers, timeout=0.2)


@pytest.mark.parametrize("driver", DRIVERS, ids=lambda driver: driver.name)
def test_the_truth_passes(driver: Driver, processes: Processes, servers: Servers) -> None:
    play_with(lambda steps: None, servers, processes.get(driver))


@pytest.mark.parametrize("habit", sorted(HABITS))
def test_what_is_odd_but_allowed_passes(habit: str, python: DriverProcess, servers: Servers) -> None:
    play(Trace("of-this-test", "one hold", STEPS), Liar(python, HABITS[habit]), servers)


# The same for lies about counted objects.
COUNTED_STEPS: List[Dict[str, Any]] = [
    {"call": "open", "client": "a"},
    {"call": "permit_semaphore", "object": "s", "client": "a", "name": "gate"},
    {"call": "try_set", "object": "s", "number": 2, "expect": True},
    {"call": "acquire_permits", "object": "s", "permits": 2, "wait_ms": 0, "as": ["p", "q"]},
    {
        "keys": [
            {"name": "gate", "value": "0", "ttl_ms": -1},
            {"name": "{gate}:timeout", "permits": ["p", "q"], "ttl_ms": -1},
        ]
    },
    {"call": "available", "object": "s", "expect": 0},
    {"call": "release_permit", "object": "s", "permit": "p"},
    {"call": "release_permit", "object": "s", "permit": "q"},
    {"call": "delete", "object": "s", "expect": True},
]
COUNTING = [driver for driver in DRIVERS if "permit_semaphore" not in driver.cannot]
COUNTED_LIES = {"wrong_number": "step 6 .*got 1", "same_permit_twice": "step 4 .*2 ids"}

# The same for lies in reports.
HELD_BY_US = {"detected_kind": "mutex", "type": "hash", "ttl_ms": [20_000, 30_000], "holders": 1}
INSPECTED_STEPS: List[Dict[str, Any]] = [
    *STEPS[:3],
    {
        "call": "inspect",
        "client": "a",
        "name": "orders",
        "expect": {**HELD_BY_US, "parties": [{"role": "holder", "owner": "a/first", "count": 1, "connected": True}]},
    },
    {
        "call": "scan",
        "client": "a",
        "name": "*",
        "expect": {"orders": {**HELD_BY_US, "parties": [{"role": "holder", "owner": "a/first", "count": 1}]}},
    },
    {"call": "release", "lock": "x"},
]
INSPECTED_LIES = {
    "wrong_form": "step 4 .*detected_kind is 'fair'",
    "nobody_holds": "step 4 .*the parties are",
    "another_process": "step 4 .*the parties are",
    "another_machine": "step 4 .*the parties are",
    "a_name_too_few": "step 5 .*expected reports of",
    "a_name_too_many": "step 5 .*expected reports of",
}

# The same for lies about the holder that an error names.
REFUSED_STEPS: List[Dict[str, Any]] = [
    *STEPS[:4],
    {"call": "open", "client": "b"},
    {"call": "lock", "lock": "y", "client": "b", "name": "orders"},
    {
        "call": "acquire",
        "lock": "y",
        "wait_ms": 1000,
        "enter": True,
        "expect": {"status": "timeout", "holder": {"owner": "a/first", "connected": True}},
    },
    {"call": "release", "lock": "x"},
]
REFUSED_LIES = ["another_holder", "holder_elsewhere", "no_holder", "no_process"]

# The step at which each lie must be noticed.
CAUGHT = {
    "says_ok": "step 4 ",
    "acquires_twice": "step 4 ",
    "forgets_to_release": "step 9 ",
    "wrong_status": "step 8 ",
    "another_failure": "step 7 ",
    "no_message": "step 7 ",
    "empty_message": "step 7 ",
    "message_without_the_value": "step 7 ",
    "wrong_owner": "step 6 .*owner is ''",
    "wrong_flag": "step 6 ",
    "wrong_time": "step 5 .*remaining_ms is 31000",
    "wrong_count": "step 5 .*count is 2",
    "a_member_too_few": "step 5 ",
    "a_member_too_many": "step 8 ",
    "wrong_uuid": "step 1 ",
}


# How a program may break the rules for drivers, and the complaint.
BROKEN_WAYS = {
    "ends": "step 4 .*gave no answer",
    "an_error": "step 4 .*unheard of",
    "no_object": "step 4 ",
    "no_json": "step 4 .*no JSON",
    "talks": "step 5 .*expected the members",
    "warns": "printed what is no answer.*\n.*a warning from the library",
    "goes_on": "printed what is no answer.*status",
    "talks_at_the_end": "printed what is no answer.*goodbye",
    "ends_badly": "did not end well.*status 4",
}
BROKEN_STEPS: List[Dict[str, Any]] = [*STEPS[:3], {"call": "release", "lock": "x"}, STEPS[5]]


@pytest.mark.parametrize("lie", sorted(COUNTED_LIES))
@pytest.mark.parametrize("driver", COUNTING, ids=lambda driver: driver.name)
def test_a_lie_about_what_is_counted_is_caught(
    driver: Driver, lie: str, processes: Processes, servers: Servers
) -> None:
    liar = Liar(processes.get(driver), LIES[lie])
    with pytest.raises(Mismatch, match=COUNTED_LIES[lie]):
        play(Trace("of-this-test", "permits", COUNTED_STEPS), liar, servers)
    servers.end_trace()
    play(Trace("of-this-test", "permits", COUNTED_STEPS), processes.get(driver), servers)


@pytest.mark.parametrize("lie", sorted(INSPECTED_LIES))
@pytest.mark.parametrize("driver", DRIVERS, ids=lambda driver: driver.name)
def test_a_lie_about_what_the_server_knows_is_caught(
    driver: Driver, lie: str, processes: Processes, servers: Servers
) -> None:
    with pytest.raises(Mismatch, match=INSPECTED_LIES[lie]):
        play(Trace("of-this-test", "looks", INSPECTED_STEPS), Liar(processes.get(driver), LIES[lie]), servers)
    servers.end_trace()
    play(Trace("of-this-test", "looks", INSPECTED_STEPS), processes.get(driver), servers)


@pytest.mark.parametrize("lie", REFUSED_LIES)
def test_a_lie_about_the_holder_is_caught(lie: str, python: DriverProcess, servers: Servers) -> None:
    with pytest.raises(Mismatch, match="step 7 .*names the holder"):
        play(Trace("of-this-test", "a wait in vain", REFUSED_STEPS), Liar(python, LIES[lie]), servers)
    servers.end_trace()
    play(Trace("of-this-test", "a wait in vain", REFUSED_STEPS), python, servers)


@pytest.mark.parametrize("lie", sorted(LIES.keys() - COUNTED_LIES.keys() - INSPECTED_LIES.keys() - {*REFUSED_LIES}))
@pytest.mark.parametrize("driver", DRIVERS, ids=lambda driver: driver.name)
def test_a_lie_is_caught(driver: Driver, lie: str, processes: Processes, servers: Servers) -> None:
    # A driver that cannot re-enter answers so, instead of acquiring twice.
    place = "step 3 .*a second level" if lie == "acquires_twice" and "reentry" in driver.cannot else CAUGHT[lie]
    with pytest.raises(Mismatch, match=place):
        play(Trace("of-this-test", "one hold", STEPS), Liar(processes.get(driver), LIES[lie]), servers)


@pytest.mark.parametrize("how", sorted(BROKEN_WAYS))
def test_what_is_no_driver_is_caught(how: str, servers: Servers) -> None:
    running = Processes()
    driver = Driver("broken", [*BROKEN, how])
    steps = BROKEN_STEPS if how == "talks" else BROKEN_STEPS[:4]
    with pytest.raises(Mismatch, match=BROKEN_WAYS[how]):
        play(Trace("of-this-test", "no key is looked at", steps), running.get(driver), servers)
        running.close()


def test_a_driver_that_had_to_be_given_up_is_started_again(processes: Processes, servers: Servers) -> None:
    with pytest.raises(Mismatch, match="step 3 "):
        play_with(set_at(2, expect="timeout"), servers, processes.get(PYTHON))
    servers.end_trace()
    play_with(lambda steps: None, servers, processes.get(PYTHON))


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_no_trace_is_content_with_a_driver_that_does_nothing(path: Path, servers: Servers) -> None:
    trace = load(path)
    with pytest.raises(Mismatch):
        play(trace, Idler(PYTHON), servers, timeout=0.2)


def set_at(number: int, **members: Any) -> Callable[[Any], None]:
    return lambda steps: steps[number].update(members)


@pytest.mark.parametrize(
    ("place", "change"),
    [
        ("step 3 ", set_at(2, expect="timeout")),
        ("step 3 .*took", set_at(2, took_ms=[20_000, 30_000])),
        ("step 4 ", set_at(3, keys=[])),
        ("step 4 ", set_at(3, keys=[HELD, {**HELD, "name": "other"}])),
        ("step 4 ", set_at(3, keys=[{**HELD, "name": "order"}])),
        ("step 4 ", set_at(3, keys=[{**HELD, "ttl_ms": -1}])),
        ("step 4 ", set_at(3, keys=[{**HELD, "ttl_ms": [31_000, 40_000]}])),
        ("step 4 ", set_at(3, keys=[{**HELD, "holders": {"a/first": 2}}])),
        ("step 4 ", set_at(3, keys=[{**HELD, "holders": {"a/first": 1, "a/second": 1}}])),
        ("step 4 ", set_at(3, keys=[{**HELD, "holders": {"java/1": 1}}])),
        ("step 6 ", set_at(5, expect={"locked": True, "ttl_ms": [20_000, 30_000], "owner": "a/second"})),
        ("step 7 .*banana", set_at(6, expect={"status": "invalid", "words": ["banana"]})),
        ("step 10 ", set_at(9, messages=[])),
        ("step 10 ", set_at(9, messages=[{"channel": "redisson_lock__channel:orders", "message": "0"}])),
        ("step 8 .*keys", lambda steps: steps.pop(7)),
        ("step 5 ", lambda steps: steps.insert(0, {"server": ["SET", "stray", "1"]})),
        ("step 11 ", lambda steps: steps.append({"server": ["NO SUCH COMMAND"]})),
        ("step 11 ", lambda steps: steps.append({"call": "release", "lock": "nobody_knows"})),
        ("step 11 ", lambda steps: steps.append({"call": "extend", "lock": "x", "lease_ms": "soon"})),
        ("step 11 .*subscribers", lambda steps: steps.append({"subscribers": 1, "channel": "nowhere"})),
    ],
)
def test_what_is_not_so_is_noticed(
    place: str, change: Callable[[Any], None], python: DriverProcess, servers: Servers
) -> None:
    with pytest.raises(Mismatch, match=place):
        play_with(change, servers, python)


def test_a_hold_that_outlives_its_client_is_noticed(python: DriverProcess, servers: Servers) -> None:
    def keep(steps: Any) -> None:
        steps[0]["options"] = {"release_on_close": False}
        del steps[7:]

    with pytest.raises(Mismatch, match="still held"):
        play_with(keep, servers, python)


@pytest.mark.parametrize(
    "step",
    [
        {},
        {"call": "acquired", "lock": "x"},
        {"call": "acquire", "lock": "x"},
        {"call": "acquire", "lock": "x", "wait_ms": 0, "leas_ms": 1},
        {"call": "acquire", "lock": "x", "wait_ms": 0, "start": True},
        {"call": "acquire", "lock": "x", "wait_ms": 0, "by": "ann", "start": True, "expect": "ok"},
        {"call": "release", "lock": "x", "expect": "not_hold"},
        {"call": "release", "lock": "x", "expect": {"status": "not_owned"}},
        {"call": "query", "lock": "x", "expect": "ok"},
        {"call": "query", "lock": "x", "expect": {"locked": True}},
        {"call": "open", "client": "a", "options": {"name_prefx": "a"}},
        {"keys": [{"name": "orders", "ttl_ms": 1}]},
        {"keys": [{"name": {"hex": "abc"}, "ttl_ms": 1, "value": ""}]},
        {"keys": [], "server": ["PING"]},
        {"foreign": "lock", "peer": "java"},
        {"call": "acquire_permits", "object": "s", "permits": 1, "wait_ms": 0, "by": "ann", "start": True, "as": ["p"]},
        {"call": "release_permit", "object": "s"},
        {"call": "available", "object": "s", "expect": "ok"},
        {"call": "multi_lock", "lock": "m", "members": ["x"], "allow_few": True},
        {"call": "redlock", "lock": "m"},
        {"call": "inspect", "client": "a", "name": "orders", "expect": {"orders": HELD_BY_US}},
        {"call": "scan", "client": "a", "name": "*", "expect": HELD_BY_US},
        {"call": "wait_free", "client": "a", "name": "orders", "wait_ms": 0, "start": True},
        {"call": "try_set", "object": "s", "number": 1, "expect": 1},
    ],
    ids=json.dumps,
)
def test_the_schema_refuses(step: Any) -> None:
    good = {"summary": "what a trace needs", "steps": [*STEPS]}
    assert complaints(good) == []
    assert complaints({**good, "steps": [*STEPS, step]}) != []
