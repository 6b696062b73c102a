# SPDX-License-Identifier: Apache-2.0
"""TLS and the socket below it: IPv6, certificates for addresses, a server that does not read."""

from __future__ import annotations

import resource
import socket
import threading
import time
from typing import Iterator, List

import pytest
import redlatch
from support import wait_until
from support.certificates import Authority
from support.gate import Gate
from support.tls_server import TlsServer


@pytest.fixture(scope="module")
def ca(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """The authority of the tests."""
    return Authority(tmp_path_factory.mktemp("certificates"), "test CA")


def serve(ca: Authority, names: str) -> Iterator[TlsServer]:
    """Yields a server whose certificate is for these names."""
    started = TlsServer(ca.certificate("server", names=names), ca.file, tls_auth_clients="no")
    with started.server:
        yield started


@pytest.fixture(scope="module")
def tls(server_binary: List[str], ca: Authority) -> Iterator[TlsServer]:
    """A server whose certificate is for both loopback addresses."""
    yield from serve(ca, "IP:127.0.0.1,IP:::1")


@pytest.fixture
def other(server_binary: List[str], ca: Authority) -> Iterator[TlsServer]:
    """A server whose certificate is for another address, and for a name that looks like ::1."""
    yield from serve(ca, "IP:fd00::7,DNS:::1")


def has_ipv6() -> bool:
    """Returns whether this machine has ::1."""
    try:
        with socket.socket(socket.AF_INET6) as tried:
            tried.bind(("::1", 0))
        return True
    except OSError:
        return False


needs_ipv6 = pytest.mark.skipif(not has_ipv6(), reason="this machine has no ::1")


@needs_ipv6
def test_ipv6(tls: TlsServer, ca: Authority, lock_name: str) -> None:
    """The address in the certificate is compared as an address, however it is written."""
    with Gate(tls.tls_port, host="::1") as gate:
        for host in ("[::1]", "[0:0::0001]"):
            url = f"rediss://{host}:{gate.port}/0"
            with redlatch.connect(url, tls_ca_file=ca.file) as client, client.lock(lock_name) as held:
                assert client.url == url and not held.lost
            with redlatch.connect(f"{url}?tls_ca_file={ca.file}&tls_server_name=127.0.0.1") as client:
                assert not client.lock(lock_name).state().locked


@needs_ipv6
def test_an_ipv6_address_that_the_certificate_has_not(other: TlsServer, ca: Authority) -> None:
    """A DNS name does not count as an address."""
    with Gate(other.tls_port, host="::1") as gate:
        with pytest.raises(redlatch.AuthenticationError) as raised:
            redlatch.connect(gate.url(), tls_ca_file=ca.file)
    assert f"{gate.host}:{gate.port}: the certificate" in str(raised.value)
    assert "it is for IP:fd00:0:0:0:0:0:0:7, DNS:::1: expected one for IP:::1" in str(raised.value)


CALLERS = 120  # with 60 kB each: more than the 4 MB that Linux buffers for a socket
NAME_SIZE = 60_000
COMMAND_TIMEOUT = 3.0


def processor_time() -> float:
    """Returns the processor time of this process in seconds."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def idle_for_a_moment() -> bool:
    """Returns whether this process uses next to no processor time for 0.25 s."""
    before = processor_time()
    time.sleep(0.25)
    return processor_time() - before < 0.05


@pytest.mark.parametrize("scheme", ["rediss", "redis"])
def test_a_server_that_does_not_read(tls: TlsServer, ca: Authority, lock_name: str, scheme: str) -> None:
    """Megabytes wait for the socket: each call ends at its timeout, no processor is kept busy, and all works again when
    the server reads."""
    options = {"tls_ca_file": ca.file} if scheme == "rediss" else {}
    port = tls.tls_port if scheme == "rediss" else tls.server.port
    with Gate(port) as gate, redlatch.connect(gate.url(scheme), command_timeout=COMMAND_TIMEOUT, **options) as client:
        locks = [client.lock(f"{lock_name}:{i}:" + "x" * NAME_SIZE) for i in range(CALLERS)]
        lasted: List[float] = []
        with client.lock(lock_name) as held:

            def call(lock: redlatch.Lock) -> None:
                began = time.monotonic()
                with pytest.raises(redlatch.UnreachableError):
                    lock.acquire(timeout=0)
                lasted.append(time.monotonic() - began)

            gate.requests.clear()
            threads = [threading.Thread(target=call, args=(each,)) for each in locks]
            for each in threads:
                each.start()
            # Once all commands are encrypted and the socket is full, there is nothing to do.
            wait_until(lambda: idle_for_a_moment() or bool(lasted), 60.0)
            assert not lasted, "the processor was busy until the calls ended"
            for each in threads:
                each.join()
            gate.requests.set()
            wait_until(lambda: client.lock("nobody's").state().locked is False, 10.0, "a reply")
            assert len(lasted) == CALLERS and max(lasted) < 4 * COMMAND_TIMEOUT, lasted
            assert not held.lost
