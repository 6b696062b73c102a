# SPDX-License-Identifier: Apache-2.0
"""A witness of who is in the section of a lock that knows nothing of locks: an address that only one socket can have.

The kernel frees it when its process dies, however that comes to pass.
"""

from __future__ import annotations

import socket
from typing import Dict, List, Tuple

from .backends import Turn
from .journal import Journal


class Witness:
    """The addresses of locks, by kind and by name."""

    def __init__(self) -> None:
        self._addresses: Dict[Tuple[str, str], Tuple[str, int]] = {}

    def add(self, kind: str, name: str, host: str, port: str) -> None:
        """One of them, in the words of a plan."""
        self._addresses[kind, name] = host, int(port)

    def enter(self, turn: Turn, journal: Journal) -> List[socket.socket]:
        """Comes into the sections of a turn's locks; tells of those in which somebody else is. What leave() needs."""
        bound: List[socket.socket] = []
        for name in turn.name.split("+"):
            if (turn.kind, name) in self._addresses:
                own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                bound.append(own)
                since = journal.now()
                try:
                    own.bind(self._addresses[turn.kind, name])
                except OSError:
                    journal.say("clash", turn.id, name=name, since=since)
        return bound

    @staticmethod
    def leave(bound: List[socket.socket]) -> None:
        """Leaves them."""
        for own in bound:
            own.close()
