# SPDX-License-Identifier: Apache-2.0
"""The servers and drivers of the conformance traces: a worker has the same for all of them, without what was before."""

from __future__ import annotations

from typing import Iterator

import pytest
from runner import Processes, Servers


@pytest.fixture(scope="session")
def shared_servers() -> Iterator[Servers]:
    """The servers, in whatever state the last trace left them."""
    servers = Servers()
    yield servers
    servers.close()


@pytest.fixture
def servers(shared_servers: Servers) -> Iterator[Servers]:
    """The servers, empty."""
    yield shared_servers
    shared_servers.end_trace()


@pytest.fixture(scope="session")
def processes() -> Iterator[Processes]:
    """The drivers that run."""
    running = Processes()
    yield running
    running.close()
