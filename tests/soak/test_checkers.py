# SPDX-License-Identifier: Apache-2.0
"""Tests of the checkers: each accepts a good history, and finds the violations that are planted into it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Callable

import pytest
from checkers import order, violations
from counts import missing, missing_failovers
from history import History, Stroke, read_history
from kinds import LANGUAGES
from plan import CALM, NEMESES, workers, faults, worker_plan
from planted import (
    MS, PLANTS, a_permit_gone, a_wait_too_long, an_error_while_waiting, good, late_release, make_fair, make_latch,
    make_permits, make_semaphore, no_release, not_renewed, passed_over, somebody_in_the_section, turn,
)

def test_a_good_history_is_none_to_complain_of() -> None:
    assert violations(good()) == []


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_what_is_planted_is_found(plant: Callable[[History], None]) -> None:
    history = good()
    plant(history)
    found = violations(history)
    assert found, plant.__doc__
    assert any(each.startswith(PLANTS[plant]) for each in found), found


def test_in_its_last_millisecond_nothing_is_left_of_a_hold() -> None:
    history = good()
    hold = history.operations[7]
    promised = max(until for _, until in hold.checks)
    hold.lost = promised - MS + 1
    assert not [each for each in violations(history) if each.startswith("honesty")]
    hold.lost = promised - MS
    assert [each for each in violations(history) if each.startswith("honesty")]


@pytest.mark.parametrize("make", [make_fair, make_permits, make_semaphore, make_latch], ids=lambda make: make.__name__)
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


def test_who_is_stopped_may_lose_a_position(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "SILENCE", 200 * MS)
    history = good()
    passed_over(history)
    assert violations(history)
    history.strokes.append(Stroke("stop beyond the lease", 0, 5_000 * MS, history.operations[8].process))
    assert violations(history) == []


def test_nobody_keeps_a_position_while_the_server_hears_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stroke of all processes and the observer's silence during it are not counted twice."""
    monkeypatch.setattr(order, "SILENCE", 200 * MS)
    history = good()
    passed_over(history)
    since = history.operations[8].requested
    history.strokes.append(Stroke("stop the server", since, since + 150 * MS))
    history.strokes.append(Stroke("silence", since - 20 * MS, since + 170 * MS))
    assert violations(history)
    history.strokes.append(Stroke("silence", since + 170 * MS, since + 210 * MS))
    assert violations(history) == []


def test_who_is_killed_may_have_taken_permits_with_it() -> None:
    history = good()
    a_permit_gone(history)
    assert violations(history)
    lost = turn(30, kind="semaphore", process="c-3.0", got=None, give=None, gave=None, checks=[], facts={})
    history.operations.append(lost)
    history.strokes.append(Stroke("kill", lost.requested + MS, lost.requested + 2 * MS, "c-3.0"))
    assert violations(history) == []


def test_a_command_of_redissons_may_come_twice() -> None:
    history = good()
    a_permit_gone(history)
    history.strokes.append(Stroke("cut", 0, 5_000 * MS))
    assert violations(history)
    history.operations[7].language = "java"
    assert violations(history) == []


def test_a_hold_that_the_nemesis_kept_from_being_renewed_is_lost() -> None:
    history = good()
    not_renewed(history)
    assert violations(history)
    history.strokes.append(Stroke("stall", 2_000 * MS, 4_500 * MS))
    assert violations(history) == []


def test_what_is_no_violation() -> None:
    """A hold after another whose lease had ended, but whose holder is still in the section; and a long wait of a
    process that was stopped."""
    history = good()
    no_release(history)
    history.operations[7].checks = [(history.operations[7].got or 0, (history.operations[7].got or 0) + 80 * MS)]
    somebody_in_the_section(history, 8)
    a_wait_too_long(history)
    history.operations[-1].process = "c-2.0"
    history.strokes.append(Stroke("stop", 3_000 * MS, 89_000 * MS, "c-2.0"))
    assert violations(history) == []


def test_who_waited_in_vain_may_have_an_error() -> None:
    """So may a caller that does not wait. And it is no error that too few replicas acknowledge."""
    for change in ({"refused": (30 * 100 + 1000) * MS}, {"wait": 0}, {"why": "not_replicated"}, {"language": "java"},
                   {"why": "lost", "lease": 400}):
        history = good()
        an_error_while_waiting(history)
        assert violations(history)
        for field, value in change.items():
            setattr(history.operations[-1], field, value)
        assert violations(history) == [], change


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
    assert (only.requested, only.got, only.give, only.gave) == (2, 3, 5, None)
    assert list(only.beliefs()) == [(3, 5), (4, 5)]
    assert history.strokes == [Stroke("kill", 5, 7, "c-1.0"), Stroke("silence", 8, 9)]
    assert history.killed() == {"c-1.0": 5} and history.ended == {"c-1.0": False}


def test_too_little_is_reported() -> None:
    history = good()
    history.strokes = [Stroke(what, 1, 2) for what in NEMESES]
    assert missing(history, 60, ["fenced"], ["c"], NEMESES) == []
    few = missing(history, 120, ["fenced"], ["c"], NEMESES)
    assert few[0] == "counts: 20 grants of fenced in c; expected 27 or more"
    history.strokes.pop()
    none = missing(history, 60, ["fenced"], [], NEMESES)
    assert none == [f"counts: '{NEMESES[-1]}' struck 0 times; expected 1 or more"]


def test_failovers_that_are_missing() -> None:
    history = good()
    history.strokes = [Stroke("one way", 1, 2)] * 3 + [Stroke("another", 1, 2)] * 2
    assert missing_failovers(history, 5, ("one way", "another")) == []
    few = missing_failovers(history, 6, ("one way", "another"))
    assert few == ["counts: 2 failovers by 'another'; expected 3 or more"]
    assert missing_failovers(history, 6, ()) == []


def test_the_plan_comes_from_the_seed() -> None:
    processes = workers(["c", "lua"], ["mutex"])
    assert faults(1, 60, processes) == faults(1, 60, processes) != faults(2, 60, processes)
    assert worker_plan(1, processes[0], ["mutex"]) == worker_plan(1, processes[0], ["mutex"])
    assert worker_plan(1, processes[0], ["mutex"]) != worker_plan(1, processes[1], ["mutex"])


def test_a_minute_has_every_fault_in_it_and_a_calm_end() -> None:
    for seed in range(50):
        planned = faults(seed, 60, workers(["c", "lua"], ["mutex"]))
        assert {fault.what for fault in planned} == set(NEMESES)
        assert all(fault.at + fault.seconds <= 60 - CALM for fault in planned)


def test_who_is_killed_is_not_killed_again_before_the_others() -> None:
    everybody = workers(list(LANGUAGES), ["mutex"])
    for seed in range(50):
        killed = [fault.process for fault in faults(seed, 120, everybody) if fault.what == "kill"]
        for begin in range(0, len(killed), len(everybody)):
            round_of_kills = killed[begin : begin + len(everybody)]
            assert len(set(round_of_kills)) == len(round_of_kills)
