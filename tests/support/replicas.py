# SPDX-License-Identifier: Apache-2.0
"""A master with one replica, which can be frozen: it stays connected and acknowledges nothing."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Optional, Type

from .server import OptionValue, RedisServer
from .waiting import wait_until


class Pair:
    """The master and its replica, in step at first; closed as a whole. Options are the master's."""

    def __init__(self, **options: OptionValue) -> None:
        self.master = RedisServer(repl_diskless_sync_delay=0, **options)
        self.replica = RedisServer(replicaof=["127.0.0.1", str(self.master.port)])
        wait_until(self.in_step, 10.0)

    def in_step(self) -> bool:
        """Whether the replica has everything, and acknowledges what is written."""
        admin: Any = self.master.admin
        admin.set("in-step", 1)
        admin.delete("in-step")
        return int(admin.execute_command("WAIT", 1, 1000)) == 1

    def freeze(self) -> None:
        """Freeze the replica: from now on it acknowledges nothing."""
        self.replica.sigstop()

    def go_on(self) -> None:
        """End the freeze, and wait until the replica is in step."""
        self.replica.sigcont()
        wait_until(self.in_step, 10.0)

    def gone(self, *names: str) -> None:
        """Wait until the master has none of these keys."""
        wait_until(lambda: self.master.admin.exists(*names) == 0, 2.0)

    def close(self) -> None:
        """End both."""
        self.replica.close()
        self.master.close()

    def __enter__(self) -> Pair:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()
