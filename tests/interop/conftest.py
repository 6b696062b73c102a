# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the interop tests: a private server, a Java process that all tests share, and clients of one test.

REDLATCH_TEST_TOPOLOGY chooses the servers behind the fixture `server` (support/topologies.py). `server` is then the
master, and its URL leads both sides to it. REDLATCH_TEST_REDISSON chooses the version of Redisson
(support/redisson.py). A test that kills or stops its Java process starts one of its own (make_redisson).
"""

from __future__ import annotations

import re
import statistics
import uuid
from contextlib import ExitStack, closing
from typing import Any, Callable, Iterator, List, Tuple

import pytest
import redlatch
from kinds import KINDS
from parties import OurParty, TheirParty
from support import Monitor, RedisServer, topologies
from support.redisson import OLDER, Redisson, RedissonClient
from support.topologies import Topology

# The largest allowed median, in seconds from a release to the other side's grant, and how many wake-ups a median needs.
WOKEN_WITHIN = 0.2
ENOUGH_WAKES = 10
# How long a busy machine may keep a server from answering before the sentinels change the master.
CALM_MS = 10_000

# Tests without Redisson run in one configuration only. Their peers can use single servers only.
collect_ignore = [] if topologies.NAME == "single" and not OLDER else ["test_plain.py", "test_plain_peers.py"]
if topologies.NAME not in topologies.CHANGING:
    collect_ignore.append("test_failover.py")
if not topologies.NAME.startswith("cluster"):
    collect_ignore.append("test_slot_moves.py")


def pytest_configure(config: pytest.Config) -> None:
    """Registers the markers."""
    config.addinivalue_line("markers", "older(played): with the older Redisson only, or only with the present one")
    config.addinivalue_line("markers", "kinds_with(**values): only rows of the table of kinds with these values")


def is_for_this_redisson(item: pytest.Item) -> bool:
    """Returns whether a test is about the Redisson of this run. The older Redisson has no non-reentrant locks."""
    marker = item.get_closest_marker("older")
    if marker:
        return bool(marker.args[0]) == OLDER
    return not OLDER or not ("non-reentrant" in item.name or "non_reentrant" in item.nodeid)


def pytest_collection_modifyitems(config: pytest.Config, items: List[pytest.Item]) -> None:
    """Deselects the tests for the other Redisson."""
    others = [item for item in items if not is_for_this_redisson(item)]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs a test that takes `kind_name` with every row of the table, or with the rows that its marker selects."""
    if "kind_name" in metafunc.fixturenames:
        marker = metafunc.definition.get_closest_marker("kinds_with")
        wanted = marker.kwargs.items() if marker else ()
        rows = [name for name, kind in KINDS.items() if all(getattr(kind, key) == value for key, value in wanted)]
        metafunc.parametrize("kind_name", rows)


def figures(reporter: pytest.TerminalReporter) -> List[Tuple[str, float]]:
    """Returns the figures that tests have noted."""
    return [figure for report in reporter.getreports("passed") for figure in report.user_properties]


def middle_wake(reporter: pytest.TerminalReporter) -> float:
    """Returns the median of all wake-ups in seconds. Returns 0.0 if there are so few that one slow moment of the
    machine would decide."""
    times = [seconds for what, seconds in figures(reporter) if "wakes" in what or "from their release" in what]
    return statistics.median(times) if len(times) >= ENOUGH_WAKES else 0.0


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fails the run if wake-ups take too long. A single test can only show that no waiter waited for its recheck after
    5 s."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter and middle_wake(reporter) > WOKEN_WITHIN:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints how long wake-ups took."""
    for what, seconds in figures(terminalreporter):
        terminalreporter.write_line(f"{what:<50} {seconds * 1000:6.1f} ms")
    middle = middle_wake(terminalreporter)
    if middle > WOKEN_WITHIN:
        terminalreporter.write_line(f"FAILED: half of the wake-ups took more than {middle:.3f} s, not {WOKEN_WITHIN}")


@pytest.fixture
def note_seconds(record_property: Callable[[str, object], None]) -> Callable[[str, float], None]:
    """Notes a figure, which is printed at the end of the run."""
    return record_property


@pytest.fixture(scope="session")
def shared_topology(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Topology]:
    """The servers, in the state that the last test left."""
    with topologies.make(topologies.NAME, tmp_path_factory.mktemp("servers"), CALM_MS) as started:
        yield started


@pytest.fixture
def server(shared_topology: Topology) -> Iterator[RedisServer]:
    """The server, or the master, running and empty."""
    master = shared_topology.master
    master.make_pristine()
    yield master
    master.close_clients()


@pytest.fixture
def make_server() -> Iterator[Callable[..., RedisServer]]:
    """Starts servers for one test."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(RedisServer(**options))


@pytest.fixture
def monitor(server: RedisServer) -> Iterator[Monitor]:
    """Records the commands that `server` executes."""
    with Monitor(server) as started:
        yield started


@pytest.fixture(scope="session")
def java() -> Iterator[Redisson]:
    """The Java process that all tests share."""
    with Redisson(topologies.SEVERAL) as started:
        yield started


@pytest.fixture
def make_redisson() -> Iterator[Callable[[], Redisson]]:
    """Starts Java processes for one test."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(Redisson(topologies.SEVERAL))


@pytest.fixture
def theirs(java: Redisson, server: RedisServer) -> Iterator[RedissonClient]:
    """A Redisson client of `server`."""
    client = java.connect(server.url)
    yield client
    client.close()


@pytest.fixture
def make_ours(server: RedisServer) -> Iterator[Callable[..., redlatch.Client]]:
    """Opens redlatch clients of `server`, with options of redlatch.connect."""
    with ExitStack() as stack:

        def make(**options: Any) -> redlatch.Client:
            return stack.enter_context(redlatch.connect(server.url, **options))

        yield make


@pytest.fixture
def ours(make_ours: Callable[..., redlatch.Client]) -> redlatch.Client:
    """A redlatch client of `server`."""
    return make_ours()


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A name that no other test uses."""
    test = re.sub(r"[^A-Za-z0-9_]+", "-", request.node.name)[:60]
    return f"interop:{test}:{uuid.uuid4().hex[:12]}"


@pytest.fixture
def our_party(kind_name: str, ours: redlatch.Client, name: str) -> Iterator[Callable[..., OurParty]]:
    """Makes redlatch threads with a lock of the test's kind: our_party(name, client)."""
    with ExitStack() as stack:

        def make(lock_name: str = name, client: redlatch.Client = ours) -> OurParty:
            return stack.enter_context(closing(OurParty(KINDS[kind_name].ours(client, lock_name))))

        yield make


@pytest.fixture
def their_party(
    kind_name: str, java: Redisson, theirs: RedissonClient, name: str
) -> Callable[..., TheirParty]:
    """Makes Java threads with a lock of the test's kind: their_party(name, client)."""

    def make(lock_name: str = name, client: RedissonClient = theirs) -> TheirParty:
        return TheirParty(java, KINDS[kind_name].theirs(client, lock_name))

    return make
