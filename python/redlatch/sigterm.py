"""release_on_sigterm(): a SIGTERM ends the program as sys.exit() does, so that what it holds is released.

    SIGTERM is                                 the call               then a SIGTERM
    the system's own, which ends the process   takes it, gives True   raises SystemExit(143) in the main thread
    ignored, or the program handles it         gives False            does what it did before

A lock is not released by the handler itself: the work that it guards would go on. The exception leaves the work of the
main thread first.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import signal
import threading
import time
from typing import Optional

# What a process that was ended by SIGTERM is reported with by a shell.
STATUS = 128 + signal.SIGTERM

# `timeout`, for one, signals a process and its group: so soon after the first a SIGTERM is the same one, in seconds.
SAME = 1.0

_raised_at: Optional[float] = None


def release_on_sigterm() -> bool:
    """From now on a SIGTERM raises SystemExit(143) in the main thread, as Ctrl-C raises KeyboardInterrupt: blocks are
    left, and `with` releases. What is held without a block is released when Python ends, which closes the clients.

    To be called at the start of a program, in the main thread. Python ends when all threads have ended that are not
    daemons. A program that has a handler of its own keeps it. In asyncio and trio there is
    redlatch.aio.release_on_sigterm() instead.

    Returns:
        Whether SIGTERM is handled so; False if the program ignores it or handles it already.

    Raises:
        RuntimeError: It is called in another thread.

    Example:
        >>> redlatch.release_on_sigterm()
        True
    """
    if not may_be_taken():
        return False
    signal.signal(signal.SIGTERM, _end)
    return True


def may_be_taken() -> bool:
    """Whether nobody else handles SIGTERM."""
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("release_on_sigterm() is called in another thread; expected the main thread")
    return signal.getsignal(signal.SIGTERM) in (signal.SIG_DFL, _end)


def _end(number: int, frame: object) -> None:
    global _raised_at
    now = time.monotonic()
    if _raised_at is None or now - _raised_at > SAME:
        _raised_at = now
        raise SystemExit(STATUS)
