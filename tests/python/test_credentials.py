"""How a provider of credentials is used, and when it is called again. Nothing waits: the pauses are recorded.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import logging
import threading
from typing import Any, Callable, List, Sequence, Tuple

import pytest
from redlatch.credentials import Renewal

PAIR = ("somebody", "a word")


class Pauses:
    """Replaces the event that ends the thread. Records each pause, and ends the thread after `count` pauses."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.noted: List[float] = []

    def wait(self, pause: float) -> bool:
        """Returns True when the thread is to end."""
        self.noted.append(pause)
        return len(self.noted) == self.count


class Unreliable:
    """A provider that fails as often as `fails` says, and then succeeds."""

    def __init__(self, fails: Sequence[bool]) -> None:
        self.fails = list(fails)

    def get_credentials(self) -> Tuple[str, str]:
        """Returns the same pair each time."""
        if self.fails and self.fails.pop(0):
            raise OSError("no token")
        return PAIR


class Impatient:
    """A streaming provider that reports a failure and a token as soon as it has its callbacks."""

    error: Callable[[Exception], None]

    def on_error(self, callback: Callable[[Exception], None]) -> None:
        """Sets the callback for failures."""
        self.error = callback

    def on_next(self, callback: Callable[[Any], None]) -> None:
        """Sets the callback for tokens and calls both."""
        self.error(OSError("no token yet"))
        callback(PAIR)

    def is_streaming(self) -> bool:
        """Returns True."""
        return True

    def get_credentials(self) -> Tuple[str, str]:
        """Returns the same pair each time."""
        return PAIR


def pauses_of(monkeypatch: pytest.MonkeyPatch, fails: Sequence[bool], interval: float, count: int) -> List[float]:
    """Returns the pauses of the thread before each call of the provider."""
    monkeypatch.setattr("redlatch.credentials.set_credentials", lambda handle, username, password: 0)
    renewal: Any = Renewal(Unreliable(fails), interval)
    renewal._stop = Pauses(count)
    renewal._run()
    noted: List[float] = renewal._stop.noted
    return noted


def test_pauses_after_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second, doubled after each further failure, but never longer than the interval. After a success: the
    interval."""
    fails = [True] * 5 + [False, True]
    assert pauses_of(monkeypatch, fails, 10, 8) == [10, 1, 2, 4, 8, 10, 10, 1]


def test_a_short_interval_is_kept_after_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pauses_of(monkeypatch, [True] * 3, 0.5, 4) == [0.5] * 4


def test_what_a_provider_tells_at_once_is_received(caplog: pytest.LogCaptureFixture) -> None:
    """What a provider reports while it gets its callbacks is used or logged."""
    renewal: Any = Renewal(Impatient(), None)
    with caplog.at_level(logging.WARNING, "redlatch"):
        assert renewal.first() == PAIR
    assert len(caplog.messages) == 1 and "no token yet" in caplog.messages[0]
    assert renewal._newest == PAIR


def test_the_newest_are_pushed_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """New credentials come while those from before the connection are pushed."""
    renewal: Any = Renewal(Impatient(), None)
    renewal.first()
    pushing, go = threading.Event(), threading.Event()
    pushed: List[Any] = []

    def push(_handle: Any, *pair: Any) -> int:
        pushing.set()
        if pair == PAIR:
            go.wait(10)
        pushed.append(pair)
        return 0

    monkeypatch.setattr("redlatch.credentials.set_credentials", push)
    newer = ("somebody", "a newer word")
    threads = [threading.Thread(target=renewal.start, args=(object(),)),
               threading.Thread(target=renewal._next, args=(newer,))]
    threads[0].start()
    assert pushing.wait(10)
    threads[1].start()
    threads[1].join(0.2)  # it waits for the first push
    go.set()
    for thread in threads:
        thread.join(10)
    assert pushed == [PAIR, newer]
