"""APScheduler on many machines: the scheduler runs in the one process that holds the lock, and the others stand by.

    python apscheduler_leader.py

A lock around each job alone would not do: of two machines whose clocks differ, the later one would find the lock free
and run the job a second time.

When the lock is lost, the scheduler is stopped, and this process stands by again.
SPDX-License-Identifier: Apache-2.0
"""

import signal
import sys

from apscheduler.schedulers.background import BackgroundScheduler

import redlatch

SECONDS = 10.0


def job(held: redlatch.Hold) -> None:
    """Stands for the work. Between its steps it checks that the lock is still held."""
    held.check()


def lead(held: redlatch.Hold) -> None:
    """Runs the jobs for as long as the lock is held."""
    scheduler = BackgroundScheduler(timezone="UTC")
    scheduler.add_job(job, "interval", seconds=SECONDS, args=[held])
    scheduler.start()
    try:
        held.lost_event.wait()  # a signal ends it, too
    finally:
        scheduler.shutdown()  # waits for the job that is running


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
