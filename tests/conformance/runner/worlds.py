# SPDX-License-Identifier: Apache-2.0
"""The servers that a trace uses, each as seen without redlatch."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Dict, List, Optional

from .servers import FIRST, Servers
from .traces import Trace
from .world import World


class Worlds:
    """Worlds by the names of their servers. All exist before the first step."""

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
        """Returns the locks on all servers that redlatch clients hold."""
        return [name for world in self._worlds.values() for name in world.our_holds()]

    def peer_owner(self, peer: str, thread: int) -> Optional[str]:
        """Returns the owner id of a peer's thread. A peer uses one server only."""
        owners = [world.peer_owner(peer, thread) for world in self._worlds.values()]
        return next((owner for owner in owners if owner), None)
