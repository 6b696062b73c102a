# SPDX-License-Identifier: Apache-2.0
"""Makes the calls of programs/victim.c, in Python."""

import sys
import time
from itertools import islice
from typing import Callable, TypeVar

import redlatch

T = TypeVar("T")


def say(call: str, function: Callable[[], T]) -> T:
    """Makes a call, and prints its outcome and how long it took."""
    began = time.monotonic()
    outcome = "failed"
    try:
        result = function()
        outcome = f"{result!r:.200}"
        return result
    except redlatch.RedlatchError as error:
        outcome = error.status_name
        raise
    finally:
        print(f"{call}: {outcome} after {time.monotonic() - began:.3f} s")


def try_to_say(call: str, function: Callable[[], object]) -> bool:
    """Does the same with a call that may fail. Returns whether its result is true."""
    try:
        return bool(say(call, function))
    except redlatch.RedlatchError:
        return False


def main(url: str, name: str) -> None:
    """Makes one call of each sort."""
    client = say("connect", lambda: redlatch.connect(url))

    def take(call: str, lock: redlatch.Lock, timeout: float) -> None:
        if try_to_say(call, lambda: lock.acquire(timeout=timeout)):
            try_to_say("release", lock.release)

    take("mutex", client.lock(name), 0.5)
    take("try", client.lock(name + ":free"), 0)
    try_to_say("inspect", lambda: client.inspect(name))
    try_to_say("scan", lambda: len(list(islice(client.scan(), 1000))))
    try_to_say("wait_free", lambda: client.wait_free(name, 0.5))
    take("fair", client.fair_lock(name + ":free"), 0.5)
    try_to_say("semaphore", lambda: client.semaphore(name + ":free").acquire(timeout=0.5))
    try_to_say("close", client.close)


try:
    main(*sys.argv[1:])
except redlatch.RedlatchError:
    pass  # it could not connect, and has said so
print("done")
