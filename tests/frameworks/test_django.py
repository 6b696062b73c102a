# SPDX-License-Identifier: Apache-2.0
"""The Django recipe: its view, and its management command."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import redlatch
from programs import ENDLESS, EXAMPLES, START, Programs, Sites, lose_on_the_server

MANAGE = str(EXAMPLES / "frameworks" / "django_site" / "manage.py")
SERVE = [MANAGE, "runserver", "--noreload", "--settings", "django_counting", "{port}"]
NIGHTLY = [MANAGE, "nightly", "--settings", "django_counting"]
PATH = "/accounts/1/recalculate"
# Enough for two commands that begin together to be at work at the same time.
ACCOUNTS = ["1"] * 100


@pytest.mark.excludes
def test_requests_follow_each_other(programs: Programs) -> None:
    sites = Sites(programs, *SERVE)
    assert sites.post(PATH, 60) == [200] * 60
    programs.check(60)


def test_a_request_that_waits_too_long(programs: Programs, client: redlatch.Client) -> None:
    sites = Sites(programs, *SERVE)
    with client.lock("account:1"):
        assert sites.post(PATH, 2) == [409, 409]
    assert sites.post(PATH, 2) == [200, 200]


def test_a_lost_lock_stops_a_request(programs: Programs, client: redlatch.Client) -> None:
    sites = Sites(programs, *SERVE)
    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(sites.status, sites.ports[0], f"/accounts/{ENDLESS}/recalculate", "POST")
        programs.wait_for("a", "began")
        lose_on_the_server(client, f"account:{ENDLESS}")
        assert answer.result(30) == 503
    assert "stopped LockLostError" in programs.events("a")


@pytest.mark.excludes
def test_commands_follow_each_other(programs: Programs) -> None:
    started = [programs.start(name, *NIGHTLY, "--wait", "30", "--accounts", *ACCOUNTS) for name in "ab"]
    programs.let_go("a", "b")
    assert [process.wait(START) for process in started] == [0, 0]
    programs.check(2 * len(ACCOUNTS))


def test_a_command_beside_another_one(programs: Programs, client: redlatch.Client) -> None:
    """The first works until its lock is lost. The second one comes meanwhile, and leaves at once."""
    first = programs.start("a", *NIGHTLY, "--accounts", str(ENDLESS))
    programs.let_go("a")
    programs.wait_for("a", "began")
    assert programs.start("b", *NIGHTLY).wait(START) == 1
    programs.logged("b", "CommandError: another machine is at it")
    lose_on_the_server(client, "nightly")
    assert first.wait(START) == 1
    programs.logged("a", "CommandError: stopped: the lock was lost (missing)")
    assert programs.events("a")[-1] == "stopped LockLostError" and programs.intervals() == []
