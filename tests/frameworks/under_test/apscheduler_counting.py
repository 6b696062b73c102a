# SPDX-License-Identifier: Apache-2.0
"""The APScheduler recipe, whose job counts, and comes often."""

import apscheduler_leader
import guarded
import redlatch

lead = apscheduler_leader.lead


def reported_lead(held: redlatch.Hold) -> None:
    """Tells when this process leads, and when it does not any more."""
    with guarded.reported():
        lead(held)


apscheduler_leader.SECONDS = 0.05
apscheduler_leader.job = lambda held: guarded.count(1, held)
apscheduler_leader.lead = reported_lead
guarded.begin()
apscheduler_leader.main()
