# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the end-to-end tests: servers, the faulty network, witnesses, and a check for what tests leave behind.

Tests run in any order and in several processes at once, so each test module has its own server and each test its own
lock name. With --leak-check or REDLATCH_E2E_LEAK_CHECK=1 a test fails if it leaves behind file descriptors, threads,
redlatch connections, or lock keys that never expire.
"""

from __future__ import annotations

import gc
import os
import re
import uuid
from contextlib import ExitStack
from functools import partial
from typing import Any, Callable, Dict, Generator, Iterator, List, Optional

import pytest
from support import Monitor, Proxy, RedisServer, RedissonShapedPeer, wait_until
from support.server import server_command

MakeServer = Callable[..., RedisServer]
MakePeer = Callable[..., RedissonShapedPeer]
OpenClients = Callable[..., List[Any]]

_LOG_TAIL = 4_000
_LEAK_TIMEOUT = 1.0
_MAY_LEAVE_KEYS = "leaves_keys_without_ttl"
_LONGEST_ID = 100


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --leak-check."""
    parser.addoption(
        "--leak-check", action="store_true", help="fail tests that leave resources or immortal keys behind"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", f"{_MAY_LEAVE_KEYS}: the leak check does not look at keys after this test")


def pytest_make_parametrize_id(val: object, argname: str) -> Optional[str]:
    """Keep a long argument out of the test's name.

    pytest puts the name into the environment, and no program starts with a variable of 128 KiB.
    """
    if isinstance(val, (str, bytes)) and len(val) > _LONGEST_ID:
        return f"{argname} of {len(val)}"
    return None


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Add the servers' logs to the report of a test that fails."""
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        for server in RedisServer.live:
            report.sections.append((f"log of the server on port {server.port}", server.log_text()[-_LOG_TAIL:]))


# ------------------------------------------------------------------------------------------------------- fixtures --


@pytest.fixture(scope="session")
def server_binary() -> List[str]:
    """The server program. Without one the tests fail; if they were skipped, the run would pass."""
    try:
        return server_command()
    except RuntimeError as error:
        reason = str(error)
    pytest.fail(reason, pytrace=False)


@pytest.fixture(scope="module")
def module_server(server_binary: List[str]) -> Iterator[RedisServer]:
    """The module's server, in the state in which the last test left it. Tests use `server` instead."""
    with RedisServer() as started:
        started.make_pristine()
        yield started


@pytest.fixture
def server(module_server: RedisServer) -> Iterator[RedisServer]:
    """The module's server, running, without keys and without scripts. Its client() connections live for one test."""
    module_server.make_pristine()
    yield module_server
    module_server.close_clients()


@pytest.fixture
def make_server(server_binary: List[str]) -> Iterator[MakeServer]:
    """Starts servers of the test's own: make_server(requirepass="x")."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(RedisServer(**options))


@pytest.fixture
def fresh_server(make_server: MakeServer) -> RedisServer:
    """A server of the test's own, for tests that stop it or change its configuration."""
    return make_server()


@pytest.fixture(scope="module")
def module_servers(server_binary: List[str]) -> Iterator[List[RedisServer]]:
    """Three servers of the module, in the state in which the last test left them. Tests use `servers` instead."""
    with ExitStack() as stack:
        yield [stack.enter_context(RedisServer()) for _ in range(3)]


@pytest.fixture
def servers(module_servers: List[RedisServer]) -> Iterator[List[RedisServer]]:
    """The module's three servers, running and empty."""
    for each in module_servers:
        each.make_pristine()
    yield module_servers
    for each in module_servers:
        if each.running:
            each.sigcont()
        each.close_clients()


@pytest.fixture
def client(server: RedisServer, open_clients: OpenClients) -> Any:
    """A client connected to the server without a proxy. Modules that need other options define their own."""
    return open_clients([server])[0]


@pytest.fixture
def other(server: RedisServer, open_clients: OpenClients) -> Any:
    """A second client. Its holds have other owners than those of `client`, also on the same thread."""
    return open_clients([server])[0]


@pytest.fixture
def open_clients() -> Iterator[OpenClients]:
    """Opens a client for each of several servers or URLs."""
    import redlatch  # here, because tests of other languages do without the package

    with ExitStack() as stack:
        yield lambda places, **options: [
            stack.enter_context(redlatch.connect(getattr(place, "url", place), **options)) for place in places
        ]


@pytest.fixture
def proxy(server: RedisServer) -> Iterator[Proxy]:
    """A proxy in front of `server`."""
    with Proxy(server.address) as started:
        yield started


@pytest.fixture
def monitor(server: RedisServer) -> Iterator[Monitor]:
    """A record of the commands that `server` executes."""
    with Monitor(server) as started:
        yield started


@pytest.fixture
def make_peer(server: RedisServer) -> Iterator[MakePeer]:
    """Makes Redisson-shaped peers of `server`."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(RedissonShapedPeer(server, **options))


@pytest.fixture
def peer(make_peer: MakePeer) -> RedissonShapedPeer:
    """A Redisson-shaped peer of `server`."""
    return make_peer()


@pytest.fixture
def lock_name(request: pytest.FixtureRequest) -> str:
    """A name that no other test uses."""
    test = re.sub(r"[^A-Za-z0-9_]+", "-", request.node.name)[:60]
    return f"e2e:{test}:{uuid.uuid4().hex[:12]}"


# ----------------------------------------------------------------------------------------------------- leak check --


@pytest.fixture(autouse=True)
def leak_check(request: pytest.FixtureRequest) -> Iterator[None]:
    """Compare this process and the servers before and after the test, if the check is switched on."""
    wanted = request.config.getoption("--leak-check", default=False)
    if not wanted and os.environ.get("REDLATCH_E2E_LEAK_CHECK") != "1":
        yield
        return
    gc.collect()
    descriptors, threads = _descriptors(), _threads()
    yield
    gc.collect()
    _wait_for_no_more_than(descriptors, _descriptors, "descriptors")
    _wait_for_no_more_than(threads, _threads, "threads")
    for server in [live for live in RedisServer.live if live.running]:
        server.sigcont()
        _wait_for_no_more_than({}, partial(_redlatch_connections, server), "redlatch connections")
        if request.node.get_closest_marker(_MAY_LEAVE_KEYS) is None:
            left = _keys_without_ttl(server)
            assert not left, f"keys were left behind that never expire: {left}"


def _wait_for_no_more_than(before: Dict[str, str], now: Callable[[], Dict[str, str]], what: str) -> None:
    def surplus() -> str:
        new = {key: name for key, name in now().items() if key not in before}
        return f"the {what} of the test to go; new are {new}"

    wait_until(lambda: len(now()) <= len(before), _LEAK_TIMEOUT, surplus)


def _descriptors() -> Dict[str, str]:
    """Returns the process's descriptors: number and target."""
    found = {}
    for number in os.listdir("/proc/self/fd"):
        try:
            found[number] = os.readlink(f"/proc/self/fd/{number}")
        except FileNotFoundError:
            continue
    return found


def _threads() -> Dict[str, str]:
    """Returns the process's threads, including those of C libraries: id and name."""
    found = {}
    for number in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{number}/comm", encoding="utf-8") as name:
                found[number] = name.read().strip()
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def _redlatch_connections(server: RedisServer) -> Dict[str, str]:
    """Returns the connections of redlatch clients to the server: address and name."""
    return {entry["addr"]: entry["name"] for entry in server.client_list("redlatch:")}


def _keys_without_ttl(server: RedisServer) -> List[bytes]:
    """Returns the hashes and redlatch's helper keys that have no TTL. Each is a defect, whatever the test did."""
    client: Any = server.admin
    hashes = list(client.scan_iter(_type="hash"))
    helpers = list(client.scan_iter(match="redlatch_*"))
    return [key for key in {*hashes, *helpers} if client.pttl(key) == -1]
