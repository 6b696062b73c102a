"""A middleware for dramatiq: an actor with the option `lock` holds that lock while it works on a message.

    dramatiq dramatiq_tasks

A message whose lock is held by somebody else goes back to the queue and is tried again, so that no worker waits.
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
    """Somebody else holds the lock. dramatiq tries a message again that ends with a Retry, and stops at once when a
    middleware raises a MiddlewareError."""


class Locks(Middleware):
    """The lock's name is the option with the message's arguments put in: `@dramatiq.actor(lock="account:{}")`."""

    def __init__(self) -> None:
        self._here = threading.local()  # a message is processed in one worker thread from its beginning to its end

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
        """Is called however the message ended, also when before_process_message has raised Busy."""
        lock: Optional[redlatch.Lock] = self._here.__dict__.pop("lock", None)
        if lock is None:
            return
        try:
            lock.release()
        except redlatch.LockLostError:
            pass  # it was logged, and the actor's check() has raised

    def held(self) -> redlatch.Hold:
        """The hold of the message that this thread works on."""
        held: Optional[redlatch.Hold] = self._here.lock.held()
        assert held is not None
        return held


locks = Locks()
broker = RedisBroker(url=URL)
broker.add_middleware(locks)  # as the last one: it acquires after and releases before what the others do
dramatiq.set_broker(broker)


def recalculate(account: int, held: redlatch.Hold) -> None:
    """Stands for the work. Between its steps it checks that the lock is still held."""
    held.check()


@dramatiq.actor(lock="account:{}", max_retries=None)
def recalculate_account(account: int) -> None:
    recalculate(account, locks.held())
