# SPDX-License-Identifier: Apache-2.0
"""The Flask recipe."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import List

import pytest
import redlatch
from programs import ENDLESS, Programs, Sites, lose_on_the_server

COMMAND = ["-m", "flask", "--app", "flask_counting", "run", "--port", "{port}"]
PRELOADED = ["-m", "gunicorn", "--preload", "--workers", "2", "--threads", "4", "--bind", "127.0.0.1:{port}",
             "flask_counting:app"]
GREEN = ["-m", "gunicorn", "--preload", "--workers", "2", "--worker-class", "gevent", "--bind", "127.0.0.1:{port}",
         "flask_counting:app"]
PATH = "/accounts/1/recalculate"


@pytest.mark.excludes
@pytest.mark.parametrize("command", [COMMAND, PRELOADED, GREEN], ids=["flask", "gunicorn", "gunicorn-gevent"])
def test_requests_follow_each_other(programs: Programs, command: List[str]) -> None:
    """With gunicorn the workers have the client that was made before the fork. gevent patches after that."""
    sites = Sites(programs, *command)
    assert sites.post(PATH, 60) == [200] * 60
    programs.check(60)


def test_a_request_that_waits_too_long(programs: Programs, client: redlatch.Client) -> None:
    sites = Sites(programs, *COMMAND)
    with client.lock("account:1"):
        assert sites.post(PATH, 2) == [409, 409]
    assert sites.post(PATH, 2) == [200, 200]


@pytest.mark.parametrize("command", [COMMAND, GREEN], ids=["flask", "gunicorn-gevent"])
def test_a_lost_lock_stops_the_work(programs: Programs, client: redlatch.Client, command: List[str]) -> None:
    sites = Sites(programs, *command)
    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(sites.status, sites.ports[0], f"/accounts/{ENDLESS}/recalculate", "POST")
        programs.wait_for("a", "began")
        lose_on_the_server(client, f"account:{ENDLESS}")
        assert answer.result(30) == 503
    assert "stopped LockLostError" in programs.events("a")
