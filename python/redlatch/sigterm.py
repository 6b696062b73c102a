"""release_on_sigterm(): a SIGTERM ends the program as sys.exit() does, so that its holds are released.

    SIGTERM is                                 the call                        then a SIGTERM
    the system's own, which ends the process   sets a handler, returns True    raises SystemExit(143) in the main thread
    ignored, or the program handles it         changes nothing, returns False  does what it did before

The handler does not release locks itself, because the work that they guard would go on. The exception first ends the
work of the main thread.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import signal
import threading
import time
from typing import Optional

# The exit status by which a shell reports a process that was ended by SIGTERM.
STATUS = 128 + signal.SIGTERM

# A SIGTERM that comes within this time after another one is ignored, in seconds. Some programs, such as `timeout`,
# signal a process and also its group.
SAME = 1.0

_raised_at: Optional[float] = None


def release_on_sigterm() -> bool:
    """From now on a SIGTERM raises SystemExit(143) in the main thread, as Ctrl-C raises KeyboardInterrupt: blocks are
    left, and `with` releases. Other holds are released when Python ends, which closes the clients.

    Call it at the start of a program, in the main thread. Python ends when all threads that are not daemons have ended.
    A program that has a handler of its own keeps it. For asyncio and trio use redlatch.aio.release_on_sigterm()
    instead.

    Returns:
        True if SIGTERM is now handled in this way; False if the program ignores it or handles it already.

    Raises:
        RuntimeError: The call is not in the main thread.

    Example:
        >>> redlatch.release_on_sigterm()
        True
    """
    if not may_be_taken():
        return False
    signal.signal(signal.SIGTERM, _end)
    return True


def may_be_taken() -> bool:
    """Returns whether SIGTERM is neither ignored nor handled by the program."""
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("release_on_sigterm() is called in another thread; expected the main thread")
    return signal.getsignal(signal.SIGTERM) in (signal.SIG_DFL, _end)


def _end(number: int, frame: object) -> None:
    global _raised_at
    now = time.monotonic()
    if _raised_at is None or now - _raised_at > SAME:
        _raised_at = now
        raise SystemExit(STATUS)
