"""The owner numbers of tasks, and the blocks that tasks enter. Each task has a number of its own, until it ends.

A task does not inherit the number of the task that starts it, as it would inherit a context variable. It is another
owner.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
import weakref
from typing import Any, Callable, Generic, List, Optional, Tuple, TypeVar

from redlatch._ffi import CData, lib
from redlatch.aio.loops import current_task
from redlatch.owners import new_number

Obtained = TypeVar("Obtained")


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


class Blocks(Generic[Obtained]):
    """The open `async with` blocks of one object, and what was obtained for each."""

    __slots__ = ("_open",)

    def __init__(self) -> None:
        self._open: List[Tuple[Optional[int], int, Obtained]] = []  # owner, frame, obtained; the innermost last

    def enter(self, owner: Optional[int], frame: int, obtained: Obtained) -> None:
        """Adds a block that an owner enters. `frame` is the id of the frame with the `async with`."""
        self._open.append((owner, frame, obtained))

    def leave(
        self, owner: Optional[int], frame: int, first: Callable[[Obtained], bool] = lambda _: False
    ) -> Optional[Obtained]:
        """Removes the block that an owner leaves, and returns what was obtained for it; None if no block is open.

        It is the innermost block that the owner entered. If it entered none, it is the one of this frame: when an
        asynchronous generator is dropped inside of a block, the loop closes it in a new task. If there is none either,
        one task entered the block and another one leaves it by hand, as in a fixture; then a block for which `first` is
        true is preferred, and after that the innermost.
        """
        if not self._open:
            return None

        def rank(block: Tuple[Optional[int], int, Obtained]) -> Tuple[bool, ...]:
            entered, entered_in, obtained = block
            # Of its own blocks the frame says nothing: one that was entered by hand may have the id of a frame that has
            # ended, and has a successor.
            return (True,) if entered == owner else (False, entered_in == frame, first(obtained))

        block = max(reversed(self._open), key=rank)
        self._open.remove(block)
        return block[2]
