"""A pytest plugin for tests of programs that use redlatch. The conftest.py of the tests' folder switches it on:

    pytest_plugins = ["redlatch.testing"]

Fixtures:

    redlatch_server   a private Redis or Valkey server, for the whole run; `redlatch_server.url` is its URL
    redlatch_client   a redlatch.Client of that server, for one test, which fails if it leaves a hold or a waiter behind

Functions:

    lose(held)        makes a hold or a permit lost on the server, and returns when its client has noticed

pytest is needed here, and nowhere else in the package.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import Iterator

import pytest

import redlatch
from redlatch.testing.leftovers import Leftovers
from redlatch.testing.losing import lose
from redlatch.testing.server import Server

__all__ = ["Server", "lose", "redlatch_client", "redlatch_server"]


@pytest.fixture(scope="session")
def redlatch_server() -> Iterator[Server]:
    """A server for this test run alone, on a free port of its own."""
    try:
        server = Server()
    except FileNotFoundError as error:
        # A failure, not a skip, because nobody would notice skipped tests.
        pytest.fail(str(error), pytrace=False)
    with server:
        yield server


@pytest.fixture(scope="session")
def _redlatch_witness(redlatch_server: Server) -> Iterator[redlatch.Client]:
    """The client that finds what is held. It works even if a test has closed its own client."""
    with redlatch.connect(redlatch_server.url) as witness:
        yield witness


@pytest.fixture
def redlatch_client(redlatch_server: Server, _redlatch_witness: redlatch.Client) -> Iterator[redlatch.Client]:
    """A client for one test. It is an error if a hold that any client acquired during the test is not released at its
    end, or if a thread still waits for a lock of this client."""
    leftovers = Leftovers(_redlatch_witness)
    with redlatch.connect(redlatch_server.url) as client:
        yield client
        found = [*leftovers.waiters(client), *leftovers.holds()]
    if found:
        pytest.fail("\n  ".join(["the test left behind:", *found]), pytrace=False)
