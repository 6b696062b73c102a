# SPDX-License-Identifier: Apache-2.0
"""The witness of who is in the section of a lock. It does not use locks: only one socket can have the section's
address.

The kernel frees the address when the process ends, in whatever way.
"""

from __future__ import annotations

import socket
from typing import Dict, List, Tuple

from .backends import Turn
from .journal import Journal


class Witness:
    """The addresses of sections, by kind and by name."""

    def __init__(self) -> None:
        self._addresses: Dict[Tuple[str, str], Tuple[str, int]] = {}

    def add(self, kind: str, name: str, host: str, port: str) -> None:
        """Adds an address, in the words of a plan."""
        self._addresses[kind, name] = host, int(port)

    def enter(self, turn: Turn, journal: Journal) -> List[socket.socket]:
        """Enters the sections of a turn's locks, and writes to the history in which of them somebody else is. Returns
        what leave() needs."""
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
        """Leaves the sections."""
        for own in bound:
            own.close()
