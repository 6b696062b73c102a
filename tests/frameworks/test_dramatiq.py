# SPDX-License-Identifier: Apache-2.0
"""The dramatiq recipe: two workers with a process of four threads each."""

from __future__ import annotations

import pytest
import redlatch
from programs import ENDLESS, START, Programs, lose_on_the_server
from support import wait_until

MESSAGES = 20


def start(programs: Programs) -> None:
    """Starts two workers, and waits until they are ready."""
    for name in "ab":
        programs.start(name, "-m", "dramatiq", "dramatiq_counting", "--processes", "1", "--threads", "4")
    for name in "ab":
        programs.logged(name, "Worker process is ready for action.")


def send(programs: Programs, account: int, times: int) -> None:
    """Sends messages from a third process."""
    programs.run("from dramatiq_counting import recalculate_account\n"
                 f"for _ in range({times}): recalculate_account.send({account})")


@pytest.mark.excludes
def test_messages_follow_each_other(programs: Programs) -> None:
    start(programs)
    programs.check(programs.send_until_both_work(lambda times: send(programs, 1, times), MESSAGES))


def test_a_message_whose_lock_is_held_is_done_later(programs: Programs, client: redlatch.Client) -> None:
    start(programs)
    with client.lock("account:1"):
        send(programs, 1, 1)
        wait_until(lambda: any("Retrying message" in programs.log(name).read_text() for name in "ab"), START, "retry")
        assert programs.intervals() == []
    wait_until(programs.intervals, START, "the message to be done")


def test_a_lost_lock_stops_the_work(programs: Programs, client: redlatch.Client) -> None:
    start(programs)
    send(programs, ENDLESS, 1)
    wait_until(lambda: programs.events("a") + programs.events("b") == ["began"], START, "the work to begin")
    lose_on_the_server(client, f"account:{ENDLESS}")
    wait_until(lambda: "stopped LockLostError" in programs.events("a") + programs.events("b"), START, "its end")
    client.lock(f"account:{ENDLESS}").acquire(timeout=START)  # the middleware has handled the loss
