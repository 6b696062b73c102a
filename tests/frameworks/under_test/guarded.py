# SPDX-License-Identifier: Apache-2.0
"""The work that recipes do under their locks in tests. It shows when two do it at the same time.

    GUARDED_FOLDER      where the counter, the intervals and the events are
    GUARDED_PROGRAM     a name for this program; if it has several letters, each worker process takes one
    GUARDED_UNLOCKED=1  locks exclude nobody: the tests must notice that

The counter is read, and written a moment later. If two processes do that at the same time, an increment is lost.
"""

from __future__ import annotations

import asyncio
import functools
import os
import threading
import time
from pathlib import Path
from typing import Any, Callable, Iterator

import redlatch
import redlatch.aio

FOLDER = Path(os.environ["GUARDED_FOLDER"])


def _name() -> str:
    """Returns the name, or the first of its letters that no other process has taken."""
    letters = os.environ["GUARDED_PROGRAM"]
    if len(letters) == 1:
        return letters
    for letter in letters:
        try:
            os.close(os.open(FOLDER / f"is-{letter}", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        return letter
    raise RuntimeError(f"there are more processes than {letters!r} has letters")


PROGRAM = _name()
DIGITS = 12
PAUSE = 0.01
# Work on this account does not end by itself.
ENDLESS = 7


def event(*words: object) -> None:
    """Reports to the test that something has happened here."""
    _append("events", PROGRAM, *words)


def count(account: int, held: redlatch.Hold) -> None:
    """The work of threads."""
    if account == ENDLESS:
        with reported():
            while True:
                held.check()
                time.sleep(PAUSE)
    for _ in counting():
        time.sleep(PAUSE)


async def count_in_task(account: int, held: redlatch.aio.Hold) -> None:
    """The work of coroutines."""
    if account == ENDLESS:
        with reported():
            await asyncio.sleep(3600)
    for _ in counting():
        await asyncio.sleep(PAUSE)


def counting() -> Iterator[None]:
    """Adds one to the counter. The caller pauses between the reading and the writing."""
    descriptor = os.open(FOLDER / "counter", os.O_RDWR)
    try:
        begun = time.monotonic_ns()
        number = int(os.pread(descriptor, DIGITS, 0))
        yield
        os.pwrite(descriptor, b"%0*d" % (DIGITS, number + 1), 0)
        _append("intervals", PROGRAM, begun, time.monotonic_ns())
    finally:
        os.close(descriptor)


class reported:
    """A block whose begin and end are events. The end has the name of its exception."""

    def __enter__(self) -> None:
        event("began")

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        event("stopped", getattr(kind, "__name__", None))


def _append(name: str, *words: object) -> None:
    """Appends one line to a file. It stays whole although others write there, too."""
    descriptor = os.open(FOLDER / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, (" ".join(map(str, words)) + "\n").encode())
    finally:
        os.close(descriptor)


class _Nothing:
    """A hold of a lock that excludes nobody."""

    lost_event = threading.Event()

    def check(self) -> None:
        """Nothing is ever lost."""


def _switch_locks_off() -> None:
    def at_once(value: object) -> Callable[..., Any]:
        return lambda *_args, **_options: value

    def awaited(value: object) -> Callable[..., Any]:
        async def function(*_args: Any, **_options: Any) -> object:
            return value

        return function

    for kind, function, block in ((redlatch.Lock, at_once, "__{}__"), (redlatch.aio.Lock, awaited, "__a{}__")):
        answers = {
            block.format("enter"): function(_Nothing()),
            block.format("exit"): function(None),
            "acquire": function(True),
            "release": function(None),
            "held": at_once(_Nothing()),
        }
        for name, answer in answers.items():
            setattr(kind, name, answer)


def begin() -> None:
    """Waits until the test lets this program, and others, begin at the same time."""
    event("ready")
    while not (FOLDER / "go").exists():
        time.sleep(0.002)


# A loss is noticed with the next renewal: after a third of this.
redlatch.connect = functools.partial(redlatch.connect, watchdog_lease=2)
redlatch.aio.connect = functools.partial(redlatch.aio.connect, watchdog_lease=2)
if os.environ.get("GUARDED_UNLOCKED"):
    _switch_locks_off()
