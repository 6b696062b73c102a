"""Expected: the functions to call when holds are lost, for threads and for tasks.

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

# From this number of holds on, ended holds are removed now and then. They remain if they were released through another
# lock object of the same name.
SWEEP = 64


class Expected(Generic[AnyHold]):
    """The functions for the holds of one client, by the serial of the hold. Any thread may use it, also in a signal
    handler.

    The holds refer to the client. So only the client itself keeps this object: then a client that nobody uses any more
    is collected, and its holds end.
    """

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Begins without functions, also in a forked child: those are for the parent's holds, and another thread of the
        parent may have held the mutex."""
        self._guard = threading.RLock()
        self._calls: Dict[int, List[Tuple[Callable[[AnyHold], Any], AnyHold]]] = {}
        self._sweep_at = SWEEP

    def __len__(self) -> int:
        return len(self._calls)

    def add(self, serial: int, call: Callable[[AnyHold], Any], hold: AnyHold) -> None:
        """Adds a function for a hold, unless the same lock object has added it with an earlier acquire of this hold."""
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
        """Removes and returns the functions for a hold."""
        with self._guard:
            return self._calls.pop(serial, [])

    def released(self, serial: int, lock: LockHandle, number: int) -> None:
        """Called when an owner has released one acquire of a hold. After the last one the functions for this hold are
        dropped."""
        record = new_record("redlatch_hold")
        status: int = lib.redlatch_lock_hold_status(lock._handle, number, record)
        if status or record.serial != serial or record.state == lib.REDLATCH_NOT_HELD:
            self.take(serial)
