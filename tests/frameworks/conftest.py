# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of recipes: a server, a client, and the programs of a test with locks and without."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Generator, Iterator

import pytest
import redlatch
from programs import Programs
from support import RedisServer

_LOG_TAIL = 4_000


@pytest.fixture(scope="module")
def module_server() -> Iterator[RedisServer]:
    """The module's server."""
    with RedisServer() as started:
        yield started


@pytest.fixture
def server(module_server: RedisServer) -> RedisServer:
    """The module's server, empty."""
    module_server.make_pristine()
    return module_server


@pytest.fixture
def client(server: RedisServer) -> Iterator[redlatch.Client]:
    """The test's own client, which stands for other machines and for operators."""
    with redlatch.connect(server.url) as opened:
        yield opened


@pytest.fixture
def programs(server: RedisServer, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Programs]:
    """Starts programs."""
    made = Programs(tmp_path, server.url, getattr(request, "param", True))
    yield made
    made.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests marked `excludes` are run without locks, too, where they must notice that."""
    if metafunc.definition.get_closest_marker("excludes"):
        metafunc.parametrize("programs", [True, False], indirect=True, ids=["locked", "unlocked"])


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", "excludes: the test is played with locks, and without: that must be noticed")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Show what the programs printed when a test fails."""
    outcome = yield
    report = outcome.get_result()
    programs = getattr(item, "funcargs", {}).get("programs")
    if report.failed and programs:
        for log in sorted(programs.folder.glob("*.log")):
            report.sections.append((log.name, log.read_text(encoding="utf-8", errors="replace")[-_LOG_TAIL:]))
        report.sections.append(("events", "\n".join(f"{name}: {programs.events(name)}" for name in "ab")))
