# SPDX-License-Identifier: Apache-2.0
"""Forks during a TLS handshake: the child neither writes into the parent's session nor ends it."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any, Iterator, List

import pytest
import redlatch
from support import wait_until
from support.gate import Gate
from support.tls_server import Identity, TlsServer


@pytest.fixture(name="identity", scope="module")
def identity_fixture(tmp_path_factory: pytest.TempPathFactory) -> Identity:
    return Identity.make(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(name="gate")
def gate_fixture(server_binary: List[str], identity: Identity) -> Iterator[Gate]:
    """A gate in front of a server."""
    started = TlsServer(identity.own, identity.ca, tls_auth_clients="no")
    with started.server, Gate(started.tls_port) as gate:
        yield gate


def end_of(child: int) -> int:
    return os.waitpid(child, 0)[1]


@pytest.mark.parametrize("closes", [True, False])
def test_a_child_of_a_handshake(gate: Gate, identity: Identity, lock_name: str, closes: bool) -> None:
    """The server's reply to the parent's ClientHello is held back until the child has ended."""
    gate.replies.clear()
    granted: List[bool] = []
    options: Any = {"lazy": True, "connect_timeout": 30, "after_fork": "refuse"}
    with redlatch.connect(gate.url(), tls_ca_file=identity.ca, **options) as client:
        lock = client.lock(lock_name)
        caller = threading.Thread(target=lambda: granted.append(lock.acquire(timeout=30)))
        caller.start()
        wait_until(lambda: gate.received > 0, message="the hello")
        hello = gate.received
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            status = 1
            try:
                lock.acquire(timeout=0)
            except redlatch.ForkedError:
                status = 0
            if closes:
                client.close()
            os._exit(status)
        assert end_of(child) == 0
        assert (gate.connections, gate.received, gate.ended) == (1, hello, 0)
        gate.replies.set()
        caller.join()
        assert granted == [True]
        assert gate.connections == 1 and client.stats()["reconnects"] == 0


def test_a_child_has_a_session_of_its_own(gate: Gate, identity: Identity, lock_name: str) -> None:
    """A client that the child opens does its own handshake while the parent's is under way."""
    with redlatch.connect(gate.url(), tls_ca_file=identity.ca) as resumed:
        assert resumed.lock(lock_name).acquire(timeout=0)
        gate.replies.clear()
        granted: List[bool] = []
        with redlatch.connect(gate.url(), tls_ca_file=identity.ca, lazy=True, connect_timeout=30) as client:
            other = client.lock(lock_name + ":other")
            caller = threading.Thread(target=lambda: granted.append(other.acquire(timeout=30)))
            before = gate.received
            caller.start()
            wait_until(lambda: gate.received > before, message="the hello")
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                client.close()
                resumed.close()
                status = 1
                with redlatch.connect(gate.url(), tls_ca_file=identity.ca, connect_timeout=15) as own:
                    with own.lock(lock_name + ":child") as held:
                        status = int(held.lost)
                os._exit(status)
            wait_until(lambda: gate.connections == 3, message="the child's connection")
            gate.replies.set()
            assert end_of(child) == 0
            caller.join()
            assert granted == [True] and resumed.lock(lock_name).state().locked
            assert client.stats()["reconnects"] == resumed.stats()["reconnects"] == 0
