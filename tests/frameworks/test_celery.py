# SPDX-License-Identifier: Apache-2.0
"""The Celery recipe: two workers with two processes each."""

from __future__ import annotations

import pytest
import redlatch
from programs import ENDLESS, START, Programs, lose_on_the_server
from support import wait_until

TASKS = 60


def start(programs: Programs, pool: str = "prefork") -> None:
    """Starts two workers, and waits until they are ready."""
    for name in "ab":
        programs.start(name, "-m", "celery", "-A", "celery_counting", "worker", "--concurrency", "2", "--pool", pool,
                       "-n", f"{name}@test", "--loglevel", "info", "--without-gossip", "--without-mingle")
    for name in "ab":
        programs.logged(name, f"{name}@test ready.")


def send(programs: Programs, account: int, times: int) -> None:
    """Sends tasks from a third process."""
    programs.run("from celery_counting import recalculate_account\n"
                 f"for _ in range({times}): recalculate_account.delay({account})")


@pytest.mark.excludes
@pytest.mark.parametrize("pool", ["prefork", "threads"])
def test_tasks_follow_each_other(programs: Programs, pool: str) -> None:
    start(programs, pool)
    programs.check(programs.send_until_both_work(lambda times: send(programs, 1, times), TASKS))


def test_a_task_whose_lock_is_held_is_done_later(programs: Programs, client: redlatch.Client) -> None:
    start(programs)
    with client.lock("account:1"):
        send(programs, 1, 1)
        wait_until(lambda: any("Retry in 1s" in programs.log(name).read_text() for name in "ab"), START, "the retry")
        assert programs.intervals() == []
    wait_until(programs.intervals, START, "the task to be done")


def test_a_lost_lock_stops_the_work(programs: Programs, client: redlatch.Client) -> None:
    start(programs)
    send(programs, ENDLESS, 1)
    wait_until(lambda: programs.events("a") + programs.events("b") == ["began"], START, "the work to begin")
    lose_on_the_server(client, f"account:{ENDLESS}")
    # The task is done again, by either worker.
    expected = ["began", "began", "stopped LockLostError"]
    wait_until(lambda: sorted(programs.events("a") + programs.events("b")) == expected, START, "the second attempt")
