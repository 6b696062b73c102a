# SPDX-License-Identifier: Apache-2.0
"""The FastAPI recipe: each kind of endpoint."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import redlatch
from programs import ENDLESS, Programs, Sites, lose_on_the_server

COMMAND = ["-m", "uvicorn", "fastapi_counting:app", "--port", "{port}"]
# How each kind of endpoint stops when its lock is lost.
ENDS = {"by-task": "CancelledError", "by-thread": "LockLostError", "without-dependency": "CancelledError"}


@pytest.mark.excludes
@pytest.mark.parametrize("endpoint", ENDS)
def test_requests_follow_each_other(programs: Programs, endpoint: str) -> None:
    sites = Sites(programs, *COMMAND)
    assert sites.post(f"/accounts/1/{endpoint}", 60) == [200] * 60
    programs.check(60)


@pytest.mark.excludes
@pytest.mark.parametrize("endpoint", ["by-task", "by-thread"])
def test_workers_of_one_server_exclude_each_other(programs: Programs, endpoint: str) -> None:
    sites = Sites(programs, *COMMAND, "--workers", "2", names=["ab"])

    def send(batch: int) -> None:
        assert sites.post(f"/accounts/1/{endpoint}", batch) == [200] * batch

    programs.check(programs.send_until_both_work(send, 20))


@pytest.mark.excludes
def test_endpoints_of_all_kinds_exclude_each_other(programs: Programs) -> None:
    sites = Sites(programs, *COMMAND)
    with ThreadPoolExecutor(len(ENDS)) as threads:
        answers = threads.map(lambda endpoint: sites.post(f"/accounts/1/{endpoint}", 20), ENDS)
        assert list(answers) == [[200] * 20] * len(ENDS)
    programs.check(20 * len(ENDS))


@pytest.mark.parametrize("endpoint", ENDS)
def test_a_request_that_waits_too_long(programs: Programs, client: redlatch.Client, endpoint: str) -> None:
    sites = Sites(programs, *COMMAND)
    with client.lock("account:1"):
        assert sites.post(f"/accounts/1/{endpoint}", 2) == [409, 409]
    assert sites.post(f"/accounts/1/{endpoint}", 2) == [200, 200]


@pytest.mark.parametrize("endpoint", ENDS)
def test_a_lost_lock_stops_the_work(programs: Programs, client: redlatch.Client, endpoint: str) -> None:
    sites = Sites(programs, *COMMAND)
    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(sites.status, sites.ports[0], f"/accounts/{ENDLESS}/{endpoint}", "POST")
        programs.wait_for("a", "began")
        lose_on_the_server(client, f"account:{ENDLESS}")
        assert answer.result(30) == 503
    assert f"stopped {ENDS[endpoint]}" in programs.events("a")
