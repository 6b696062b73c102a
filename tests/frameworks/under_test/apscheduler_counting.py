# SPDX-License-Identifier: Apache-2.0
"""The APScheduler recipe. Its job counts, and runs often."""

import apscheduler_leader
import guarded
import redlatch

lead = apscheduler_leader.lead


def reported_lead(held: redlatch.Hold) -> None:
    """Reports when this process begins to lead, and when it stops."""
    with guarded.reported():
        lead(held)


apscheduler_leader.SECONDS = 0.05
apscheduler_leader.job = lambda held: guarded.count(1, held)
apscheduler_leader.lead = reported_lead
guarded.begin()
apscheduler_leader.main()
