"""A worker that is started on many machines and works on one of them at a time. It stops when its lock is lost.

    python worker.py [JOBS]

SIGTERM ends it anywhere, with status 143: SystemExit leaves the block, which releases the lock, and the next worker
goes on at once. After a loss it ends with status 75, and its supervisor starts it again.
SPDX-License-Identifier: Apache-2.0
"""

import sys
import time
from typing import Iterable

import redlatch

STEPS = 3
LOST = 75  # EX_TEMPFAIL of sysexits.h


def do(job: str, step: int) -> None:
    """One step. A worker that lost its lock works on for one step at most."""
    time.sleep(0.01)
    print(job, "step", step, flush=True)


def work(held: redlatch.Hold, jobs: Iterable[str]) -> None:
    """Does all jobs. Raises LockLostError before the first step without the lock."""
    for job in jobs:
        for step in range(STEPS):
            held.check()  # sends nothing
            do(job, step)


def main() -> int:
    """Returns the exit status."""
    redlatch.release_on_sigterm()
    jobs = [f"job {number}" for number in range(int(sys.argv[1]) if len(sys.argv) > 1 else 2)]
    with redlatch.connect() as client:
        try:
            with client.lock("example:worker") as held:
                print("working", flush=True)
                work(held, jobs)
        except redlatch.LockLostError as lost:
            print("another worker may work now:", lost.reason)
            return LOST
    print("done")
    return 0


if __name__ == "__main__":
    sys.exit(main())
