# SPDX-License-Identifier: Apache-2.0
"""The checkers are checked: each is content with a good history, and finds what is planted into it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest
from checkers import order, violations
from counts import missing
from history import History, Operation, Stroke, read_history
from plan import CALM, NEMESES, crew, faults, worker_plan

MS = 1_000_000
LEASE = 2000 * MS


def turn(number: int, *, kind: str = "fenced", name: str = "n", process: str = "c-1.0", **changes: Any) -> Operation:
    """One that asks at 100 ms times its number, holds from 10 to 60 ms later, and is told that its lease is long."""
    start = number * 100 * MS
    made = Operation(
        f"{process}.{number}", process, process.partition("-")[0], kind, name, start, got=start + 10 * MS,
        give=start + 60 * MS, gave=start + 62 * MS, outcome="ok", facts={"token": number + 1},
        looks=[(start + 10 * MS, start + 10 * MS + LEASE)],
    )
    for field, value in changes.items():
        setattr(made, field, value)
    return made


def good() -> History:
    """Twenty turns one after the other, by two processes."""
    history = History([turn(number, process=f"c-{1 + number % 2}.0") for number in range(20)])
    history.ended = {"c-1.0": True, "c-2.0": True}
    return history


def test_a_good_history_is_none_to_complain_of() -> None:
    assert violations(good()) == []


def late_release(history: History) -> None:
    """A release that comes a lease later."""
    history.operations[7].give = (history.operations[7].give or 0) + LEASE
    history.operations[7].gave = (history.operations[7].gave or 0) + LEASE


def no_release(history: History) -> None:
    """A release that never was, by a process that was killed."""
    history.operations[7].give = history.operations[7].gave = None
    history.operations[7].process = "c-3.0"
    history.strokes.append(Stroke("kill", 7 * 100 * MS + 30 * MS, 7 * 100 * MS + 40 * MS, "c-3.0"))


def released_too_early_by_another(history: History) -> None:
    """Somebody gets it in the middle of a hold."""
    history.operations[8].asked = history.operations[7].asked
    history.operations[8].looks = [((history.operations[7].give or 0) - MS, history.operations[8].looks[0][1])]


def a_token_again(history: History) -> None:
    """Two grants with one token."""
    history.operations[8].facts = {"token": history.operations[7].facts["token"]}


def tokens_swapped(history: History) -> None:
    """An older token after a newer one."""
    one, other = history.operations[7], history.operations[8]
    one.facts, other.facts = other.facts, one.facts


def no_token(history: History) -> None:
    """A grant without a token."""
    history.operations[7].facts = {}


def a_wait_without_end(history: History) -> None:
    """An acquire that never returned."""
    waits = turn(30, got=None, give=None, gave=None, looks=[])
    history.operations.append(waits)


def a_release_without_end(history: History) -> None:
    """A release that never returned."""
    history.operations[-1].gave = None


def a_process_that_hangs(history: History) -> None:
    """A process that did not come to its end."""
    history.ended["c-2.0"] = False


def a_wait_too_long(history: History) -> None:
    """A wait of 100 ms that takes a minute."""
    history.operations.append(
        turn(30, name="m", wait=100, got=None, refused=90_000 * MS, why="timeout", give=None, gave=None, looks=[])
    )


def lost_while_safe(history: History) -> None:
    """A release that is told the hold is lost, well before its lease is over."""
    history.operations[7].outcome = "lost"


def gone_while_safe(history: History) -> None:
    """A look that finds the hold lost, well before its lease is over."""
    history.operations[7].lost = (history.operations[7].got or 0) + 20 * MS


def make_fair(history: History) -> None:
    """All of it by a fair lock: 7, 8 and 9 asked in this order while 6 held it, and an observer saw them queue."""
    for each in history.operations:
        each.kind, each.facts = "fair", {"owner": each.id}
    waiting = history.operations[7:10]
    for number, each in enumerate(waiting):
        each.asked = (650 + 10 * number) * MS
    for moment in range(600 * MS, 1000 * MS, 5 * MS):
        owners = [each.id for each in waiting if each.asked < moment < (each.got or 0)]
        line = {"t": moment, "do": "queue", "id": "", "name": "n", "until": moment + 1, "owners": owners}
        history.others.append(line)


def passed_over(history: History) -> None:
    """A fair lock granted to 9 before 8."""
    one, other = history.operations[8], history.operations[9]
    for field in ("got", "give", "gave", "looks"):
        ones, others = getattr(one, field), getattr(other, field)
        setattr(one, field, others)
        setattr(other, field, ones)
    make_fair(history)


def make_permits(history: History) -> None:
    """All of it by a permit semaphore, 2 of whose 4 permits each turn takes, two turns at a time."""
    for each in history.operations:
        each.kind, each.n, each.facts = "permit-semaphore", 2, {"ids": [f"{each.id} 0", f"{each.id} 1"]}
        each.give = (each.give or 0) + 100 * MS
        each.gave = each.give + MS


def one_permit_too_many(history: History) -> None:
    """Three permits taken where two are left."""
    make_permits(history)
    history.operations[7].n = 3
    history.operations[7].facts = {"ids": ["a", "b", "c"]}


def a_permit_twice(history: History) -> None:
    """Two permits with one id."""
    make_permits(history)
    history.operations[7].facts = {"ids": history.operations[3].facts["ids"]}


def a_permit_without_an_id(history: History) -> None:
    """One id for two permits."""
    make_permits(history)
    history.operations[7].facts = {"ids": ["a"]}


def make_latch(history: History) -> None:
    """All of it waits for latches that are set to 1 at the beginning, and counted down before the next begins."""
    for each in history.operations:
        each.kind, each.facts, each.give, each.gave, each.outcome = "latch", {}, None, None, ""
        each.looks = [(each.got or 0, each.got or 0)]
        history.others += [
            {"t": each.asked - MS, "do": "set", "id": "", "name": "n", "n": 1},
            {"t": each.asked + 5 * MS, "do": "counting", "id": "", "name": "n"},
        ]


def through_too_early(history: History) -> None:
    """A count-down that comes after a waiter was let through."""
    make_latch(history)
    history.others[7]["t"] += 10 * MS


PLANTS: List[Callable[[History], None]] = [
    late_release, no_release, released_too_early_by_another, a_token_again, tokens_swapped, no_token,
    a_wait_without_end, a_release_without_end, a_process_that_hangs, a_wait_too_long, lost_while_safe, gone_while_safe,
    passed_over, one_permit_too_many, a_permit_twice, a_permit_without_an_id, through_too_early,
]
FINDERS: Dict[str, str] = {
    "late_release": "exclusion", "no_release": "exclusion", "released_too_early_by_another": "exclusion",
    "a_token_again": "tokens", "tokens_swapped": "tokens", "no_token": "tokens",
    "one_permit_too_many": "permits", "a_permit_twice": "permit_ids", "a_permit_without_an_id": "permit_ids",
    "through_too_early": "latch", "passed_over": "order", "lost_while_safe": "honesty", "gone_while_safe": "honesty",
}


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_what_is_planted_is_found(plant: Callable[[History], None]) -> None:
    history = good()
    plant(history)
    found = violations(history)
    assert found, plant.__doc__
    assert any(each.startswith(FINDERS.get(plant.__name__, "waits")) for each in found), found


@pytest.mark.parametrize("make", [make_fair, make_permits, make_latch], ids=lambda make: make.__name__)
def test_a_good_history_of_another_kind_is_none_either(make: Callable[[History], None]) -> None:
    history = good()
    make(history)
    assert violations(history) == []


def test_readers_go_together() -> None:
    history = good()
    late_release(history)
    for each in history.operations:
        each.kind = "read"
    assert violations(history) == []
    history.operations[8].kind = "write"
    assert violations(history)[0].startswith("exclusion")


def test_who_is_stopped_may_lose_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "SILENCE", 200 * MS)
    history = good()
    passed_over(history)
    assert violations(history)
    history.strokes.append(Stroke("stop beyond the lease", 0, 5_000 * MS, history.operations[8].process))
    assert violations(history) == []


def test_nobody_keeps_a_place_while_the_server_hears_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Strokes of all processes are not counted twice where the observer met them, too."""
    monkeypatch.setattr(order, "SILENCE", 200 * MS)
    history = good()
    passed_over(history)
    since = history.operations[8].asked
    history.strokes.append(Stroke("stop the server", since, since + 150 * MS))
    history.strokes.append(Stroke("silence", since - 20 * MS, since + 170 * MS))
    assert violations(history)
    history.strokes.append(Stroke("silence", since + 170 * MS, since + 210 * MS))
    assert violations(history) == []


