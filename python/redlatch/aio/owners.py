"""The owner numbers of tasks. Each task has its own, until it ends.

A task does not inherit the number of the task that starts it, as it would inherit a context variable. It is another
owner.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
import weakref
from typing import Any, Callable, Optional

from redlatch._ffi import CData, lib
from redlatch.aio.loops import current_task
from redlatch.owners import new_number


class _Owner:
    """The owner number of one task. When this object is deleted, the owner ends: its holds are no longer renewed."""

    __slots__ = ("number", "_pid")

    def __init__(self) -> None:
        self._pid = os.getpid()
        self.number = new_number()

    def __del__(self, getpid: Callable[[], int] = os.getpid, owner_end: CData = lib.redlatch_owner_end) -> None:
        # In a forked child this also runs for the parent's tasks, which live on in the parent.
        if getattr(self, "number", 0) and getpid() == self._pid:
            owner_end(self.number)


_owners: weakref.WeakKeyDictionary[Any, _Owner] = weakref.WeakKeyDictionary()


def number_of_task() -> Optional[int]:
    """Returns the owner number of the task that runs here, or None outside of tasks."""
    task = current_task()
    if task is None:
        return None
    owner = _owners.get(task)
    if owner is None:
        owner = _owners[task] = _Owner()
        tell_end = getattr(task, "add_done_callback", None)
        if tell_end is not None:  # asyncio: the task may be kept for its result; trio drops it at its end
            tell_end(_forget)
    return owner.number


def _forget(task: Any) -> None:
    _owners.pop(task, None)
