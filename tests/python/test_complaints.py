# SPDX-License-Identifier: Apache-2.0
"""Log messages of a candidate of an election while the server cannot be used."""

from __future__ import annotations

import logging

import pytest
import redlatch
from redlatch import elections


def test_each_outage_is_logged_once(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    now = [100.0]
    monkeypatch.setattr(elections.time, "monotonic", lambda: now[0])
    complaints = elections.Complaints("job")

    def attempt(seconds: float, message: str) -> None:
        complaints.begin()
        now[0] += seconds
        complaints.failed(redlatch.UnreachableError(message))

    with caplog.at_level(logging.WARNING, "redlatch"):
        for seconds in (30.0, 30.0, 0.0):
            attempt(seconds, "first")
        attempt(3600.0, "second")
        attempt(30.0, "third")
    assert [record.getMessage() for record in caplog.records] == [
        "the candidate for 'job' goes on after: first",
        "the candidate for 'job' goes on after: second",
    ]


@pytest.mark.parametrize(
    "error", [redlatch.AuthenticationError, redlatch.PermissionDeniedError, redlatch.ServerError]
)
def test_what_the_server_refuses_may_pass(error: type[redlatch.RedlatchError]) -> None:
    assert elections.may_pass(error("refused"))


@pytest.mark.parametrize(
    "error", [redlatch.WrongTypeError, redlatch.InvalidArgumentError, redlatch.ForkedError, redlatch.UnsupportedError]
)
def test_a_mistake_of_the_program_does_not(error: type[redlatch.RedlatchError]) -> None:
    assert not elections.may_pass(error("refused"))