def test_what_is_no_violation() -> None:
    """A hold whose lease was over before the next one came; a long wait of a process that was stopped."""
    history = good()
    no_release(history)
    history.operations[7].looks = [(history.operations[7].got or 0, (history.operations[7].got or 0) + 80 * MS)]
    a_wait_too_long(history)
    history.operations[-1].process = "c-2.0"
    history.strokes.append(Stroke("stop", 3_000 * MS, 89_000 * MS, "c-2.0"))
    assert violations(history) == []


# ------------------------------------------------------------------------------------------------ the rest --


def test_a_history_is_read_as_it_was_written(tmp_path: Path) -> None:
    lines = [
        {"t": 1, "do": "born", "id": "", "process": "c-1.0", "language": "c"},
        {"t": 2, "do": "ask", "id": "x", "kind": "mutex", "name": "n", "wait": 0, "lease": -1, "n": 1},
        {"t": 3, "do": "got", "id": "x", "until": 900, "token": 0},
        {"t": 4, "do": "still", "id": "x", "until": 1000},
        {"t": 5, "do": "give", "id": "x"},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "c-1.0.jsonl").write_text(text + '{"t":6,"do":"ga', encoding="utf-8")
    stroke = {"what": "kill", "since": 5, "until": 7, "process": "c-1.0"}
    (tmp_path / "nemesis.jsonl").write_text(json.dumps(stroke) + "\n", encoding="utf-8")
    silence = {"t": 8, "do": "silence", "id": "", "name": "", "until": 9}
    (tmp_path / "observer.jsonl").write_text(json.dumps(silence) + "\n", encoding="utf-8")
    history = read_history(tmp_path)
    (only,) = history.operations
    assert (only.asked, only.got, only.give, only.gave) == (2, 3, 5, None)
    assert list(only.beliefs()) == [(3, 5), (4, 5)]
    assert history.strokes == [Stroke("kill", 5, 7, "c-1.0"), Stroke("silence", 8, 9)]
    assert history.killed() == {"c-1.0": 5} and history.ended == {"c-1.0": False}


