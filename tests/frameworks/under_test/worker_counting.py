# SPDX-License-Identifier: Apache-2.0
"""The plain worker. Its steps count, and its jobs have no end."""

import sys

import guarded
import worker

work = worker.work


def endless(held, jobs):
    """Reports when this worker begins to work, and when it stops."""
    with guarded.reported():
        while True:
            work(held, jobs)


worker.work = endless
worker.do = lambda job, step: guarded.count(1, None)
guarded.begin()
sys.exit(worker.main())
