# SPDX-License-Identifier: Apache-2.0
"""The same as programs/victim.c, in Python."""

import sys
from itertools import islice
from typing import Callable

import redlatch


def say(call: str, function: Callable[[], object]) -> None:
    """What came of a call."""
    try:
        print(f"{call}: {function()!r:.200}")
    except redlatch.RedlatchError as error:
        print(f"{call}: {error.status_name}")


def main(url: str, name: str) -> None:
    """One call of each sort."""
    with redlatch.connect(url) as client:

        def take(lock: redlatch.Lock, timeout: float) -> bool:
            granted = lock.acquire(timeout=timeout)
            if granted:
                lock.release()
            return granted

        say("mutex", lambda: take(client.lock(name), 0.5))
        say("mutex", lambda: take(client.lock(name + ":free"), 0))
        say("inspect", lambda: client.inspect(name))
        say("scan", lambda: len(list(islice(client.scan(), 1000))))
        say("wait_free", lambda: client.wait_free(name, 0.5))
        say("fair", lambda: take(client.fair_lock(name + ":free"), 0.5))
        say("semaphore", lambda: client.semaphore(name + ":free").acquire(timeout=0.5))


try:
    main(*sys.argv[1:])
except redlatch.RedlatchError as failed:
    print(f"connect: {failed.status_name}")
print("done")
