# SPDX-License-Identifier: Apache-2.0
"""The servers and drivers of the conformance traces. All traces of a worker use the same ones, emptied in between.
With REDLATCH_TEST_TLS=1 clients reach the servers by TLS; with REDLATCH_TEST_CLUSTER=1 each server is a cluster."""

from __future__ import annotations

import os
from typing import Iterator

import pytest
from runner import Processes, Servers
from support.tls_server import Identity


@pytest.fixture(scope="session")
def shared_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """The servers, in the state that the last trace left. All programs find the CA in the environment."""
    tls = None
    if os.environ.get("REDLATCH_TEST_TLS") == "1":
        tls = Identity.make(tmp_path_factory.mktemp("certificates"))
        os.environ["SSL_CERT_FILE"] = str(tls.ca)
    servers = Servers(tls, clusters=os.environ.get("REDLATCH_TEST_CLUSTER") == "1")
    yield servers
    servers.close()


@pytest.fixture
def servers(shared_servers: Servers) -> Iterator[Servers]:
    """The servers, empty."""
    yield shared_servers
    shared_servers.end_trace()


@pytest.fixture(scope="session")
def processes() -> Iterator[Processes]:
    """The running drivers."""
    running = Processes()
    yield running
    running.close()
