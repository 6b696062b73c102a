# SPDX-License-Identifier: Apache-2.0
"""One direction of a proxied connection: an ordered queue that faults can slow down, stop or make leak.

As in TCP, the order stays: an item that is held back holds back all that follow. The end of the stream is an item like
any other. Everything runs on the proxy's thread.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import Callable, Deque, List, Optional, Tuple, Union

from .faults import Command, Hit, Outcome

EOF = Outcome("eof")

# Called by a condition for each item that it acts on, with its command, or None if it has none.
Meeting = Callable[[Optional[Command]], None]


@dataclass
class Data:
    """Bytes on their way. Those to the server may have a command, and the hit that waits for its reply."""

    raw: bytes
    command: Optional[Command] = None
    hit: Optional[Hit] = None
    swallow_reply: bool = False
    sent: int = 0


@dataclass(eq=False)
class Barrier:
    """Keeps everything behind it until it is lifted; `on_block` is called for each thing that arrives behind it."""

    on_block: Optional[Meeting] = None
    lifted: bool = False


@dataclass
class Canned:
    """Takes the place of a command on its way to the server, so that a made-up reply comes at its turn."""

    reply: bytes


class End:
    """The end of the stream."""


Item = Union[Data, Barrier, Canned, End]


class Pipe:
    """One direction of a connection. Conditions in force are functions that are called for each item."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, emit: Callable[[Union[Data, Canned, End], bytes], None]
    ) -> None:
        self._loop = loop
        self._emit = emit
        self._queue: Deque[Tuple[float, Item]] = deque()
        self._barriers: List[Barrier] = []
        self._last_due = 0.0
        self._timer: Optional[asyncio.Handle] = None
        self._closed = False
        self.delays: List[Callable[[Optional[Command]], float]] = []
        self.splitters: List[Callable[[Optional[Command]], float]] = []
        self.black_holes: List[Meeting] = []
        self.lost = False

    def put(self, item: Item) -> None:
        """Put an item into the pipe. After a loss all that follows is lost, too."""
        if isinstance(item, Barrier):
            self._barriers.append(item)
            self._queue.append((self._last_due, item))
            return
        command = item.command if isinstance(item, Data) else None
        for swallow in self.black_holes:
            swallow(command)
        if self.black_holes or self.lost:
            self.lost = True
            if self._closed and isinstance(item, Data) and item.hit is not None:
                item.hit.quiesce(EOF)
            return
        for barrier in self._barriers:
            if barrier.on_block is not None:
                barrier.on_block(command)
        due = self._loop.time() + sum(delay(command) for delay in self.delays)
        self._last_due = max(self._last_due, due)
        self._queue.append((self._last_due, item))
        self.pump()

    def lift(self, barrier: Barrier) -> None:
        """Let the items behind a barrier go on."""
        barrier.lifted = True
        if barrier in self._barriers:
            self._barriers.remove(barrier)
        self.pump()

    def pump(self) -> None:
        """Emit the items that are due and not behind a barrier."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._queue:
            due, item = self._queue[0]
            if isinstance(item, Barrier):
                if not item.lifted:
                    return
                self._queue.popleft()
                continue
            if due > self._loop.time():
                self._timer = self._loop.call_at(due, self.pump)
                return
            if isinstance(item, Data) and self.splitters:
                gap = max(split(item.command) for split in self.splitters)
                self._emit_byte(item)
                self._timer = self._loop.call_later(gap, self.pump) if gap else self._loop.call_soon(self.pump)
                return
            self._queue.popleft()
            rest = item.raw[item.sent :] if isinstance(item, Data) else b""
            self._emit(item, rest)

    def _emit_byte(self, item: Data) -> None:
        piece = item.raw[item.sent : item.sent + 1]
        if item.sent + 1 >= len(item.raw):
            self._queue.popleft()
        self._emit(item, piece)
        item.sent += 1

    def clear(self) -> None:
        """Drop what is queued; the outcome of its hits is EOF. Nothing goes through any more."""
        self.lost = self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        queue, self._queue = self._queue, deque()
        for _, item in queue:
            if isinstance(item, Data) and item.hit is not None:
                item.hit.quiesce(EOF)
