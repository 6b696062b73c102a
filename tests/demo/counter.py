"""One process of the counter race, in Python. Arguments and behaviour are those of demo_counter.c.

SPDX-License-Identifier: Apache-2.0
"""

import contextlib
import os
import sys
import threading
import time
from typing import ContextManager

import redlatch


def add_one(file: int) -> None:
    """Guarded by the lock: read, work, write."""
    value = int(os.pread(file, 11, 0))
    time.sleep(20e-6)
    os.pwrite(file, b"%010d\n" % (value + 1), 0)


def main() -> None:
    """counter.py URL FILE THREADS ADDITIONS locked|unlocked"""
    url, path, threads, additions, mode = sys.argv[1:]
    file = os.open(path, os.O_RDWR)
    client = redlatch.connect(url)

    def work() -> None:
        lock = client.lock("counter")
        for _ in range(int(additions)):
            guard: ContextManager[object] = lock if mode == "locked" else contextlib.nullcontext()
            with guard:
                add_one(file)

    print("ready", flush=True)
    sys.stdin.readline()
    workers = [threading.Thread(target=work) for _ in range(int(threads))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(client.stats()["hand_overs"])


if __name__ == "__main__":
    main()
