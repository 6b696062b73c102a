# SPDX-License-Identifier: Apache-2.0
"""Plays every trace with every driver that knows its words, and checks the traces against their schema."""

from __future__ import annotations

import re
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
    trace = load(path)
    if servers.first.version < trace.redis_since:
        pytest.skip(f"the server is older than {trace.redis_since}")
    if trace.single_server and servers.clusters:
        pytest.skip("a cluster has no databases, and its replicas are made by the cluster")
    play(trace, processes.get(driver), servers)


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


# The rows of the page of features by language, and the words of the traces that play each feature.
ROWS = {
    "reentrant mutex": ["lock", "reentry"],
    "non-reentrant mutex": ["lock.reentrant"],
    "fenced mutex": ["lock.kind=fenced"],
    "fair mutex": ["lock.kind=fair"],
    "read-write lock": ["lock.kind=read", "lock.kind=write"],
    "spin lock": ["lock.kind=spin"],
    "plain lock": ["lock.kind=plain"],
    "group lock": ["lock.kind=group"],
    "listing, inspecting and waiting": ["scan", "inspect", "wait_free"],
    "semaphore, permit semaphore": ["semaphore", "permit_semaphore"],
    "count-down latch": ["latch"],
    "multi lock, RedLock": ["multi_lock", "redlock"],
}
# The shell has other calls for these than a trace has; tests/e2e/test_92_*.py test them.
NOT_PLAYED_BY_THE_SHELL = {"reentry", "semaphore", "permit_semaphore"}


@pytest.mark.parametrize("row", ROWS)
def test_what_the_page_says_of_a_language_is_played_by_it(row: str) -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "reference" / "features.md"
    (line,) = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith(f"| {row}")]
    claims = dict(zip(["c", "python", "lua", "shell"], [cell.strip() for cell in line.split("|")[2:6]]))
    for driver in DRIVERS:
        (claim,) = [claim for language, claim in claims.items() if re.match(f"{language}(jit|[0-9.-]|$)", driver.name)]
        left_out = NOT_PLAYED_BY_THE_SHELL if driver.name == "shell" else set()
        played = set().union(*(uses(load(param.values[0])) for param in RUNS if param.values[1] is driver))
        assert claim != "yes" or set(ROWS[row]) - left_out <= played, f"{driver.name}: {ROWS[row]}"


def test_the_full_languages_leave_nothing_out() -> None:
    cannot = {driver.name: driver.cannot for driver in DRIVERS}
    assert not cannot["python"] and not cannot["c"]


def test_the_words_of_a_trace() -> None:
    two_levels = load(next(path for path in TRACES if path.stem == "reentry"))
    assert uses(two_levels) == {"open", "lock", "acquire", "try_acquire", "hold", "query", "release", "reentry"}
    two_handles = load(next(path for path in TRACES if path.stem == "two-clients"))
    assert {"release:not_owned", "try_acquire:timeout", "query"} < uses(two_handles)
    (freed,) = [load(path) for path in TRACES if path.stem == "handle-freed-actor-holds"]
    assert "free.owner=actor" in uses(freed)
    (freed,) = [load(path) for path in TRACES if path.stem == "handle-owner-freed"]
    assert "free" in uses(freed) and "free.owner=actor" not in uses(freed)
    queues = {path.stem for path in TRACES if "queue" in uses(load(path))}
    assert "wait-next-actor" in queues and "wait-is-woken" not in queues
    assert not {"reentry", "by", "start", "lock.owner=handle", "name.hex"} & uses(two_handles)
