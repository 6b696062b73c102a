# SPDX-License-Identifier: Apache-2.0
"""Owner ids by name. A trace says `a/first` for a hold of client `a`. The owner id is learned where the name first
occurs. It must stay the same afterwards and differ from all others. `java/1` is thread 1 of the foreign peer `java`."""

from __future__ import annotations

import re
from typing import Callable, Dict, Optional

_NUMBER = re.compile(r":[1-9][0-9]*")
# redlatch's uuids have the version nibble 8, Redisson's 4.
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def is_ours(owner: str) -> bool:
    """Returns whether an owner id is of a redlatch client."""
    found = UUID.match(owner)
    return found is not None and _NUMBER.fullmatch(owner, found.end()) is not None


class Owners:
    """The names that one run of a trace has learned. `peer_owner` returns the owner id of a peer's thread, or None if
    there is no peer of that name."""

    def __init__(self, peer_owner: Callable[[str, int], Optional[str]]) -> None:
        self._peer_owner = peer_owner
        self._uuids: Dict[str, str] = {}
        self._known: Dict[str, str] = {}

    def add_client(self, client: str, uuid: str) -> None:
        """Notes the uuid of a client, or "" if its language does not provide the uuid."""
        self._uuids[client] = uuid

    def matches(self, name: str, owner: str) -> bool:
        """Returns whether the name stands for `owner`. Learns a new name. The empty name means no owner."""
        if not name or not owner:
            return name == owner
        client, _, label = name.partition("/")
        if client not in self._uuids:
            return label.isdigit() and self._peer_owner(client, int(label)) == owner
        if name in self._known:
            return self._known[name] == owner
        uuid = self._uuids[client]
        if not is_ours(owner) or (uuid and not owner.startswith(uuid + ":")) or owner in self._known.values():
            return False
        self._known[name] = owner
        return True

    def snapshot(self) -> Dict[str, str]:
        """Returns what is known now, for restore()."""
        return dict(self._known)

    def restore(self, known: Dict[str, str]) -> None:
        """Forgets what was learned from a comparison that failed."""
        self._known = dict(known)

    def explained(self) -> str:
        """Returns the known names with their owner ids, for an error."""
        return ", ".join(f"{name} is {owner}" for name, owner in sorted(self._known.items())) or "none is known yet"
