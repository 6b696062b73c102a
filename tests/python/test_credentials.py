"""How a provider of credentials is listened to, and when it is asked again. Nothing waits: the pauses are recorded.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import logging
from typing import Any, Callable, List, Sequence, Tuple

import pytest
from redlatch.credentials import Renewal

PAIR = ("somebody", "a word")


class Pauses:
    """In place of the event that ends the thread: notes how long would have been waited, and ends it after so many."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.noted: List[float] = []

    def wait(self, pause: float) -> bool:
        """True: the thread is to end."""
        self.noted.append(pause)
        return len(self.noted) == self.count


class Unreliable:
    """A provider that fails where it is told to, and works when it was told nothing more."""

    def __init__(self, fails: Sequence[bool]) -> None:
        self.fails = list(fails)

    def get_credentials(self) -> Tuple[str, str]:
        """Always the same."""
        if self.fails and self.fails.pop(0):
            raise OSError("no token")
        return PAIR


class Impatient:
    """A streaming provider that begins, and fails, as soon as it has whom to tell."""

    error: Callable[[Exception], None]

    def on_error(self, callback: Callable[[Exception], None]) -> None:
        """Who is told of a failure."""
        self.error = callback

    def on_next(self, callback: Callable[[Any], None]) -> None:
        """Who is told of a token."""
        self.error(OSError("no token yet"))
        callback(PAIR)

    def is_streaming(self) -> bool:
        """It is."""
        return True

    def get_credentials(self) -> Tuple[str, str]:
        """Always the same."""
        return PAIR


def pauses_of(monkeypatch: pytest.MonkeyPatch, fails: Sequence[bool], interval: float, count: int) -> List[float]:
    """How long the thread waits before it asks, each time."""
    monkeypatch.setattr("redlatch.credentials.set_credentials", lambda handle, username, password: 0)
    renewal: Any = Renewal(Unreliable(fails), interval)
    renewal._stop = Pauses(count)
    renewal._run()
    noted: List[float] = renewal._stop.noted
    return noted


def test_pauses_after_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second, twice as long after each further failure, never longer than the interval; a success ends that."""
    fails = [True] * 5 + [False, True]
    assert pauses_of(monkeypatch, fails, 10, 8) == [10, 1, 2, 4, 8, 10, 10, 1]


def test_a_short_interval_is_kept_after_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pauses_of(monkeypatch, [True] * 3, 0.5, 4) == [0.5] * 4


def test_what_a_provider_tells_at_once_is_received(caplog: pytest.LogCaptureFixture) -> None:
    """What it tells when it is given its callbacks is used or logged."""
    renewal: Any = Renewal(Impatient(), None)
    with caplog.at_level(logging.WARNING, "redlatch"):
        assert renewal.first() == PAIR
    assert len(caplog.messages) == 1 and "no token yet" in caplog.messages[0]
    assert renewal._newest == PAIR
