"""A middleware for dramatiq: an actor with the option `lock` holds that lock while it processes a message.

    dramatiq dramatiq_tasks

While the lock is held by others, the message goes back to the queue and is tried again. So no worker waits.
SPDX-License-Identifier: Apache-2.0
"""

import os
import threading
from typing import Any, Optional, Set

import dramatiq
from dramatiq.brokers.redis import RedisBroker
from dramatiq.errors import Retry
from dramatiq.middleware import Middleware, MiddlewareError

import redlatch

URL = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0")
client = redlatch.connect(URL, lazy=True)  # each worker that the master forks connects at its first use


class Busy(Retry, MiddlewareError):
    """The lock is held by others. Retry: dramatiq tries the message again. MiddlewareError: dramatiq stops at once when
    a middleware raises it."""


class Locks(Middleware):
    """The option is the lock's name, formatted with the message's arguments: `@dramatiq.actor(lock="account:{}")`."""

    def __init__(self) -> None:
        self._here = threading.local()  # one worker thread processes a message from beginning to end

    @property
    def actor_options(self) -> Set[str]:
        return {"lock"}

    def before_process_message(self, broker: dramatiq.Broker, message: Any) -> None:
        pattern: Optional[str] = broker.get_actor(message.actor_name).options.get("lock")
        if pattern is None:
            return
        lock = client.lock(pattern.format(*message.args, **message.kwargs))
        if not lock.acquire(blocking=False):
            raise Busy(f"the lock {lock.name!r} is held", delay=500)
        self._here.lock = lock

    def after_process_message(
        self, broker: dramatiq.Broker, message: Any, *, result: Any = None, exception: Optional[BaseException] = None
    ) -> None:
        """Called however the message ended, even after before_process_message has raised Busy."""
        lock: Optional[redlatch.Lock] = self._here.__dict__.pop("lock", None)
        if lock is None:
            return
        try:
            lock.release()
        except redlatch.LockLostError:
            pass  # it was logged, and the actor's check() has raised

    def held(self) -> redlatch.Hold:
        """Returns the hold of the message that this thread processes."""
        held: Optional[redlatch.Hold] = self._here.lock.held()
        assert held is not None
        return held


locks = Locks()
broker = RedisBroker(url=URL)
broker.add_middleware(locks)  # as the last one: acquires after, and releases before, the others
dramatiq.set_broker(broker)


def recalculate(account: int, held: redlatch.Hold) -> None:
    """Replace this by the work. Between its steps it checks that the lock is still held."""
    held.check()


@dramatiq.actor(lock="account:{}", max_retries=None)
def recalculate_account(account: int) -> None:
    recalculate(account, locks.held())
