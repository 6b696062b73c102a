# SPDX-License-Identifier: Apache-2.0
"""The servers that a trace uses, each as others than redlatch see it."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Dict, List, Optional

from .servers import FIRST, Servers
from .traces import Trace
from .world import World


class Worlds:
    """Worlds by the words of their servers, all there before the first step."""

    def __init__(self, servers: Servers, trace: Trace, timeout: float) -> None:
        words = [FIRST, *sorted({step["at"] for step in trace.steps if "at" in step} - {FIRST})]
        with ExitStack() as stack:
            self._worlds: Dict[str, World] = {}
            for word in words:
                self._worlds[word] = World(servers.get(word), timeout)
                stack.callback(self._worlds[word].close)
            self._stack = stack.pop_all()

    def __getitem__(self, word: str) -> World:
        return self._worlds[word]

    def close(self) -> None:
        """Ends peers and connections."""
        self._stack.close()

    def our_holds(self) -> List[bytes]:
        """The locks on any of the servers that are held by a redlatch client."""
        return [name for world in self._worlds.values() for name in world.our_holds()]

    def peer_owner(self, peer: str, thread: int) -> Optional[str]:
        """The owner id of a peer's thread; a peer is of one server."""
        owners = [world.peer_owner(peer, thread) for world in self._worlds.values()]
        return next((owner for owner in owners if owner), None)
