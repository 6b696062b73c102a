"""At most three of many workers run at a time, in all processes together.

    python limit.py [WORKERS]

A permit of a permit semaphore has a lease. If a process dies, its permit is free again when the lease ends.
SPDX-License-Identifier: Apache-2.0
"""

import sys
import threading
import time

import redlatch

LIMIT = 3


class Meter:
    """Counts the workers that work, and the most at a time."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._now = 0
        self.most = 0

    def add(self, number: int) -> None:
        with self._guard:
            self._now += number
            self.most = max(self.most, self._now)


def work(slots: redlatch.PermitSemaphore, meter: Meter) -> None:
    """A worker: waits for a permit, works, and releases the permit."""
    with slots:
        meter.add(1)
        time.sleep(0.02)
        meter.add(-1)


def main() -> None:
    workers = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    meter = Meter()
    with redlatch.connect() as client:
        slots = client.permit_semaphore("example:slots", limit=LIMIT)
        threads = [threading.Thread(target=work, args=(slots, meter)) for _ in range(workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        slots.delete()  # only in this example; a real semaphore stays
    print(workers, "workers are done, never more than", LIMIT, "at a time:", meter.most <= LIMIT)


if __name__ == "__main__":
    main()
