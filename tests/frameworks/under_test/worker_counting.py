# SPDX-License-Identifier: Apache-2.0
"""The plain worker, whose steps count, and which has jobs without end."""

import sys

import guarded
import worker

work = worker.work


def endless(held, jobs):
    """Tells when this worker works, and when it does not any more."""
    with guarded.reported():
        while True:
            work(held, jobs)


worker.work = endless
worker.do = lambda job, step: guarded.count(1, None)
guarded.begin()
sys.exit(worker.main())
