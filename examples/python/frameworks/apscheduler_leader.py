"""APScheduler on many machines: the scheduler runs in the one process that holds the lock. The others stand by.

    python apscheduler_leader.py

A lock around each job would not be enough: if the clocks of two machines differ, the later one finds the lock free and
runs the job a second time.

When the lock is lost, the scheduler is stopped, and this process stands by again.
SPDX-License-Identifier: Apache-2.0
"""

import signal
import sys

from apscheduler.schedulers.background import BackgroundScheduler

import redlatch

SECONDS = 10.0


def job(held: redlatch.Hold) -> None:
    """Replace this by the work. Between its steps it checks that the lock is still held."""
    held.check()


def lead(held: redlatch.Hold) -> None:
    """Runs the jobs while the lock is held."""
    scheduler = BackgroundScheduler(timezone="UTC")
    scheduler.add_job(job, "interval", seconds=SECONDS, args=[held])
    scheduler.start()
    try:
        held.lost_event.wait()  # a signal ends the wait, too
    finally:
        scheduler.shutdown()  # waits for the running job


def end(number: int, frame: object) -> None:
    """Handles SIGTERM: the SystemExit leaves all blocks, which stops the scheduler and releases the lock."""
    sys.exit(0)


def main() -> None:
    signal.signal(signal.SIGTERM, end)
    with redlatch.connect() as client:
        while True:
            with client.lock("example:scheduler", on_lost="log") as held:
                lead(held)


if __name__ == "__main__":
    main()