def test_too_little_is_reported() -> None:
    history = good()
    history.strokes = [Stroke(what, 1, 2) for what in NEMESES]
    assert missing(history, 60, ["fenced"], ["c"]) == ["counts: 20 grants of fenced in c; expected 25 or more"]
    assert missing(history, 40, ["fenced"], ["c"]) == []
    history.strokes.pop()
    assert missing(history, 60, ["fenced"], []) == [f"counts: '{NEMESES[-1]}' struck 0 times; expected 1 or more"]


def test_the_plan_comes_from_the_seed() -> None:
    processes = crew(["c", "lua"], ["mutex"])
    assert faults(1, 60, processes) == faults(1, 60, processes) != faults(2, 60, processes)
    assert worker_plan(1, processes[0], ["mutex"]) == worker_plan(1, processes[0], ["mutex"])
    assert worker_plan(1, processes[0], ["mutex"]) != worker_plan(1, processes[1], ["mutex"])


def test_a_minute_has_every_fault_in_it_and_a_calm_end() -> None:
    for seed in range(50):
        planned = faults(seed, 60, crew(["c", "lua"], ["mutex"]))
        assert {fault.what for fault in planned} == set(NEMESES)
        assert all(fault.at + fault.seconds <= 60 - CALM for fault in planned)
