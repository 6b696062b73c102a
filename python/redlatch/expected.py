"""Expected: what is to be called when holds are lost, for threads and for tasks.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, Generic, List, Tuple, TypeVar

from redlatch._ffi import lib, new_record

if TYPE_CHECKING:
    from redlatch.holds import BaseHold
    from redlatch.locks import LockHandle

AnyHold = TypeVar("AnyHold", bound="BaseHold")

# From this number of holds on, those that are over are forgotten now and then: a release through another lock of the
# same name does not forget its hold.
SWEEP = 64


class Expected(Generic[AnyHold]):
    """The calls of one client, by the serial of the hold. Any thread may use it, also in a signal handler."""

    def __init__(self) -> None:
        self._guard = threading.RLock()
        self._calls: Dict[int, List[Tuple[Callable[[AnyHold], Any], AnyHold]]] = {}
        self._sweep_at = SWEEP

    def __len__(self) -> int:
        return len(self._calls)

    def add(self, serial: int, call: Callable[[AnyHold], Any], hold: AnyHold) -> None:
        """Adds a call to those of a hold, unless its lock has added it with a level before."""
        with self._guard:
            if len(self._calls) >= self._sweep_at:
                # A copy: a signal handler in between may add and take.
                over = [each for each, calls in list(self._calls.items()) if calls[0][1]._now() is None]
                for each in over:
                    self._calls.pop(each, None)
                self._sweep_at = SWEEP + 2 * len(self._calls)
            calls = self._calls.setdefault(serial, [])
            if all(before != call or of._lock is not hold._lock for before, of in calls):
                calls.append((call, hold))

    def take(self, serial: int) -> List[Tuple[Callable[[AnyHold], Any], AnyHold]]:
        """The calls of a hold, which are forgotten."""
        with self._guard:
            return self._calls.pop(serial, [])

    def released(self, serial: int, lock: LockHandle, number: int) -> None:
        """An owner released one level of a hold: after the last one nothing is to be called."""
        record = new_record("redlatch_hold")
        status: int = lib.redlatch_lock_hold_status(lock._handle, number, record)
        if status or record.serial != serial or record.state == lib.REDLATCH_NOT_HELD:
            self.take(serial)
