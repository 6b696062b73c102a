"""gevent: whether it has made greenlets of the threads.

Where it has, a wait leaves the hub to the others. A client then has a dispatcher, that of redlatch.aio, in the hub of
the first greenlet that uses it (hub.py):

    caller                                               its wait
    a thread, or a greenlet where nothing is patched     in the core; the other greenlets of its thread stand still
    a greenlet of the client's hub                       in the hub
    a greenlet of another hub, in another thread         in the core
    a thread without a hub, such as one of gevent's      in the core
    thread pool; a callback of the hub

gevent is never imported for that: a program that is patched has imported it. It may do so, and patch, after it has
imported redlatch, so each wait looks.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys
import threading
from typing import Any, Callable, Optional

from redlatch.errors import UnsupportedError


def patched() -> bool:
    """Whether threads are greenlets."""
    monkey = sys.modules.get("gevent.monkey")
    # Another thread may be importing it.
    is_patched: Optional[Callable[[str], bool]] = getattr(monkey, "is_module_patched", None)
    return is_patched is not None and is_patched("threading")


def refuse_eventlet() -> None:
    """Its threads are greenlets, too, and the first wait would halt them all."""
    patcher = sys.modules.get("eventlet.patcher")
    if patcher is not None and patcher.is_monkey_patched("thread"):
        raise UnsupportedError("eventlet has patched the threads; expected gevent, or threads of the system")


def hub_here() -> Optional[Any]:
    """The hub of the calling greenlet's thread; None if threads are threads, or this one has no hub, or the hub itself
    calls, which cannot wait. Only the main thread gets one: in others no greenlet may ever run."""
    if not patched():
        return None
    hub = sys.modules["gevent._hub_local"].get_hub_if_exists()
    if hub is None and threading.get_native_id() == threading.main_thread().native_id:
        hub = sys.modules["gevent"].get_hub()
    return None if hub is sys.modules["greenlet"].getcurrent() else hub
