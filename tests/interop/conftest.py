# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the interop tests: a private server, a Java process that all tests share, and clients of one test.

REDLATCH_TEST_TOPOLOGY says what stands behind `server` (support/topologies.py): it is the master then, and its URL
leads both sides to it. REDLATCH_TEST_REDISSON says which Redisson is played (support/redisson.py). A test that kills
or stops its Java process starts one of its own (make_redisson).
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

# Seconds from a release to the other side's waiter, as the median of a run with as many of them as make one.
WOKEN_WITHIN = 0.2
ENOUGH_WAKES = 10
# What a busy machine may keep a server from answering, without the sentinels' changing the master below a test.
CALM_MS = 10_000

# What has nothing to do with Redisson is played once; its peers know single servers only.
collect_ignore = [] if topologies.NAME == "single" and not OLDER else ["test_plain.py", "test_plain_peers.py"]
if topologies.NAME not in topologies.CHANGING:
    collect_ignore.append("test_failover.py")
if not topologies.NAME.startswith("cluster"):
    collect_ignore.append("test_slot_moves.py")


def pytest_configure(config: pytest.Config) -> None:
    """Make the markers known."""
    config.addinivalue_line("markers", "older(played): with the older Redisson only, or only with the present one")
    config.addinivalue_line("markers", "kinds_with(**values): only rows of the table of kinds with these values")


def is_for_this_redisson(item: pytest.Item) -> bool:
    """Whether a test is about what the Redisson of this run does; an older one has no locks that are not reentrant."""
    marker = item.get_closest_marker("older")
    if marker:
        return bool(marker.args[0]) == OLDER
    return not OLDER or not ("non-reentrant" in item.name or "non_reentrant" in item.nodeid)


def pytest_collection_modifyitems(config: pytest.Config, items: List[pytest.Item]) -> None:
    """Leave out what another Redisson does."""
    others = [item for item in items if not is_for_this_redisson(item)]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes `kind_name` is played with every row of the table, or those that it is marked for."""
    if "kind_name" in metafunc.fixturenames:
        marker = metafunc.definition.get_closest_marker("kinds_with")
        wanted = marker.kwargs.items() if marker else ()
        rows = [name for name, kind in KINDS.items() if all(getattr(kind, key) == value for key, value in wanted)]
        metafunc.parametrize("kind_name", rows)


def figures(reporter: pytest.TerminalReporter) -> List[Tuple[str, float]]:
    """What tests have noted."""
    return [figure for report in reporter.getreports("passed") for figure in report.user_properties]


def middle_wake(reporter: pytest.TerminalReporter) -> float:
    """The median of all wake-ups in seconds; 0.0 of so few that one slow moment of the machine would show in it."""
    times = [seconds for what, seconds in figures(reporter) if "wakes" in what or "from their release" in what]
    return statistics.median(times) if len(times) >= ENOUGH_WAKES else 0.0


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail if wake-ups take too long. A single test knows only that no look was waited for, which comes after 5 s."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter and middle_wake(reporter) > WOKEN_WITHIN:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show how long wake-ups took."""
    for what, seconds in figures(terminalreporter):
        terminalreporter.write_line(f"{what:<50} {seconds * 1000:6.1f} ms")
    middle = middle_wake(terminalreporter)
    if middle > WOKEN_WITHIN:
        terminalreporter.write_line(f"FAILED: half of the wake-ups took more than {middle:.3f} s, not {WOKEN_WITHIN}")


@pytest.fixture
def note_seconds(record_property: Callable[[str, object], None]) -> Callable[[str, float], None]:
    """Notes a figure for the end of the run."""
    return record_property


@pytest.fixture(scope="session")
def shared_topology(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Topology]:
    """The servers, in whatever state the last test left them."""
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
    """Starts servers of the test's own."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(RedisServer(**options))


@pytest.fixture
def monitor(server: RedisServer) -> Iterator[Monitor]:
    """A record of what `server` executes."""
    with Monitor(server) as started:
        yield started


@pytest.fixture(scope="session")
def java() -> Iterator[Redisson]:
    """The Java process that all tests share."""
    with Redisson(topologies.SEVERAL) as started:
        yield started


@pytest.fixture
def make_redisson() -> Iterator[Callable[[], Redisson]]:
    """Starts Java processes of the test's own."""
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
    """Makes threads of ours with a lock of the test's kind: our_party(name, client)."""
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
