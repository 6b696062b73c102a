# SPDX-License-Identifier: Apache-2.0
"""The server of the conformance traces: one for all, brought back to its first state before each trace."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Iterator

import pytest

HERE = Path(__file__).resolve().parent
# The runner, the drivers in Python, and the environment that is shared with the end-to-end tests.
sys.path[:0] = [str(HERE), str(HERE / "drivers"), str(HERE.parent / "e2e")]

from env import RedisServer

# What traces change of a server's configuration, besides its data.
DEFAULTS = {"maxmemory": "0", "min-replicas-to-write": "0", "requirepass": ""}


@pytest.fixture(scope="session")
def shared_server() -> Iterator[RedisServer]:
    """The server, in whatever state the last trace left it."""
    with RedisServer() as started:
        yield started


@pytest.fixture
def server(shared_server: RedisServer) -> Iterator[RedisServer]:
    """The server as it is when it starts: a master without keys, scripts, users and limits."""
    admin: Any = shared_server.admin
    admin.execute_command("REPLICAOF", "NO", "ONE")
    for name, value in DEFAULTS.items():
        admin.config_set(name, value)
    for user in set(admin.acl_users()) - {"default", b"default"}:
        admin.acl_deluser(user)
    shared_server.make_pristine()
    yield shared_server
    shared_server.close_clients()
