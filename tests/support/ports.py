# SPDX-License-Identifier: Apache-2.0
"""TCP ports for test servers.

Ports come from below the system's ephemeral range: a port of that range can be taken by any outgoing connection while
its server is down, and a client that keeps connecting to a closed one on loopback can even end up connected to itself.

A port belongs to one process until that ends. Otherwise, while a server is down, a server of another test could take
its port and would answer in its place.
"""

from __future__ import annotations

import fcntl
import os
import random
import socket
import tempfile
from typing import Optional, Set, Tuple

_LOWEST = 10_000
_RANGE_FILE = "/proc/sys/net/ipv4/ip_local_port_range"

# Test plug-ins seed the shared generator alike in every worker process, which would make workers race for one port.
_random = random.SystemRandom()


# A byte of this file is locked for each port, by the process that has it.
_claims_path = os.path.join(tempfile.gettempdir(), f"redlatch-test-ports-{os.getuid()}")
_claims: Optional[int] = None
_claimed: Set[int] = set()


def claim(port: int) -> bool:
    """Claim a port for this process. Return False if it was claimed before, by this process or another."""
    global _claims
    if _claims is None:
        _claims = os.open(_claims_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    if port in _claimed:
        return False
    try:
        fcntl.lockf(_claims, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    _claimed.add(port)
    return True


def _ephemeral_start() -> int:
    try:
        with open(_RANGE_FILE, encoding="ascii") as range_file:
            return int(range_file.read().split()[0])
    except OSError:
        return 32_768


def listening_socket(port: int, backlog: int = 512) -> socket.socket:
    """A TCP socket that listens on loopback at `port`; OSError if the port is taken."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(backlog)
    except OSError:
        listener.close()
        raise
    return listener


def free_port() -> int:
    """A port that nobody listens on now, and that no other test gets. A program that is no test may still bind it
    first; then the caller has to ask again.
    """
    highest = max(_ephemeral_start(), _LOWEST + 1_000)
    for _ in range(200):
        port = _random.randrange(_LOWEST, highest)
        if not claim(port):
            continue
        try:
            listening_socket(port).close()
        except OSError:
            continue
        return port
    raise RuntimeError(f"found no free TCP port between {_LOWEST} and {highest} on 127.0.0.1 in 200 tries")


def listen_anywhere(backlog: int = 512) -> Tuple[socket.socket, int]:
    """A listening socket on a free port, and the port."""
    while True:
        port = free_port()
        try:
            return listening_socket(port, backlog), port
        except OSError:
            continue
