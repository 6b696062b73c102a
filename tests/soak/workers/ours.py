# SPDX-License-Identifier: Apache-2.0
"""Takers by redlatch in Python."""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, Optional

import redlatch
from backends import Refused, Taker, Turn


class Ours:
    """A client of ours."""

    def __init__(self, url: str, lease_ms: int, command_timeout_ms: int) -> None:
        # Lazy: the server may be down when a process is started in the place of a killed one.
        seconds = command_timeout_ms / 1000
        lease = lease_ms / 1000
        self._client = redlatch.connect(
            url, watchdog_lease=lease, fair_timeout=lease, command_timeout=seconds, lazy=True
        )

    def taker(self, turn: Turn) -> Taker:
        """As Backend says."""
        return SHAPES[turn.shape](self._client, turn)

    def close(self) -> None:
        """Ends the client, which holds nothing."""
        self._client.close()


class LockTaker:
    """A lock of any kind."""

    def __init__(self, client: redlatch.Client, turn: Turn) -> None:
        options = {option: bool(value) for option, value in turn.options.items()}
        self.n = 1
        maker, _, side = turn.word.partition(".")
        made = getattr(client, maker)(turn.name, **options)
        self._lock: redlatch.Lock = getattr(made, side) if side else made
        self._turn = turn
        self._inner = 0
        self._hold: Optional[redlatch.Hold] = None

    def take(self, asked: int) -> None:
        """As Taker says."""
        lease = self._turn.lease / 1000 if self._turn.lease > 0 else -1
        wait = None if self._turn.wait < 0 else self._turn.wait / 1000
        refuse(lambda: self._lock.acquire(timeout=wait, lease=lease))
        self._hold = self._lock.hold()

    def facts(self) -> Dict[str, Any]:
        """As Taker says."""
        assert self._hold is not None
        return {"token": self._hold.token or 0, "owner": self._hold.owner}

    def safe(self, now: int) -> int:
        """As Taker says."""
        assert self._hold is not None
        return int(self._hold.remaining() * 1e9)

    def again(self) -> bool:
        """As Taker says."""
        try:
            self._lock.acquire(blocking=False, lease=self._turn.lease / 1000 if self._turn.lease > 0 else -1)
        except redlatch.LockLostError:
            return False
        except redlatch.RedlatchError:
            return True  # refused or unknown: there is no further level
        self._inner += 1
        return True

    def leave_inner(self) -> None:
        """As Taker says."""
        for _ in range(self._inner):
            outcome(self._lock.release)

    def give(self) -> str:
        """As Taker says."""
        return outcome(self._lock.release)


def refuse(call: Callable[[], Any]) -> Any:
    """What a call returns; Refused if it returns False or fails."""
    try:
        value = call()
    except redlatch.RedlatchError as error:
        time.sleep(0.02)  # nothing is gained by asking again at once
        raise Refused(error.status_name) from error
    if value is False:
        raise Refused("timeout")
    return value


def outcome(call: Callable[[], object]) -> str:
    """How a call ended."""
    try:
        call()
    except redlatch.RedlatchError as error:
        return error.status_name
    return "ok"


SHAPES: Dict[str, Callable[[redlatch.Client, Turn], Taker]] = {"lock": LockTaker}
