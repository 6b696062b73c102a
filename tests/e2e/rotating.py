# SPDX-License-Identifier: Apache-2.0
"""A user of the server whose password changes, and the users of a client's connections."""

from __future__ import annotations

import itertools
from typing import Any, List, Optional, Set, Tuple

import redlatch
from support import RedisServer, wait_until


class User:
    """A user of the server whose password changes."""

    def __init__(self, server: RedisServer, name: str, **rules: Any) -> None:
        self.server, self.name = server, name
        self._numbers = itertools.count(1)
        self.password = ""
        server.set_user(name, "unused", "+@all", **rules)
        self.rotate()

    def rotate(self) -> None:
        """Replaces the user's password by a new one."""
        self.password = f"{self.name} no. {next(self._numbers)}"
        self.server.admin.execute_command("ACL", "SETUSER", self.name, "resetpass", f">{self.password}")

    def kill(self, refused: Optional[redlatch.Client] = None) -> None:
        """Ends all connections of the user. Then waits until the client `refused`, which can open no others, notices
        it. A command that it sent before would be in doubt, and the call would end only by its timeout."""
        self.server.admin.execute_command("CLIENT", "KILL", "USER", self.name)
        if refused is not None:
            wait_until(lambda: refused.stats()["connections"] == 0)

    def connect(self, url: str = "", **options: Any) -> redlatch.Client:
        """Opens a client as this user."""
        url = url or f"redis://127.0.0.1:{self.server.port}"
        return redlatch.connect(url, username=self.name, password=self.password, **options)

    def push(self, client: redlatch.Client) -> None:
        """Gives a client the current password."""
        client.set_credentials(self.name, self.password)


def of_client(server: RedisServer, client: redlatch.Client) -> List[Tuple[str, str, bool]]:
    """Returns the client's connections from CLIENT LIST: id, user, and whether subscribed."""
    entries = [entry for entry in server.client_list("redlatch:") if entry["name"].endswith(client.uuid)]
    return [(entry["id"], entry["user"], entry["sub"] != "0") for entry in entries]


def users(server: RedisServer, client: redlatch.Client) -> Set[str]:
    """Returns the users of the client's connections."""
    return {user for _, user, _ in of_client(server, client)}
