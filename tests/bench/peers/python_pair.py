# SPDX-License-Identifier: Apache-2.0
"""Pairs per second of a Python lock library: `with lock:` again and again, in one thread or many.

With --hot all threads use one name, else each has its own. Prints the same line of JSON as the C programs.
"""

from __future__ import annotations

import argparse
import json
import logging
import threading
import time
from typing import Any, List

from python_locks import LIBRARIES

# python-redis-lock tells every step through logging; a silent logger is what its users in production have.
logging.disable(logging.CRITICAL)


def pairs_until(lock: Any, deadline: float) -> int:
    """Pairs done when the deadline had passed; one that ended after the deadline does not count."""
    pairs = 0
    while True:
        with lock:
            pass
        if time.perf_counter() >= deadline:
            return pairs
        pairs += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", choices=sorted(LIBRARIES), required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--hot", action="store_true")
    options = parser.parse_args()

    new_lock = LIBRARIES[options.library](options.port)
    locks = [new_lock("bench:hot" if options.hot else f"bench:pair:{number}") for number in range(options.threads)]
    pairs: List[int] = [0] * options.threads
    start = threading.Barrier(options.threads + 1)
    times = [0.0, 0.0]

    def work(number: int) -> None:
        pairs_until(locks[number], time.perf_counter() + options.seconds / 10)
        start.wait()
        pairs[number] = pairs_until(locks[number], times[0] + options.seconds)

    def one_thread() -> None:
        pairs_until(locks[0], time.perf_counter() + options.seconds / 10)
        times[:] = [time.perf_counter(), time.process_time()]
        pairs[0] = pairs_until(locks[0], times[0] + options.seconds)

    def many_threads() -> None:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(options.threads)]
        for thread in threads:
            thread.start()
        while start.n_waiting < options.threads:
            time.sleep(0.001)
        times[:] = [time.perf_counter(), time.process_time()]
        start.wait()
        for thread in threads:
            thread.join()

    if options.threads == 1:
        one_thread()
    else:
        many_threads()
    cpu_seconds = time.process_time() - times[1]
    print(
        json.dumps({"pairs": sum(pairs), "seconds": options.seconds, "cpu_seconds": cpu_seconds, "per_thread": pairs})
    )


if __name__ == "__main__":
    main()
