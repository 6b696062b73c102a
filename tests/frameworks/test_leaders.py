# SPDX-License-Identifier: Apache-2.0
"""The recipes for APScheduler and for a plain worker: of two processes one works, and the other stands by."""

from __future__ import annotations

import signal
import subprocess
from typing import Dict, List

import pytest
import redlatch
from programs import START, UNDER_TEST, Programs, lose_on_the_server
from support import wait_until

# The lock of each recipe.
LOCKS = {"apscheduler": "example:scheduler", "worker": "example:worker"}
LOST = 75  # the status of worker.py after a loss


def start(programs: Programs, recipe: str) -> Dict[str, subprocess.Popen[bytes]]:
    """Starts two processes that begin at the same time."""
    started = {name: programs.start(name, str(UNDER_TEST / f"{recipe}_counting.py")) for name in "ab"}
    programs.let_go("a", "b")
    return started


def leaders(programs: Programs) -> List[str]:
    """Returns the programs that have begun to work."""
    return [name for name in "ab" if "began" in programs.events(name)]


def the_leader(programs: Programs) -> str:
    """Returns the first program that works."""
    return wait_until(lambda: leaders(programs), START, "one of the two to lead")[0]


@pytest.mark.excludes
@pytest.mark.parametrize("recipe", LOCKS)
def test_one_works_and_the_other_takes_over(programs: Programs, recipe: str) -> None:
    """SIGTERM ends the first process, which releases the lock, so the other does not wait for the end of a lease."""
    started = start(programs, recipe)
    first = the_leader(programs)
    wait_until(lambda: len(programs.intervals()) >= 20, START, "the work of the first")
    if programs.locked:
        assert leaders(programs) == [first]
    started[first].send_signal(signal.SIGTERM)
    assert started[first].wait(START) == {"worker": 143, "apscheduler": 0}[recipe]
    done = len(programs.intervals())
    wait_until(lambda: len(programs.intervals()) >= done + 20, START, "the work of the second")
    for process in started.values():
        process.terminate()
        process.wait(START)
    programs.check()


@pytest.mark.parametrize("recipe", LOCKS)
def test_a_killed_one_is_replaced_when_its_lease_ends(programs: Programs, recipe: str) -> None:
    started = start(programs, recipe)
    first = the_leader(programs)
    started[first].kill()
    wait_until(lambda: len(leaders(programs)) == 2, START, "the other one to lead")
    wait_until(lambda: {each.program for each in programs.intervals()} >= set("ab") - {first}, START, "its work")


@pytest.mark.parametrize("recipe", LOCKS)
def test_a_lost_lock_stops_the_work(programs: Programs, client: redlatch.Client, recipe: str) -> None:
    started = start(programs, recipe)
    first = the_leader(programs)
    lose_on_the_server(client, LOCKS[recipe])
    how = {"worker": "stopped LockLostError", "apscheduler": "stopped None"}[recipe]
    programs.wait_for(first, how)
    if recipe == "worker":
        assert started[first].wait(START) == LOST
    else:
        assert started[first].poll() is None  # it stands by again
    wait_until(lambda: set(leaders(programs)) == {"a", "b"}, START, "the other one to lead")
