"""gevent: whether it has patched the threads, so that they are greenlets.

If it has, a wait lets the other greenlets run. For that a client has a dispatcher, that of redlatch.aio, in the hub of
the first greenlet that uses the client (hub.py):

    caller                                               where it waits
    a thread, or a greenlet where nothing is patched     in the core; the other greenlets of its thread stand still
    a greenlet of the client's hub                       in the hub
    a greenlet of another hub, in another thread         in the core
    a thread without a hub, such as one of gevent's      in the core
    thread pool; a callback of the hub

gevent is never imported for this, because a program that is patched has imported it. The program may import gevent and
patch after it has imported redlatch, so each wait checks.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys
import threading
from typing import Any, Callable, Optional

from redlatch.errors import UnsupportedError


def patched() -> bool:
    """Returns whether threads are greenlets."""
    monkey = sys.modules.get("gevent.monkey")
    # Another thread may be importing the module now.
    is_patched: Optional[Callable[[str], bool]] = getattr(monkey, "is_module_patched", None)
    return is_patched is not None and is_patched("threading")


def refuse_eventlet() -> None:
    """Raises if eventlet has patched the threads: they are greenlets, too, and the first wait would block them all."""
    patcher = sys.modules.get("eventlet.patcher")
    if patcher is not None and patcher.is_monkey_patched("thread"):
        raise UnsupportedError("eventlet has patched the threads; expected gevent, or threads of the system")


def hub_here() -> Optional[Any]:
    """Returns the hub of the calling greenlet's thread. Returns None if the threads are not patched, if this thread has
    no hub, or if the hub itself calls, which cannot wait. Only in the main thread is a missing hub made: in other
    threads no greenlet may ever run."""
    if not patched():
        return None
    hub = sys.modules["gevent._hub_local"].get_hub_if_exists()
    if hub is None and threading.get_native_id() == threading.main_thread().native_id:
        hub = sys.modules["gevent"].get_hub()
    return None if hub is sys.modules["greenlet"].getcurrent() else hub
