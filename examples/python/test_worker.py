"""Unit tests of worker.py. They start a private Redis server.

    python -m pytest test_worker.py

SPDX-License-Identifier: Apache-2.0
"""

from typing import Iterator, List, Tuple

import pytest
import worker

import redlatch
from redlatch.testing import Server, lose


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> List[Tuple[str, int]]:
    """The steps that were done."""
    done: List[Tuple[str, int]] = []

    def note(job: str, step: int) -> None:
        done.append((job, step))

    monkeypatch.setattr(worker, "do", note)
    return done


def test_it_does_all_jobs(redlatch_client: redlatch.Client, steps: List[Tuple[str, int]]) -> None:
    with redlatch_client.lock("worker") as held:
        worker.work(held, ["a", "b"])
    assert steps == [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1), ("b", 2)]


def test_it_stops_when_the_lock_is_lost(redlatch_client: redlatch.Client, steps: List[Tuple[str, int]]) -> None:
    def jobs(held: redlatch.Hold) -> Iterator[str]:
        yield "a"
        lose(held)  # as if an operator deleted the lock between two jobs
        yield "b"

    with pytest.raises(redlatch.LockLostError):
        with redlatch_client.lock("worker") as held:
            worker.work(held, jobs(held))
    assert steps == [("a", 0), ("a", 1), ("a", 2)]


def test_the_program(
    redlatch_server: Server, redlatch_client: redlatch.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program opens its own client, with the URL of the environment. redlatch_client checks what it leaves."""
    monkeypatch.setenv("REDIS_URL", redlatch_server.url)
    monkeypatch.setattr("sys.argv", ["worker.py", "1"])
    assert worker.main() == 0
