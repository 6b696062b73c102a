# SPDX-License-Identifier: Apache-2.0
"""Every trace by every driver that knows its words; and the traces themselves against their schema."""

from __future__ import annotations

from pathlib import Path

import pytest
from runner import DRIVERS, TRACES, Driver, Processes, Servers, complaints_of, failure_of, load, play, uses

FEWEST = 40
GOOD = [path for path in TRACES if not complaints_of(path)]
RUNS = [
    pytest.param(path, driver, id=f"{driver.name}-{path.stem}")
    for path in GOOD
    for driver in DRIVERS
    if not uses(load(path)) & driver.cannot
]


@pytest.mark.parametrize(("path", "driver"), RUNS)
def test_trace(path: Path, driver: Driver, processes: Processes, servers: Servers) -> None:
    play(load(path), processes.get(driver), servers)


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_a_trace_is_what_the_schema_says(path: Path) -> None:
    assert complaints_of(path) == []


def test_there_are_traces_enough() -> None:
    traces = [load(path) for path in TRACES]
    assert len(traces) >= FEWEST
    failing = [trace for trace in traces if any(failure_of(step.get("expect")) for step in trace.steps)]
    assert len(failing) >= len(traces) // 3, "traces in which a call fails as it should"
    assert len({trace.summary for trace in traces}) == len(traces), "no two traces say the same of themselves"


@pytest.mark.parametrize("driver", DRIVERS, ids=lambda driver: driver.name)
def test_what_a_driver_leaves_out_is_in_the_vocabulary(driver: Driver) -> None:
    known = set().union(*(uses(load(path)) for path in TRACES))
    assert driver.cannot <= known, "words that no trace uses; are they spelled right?"
    assert sum(param.values[1] is driver for param in RUNS) >= FEWEST, "too much is left out"


@pytest.mark.parametrize("name", ["c", "python"])
def test_the_full_languages_leave_nothing_out(name: str) -> None:
    (driver,) = [driver for driver in DRIVERS if driver.name == name]
    assert not driver.cannot


def test_the_words_of_a_trace() -> None:
    two_levels = load(next(path for path in TRACES if path.stem == "reentry"))
    assert uses(two_levels) == {"open", "lock", "acquire", "try_acquire", "hold", "release", "reentry"}
    two_handles = load(next(path for path in TRACES if path.stem == "two-clients"))
    assert {"release:not_owned", "try_acquire:timeout", "query"} < uses(two_handles)
    (freed,) = [load(path) for path in TRACES if path.stem == "handle-freed-actor-holds"]
    assert "free.owner=actor" in uses(freed)
    (freed,) = [load(path) for path in TRACES if path.stem == "handle-owner-freed"]
    assert "free" in uses(freed) and "free.owner=actor" not in uses(freed)
    queues = {path.stem for path in TRACES if "queue" in uses(load(path))}
    assert "wait-next-actor" in queues and "wait-is-woken" not in queues
    assert not {"reentry", "by", "start", "lock.owner=handle", "name.hex"} & uses(two_handles)
