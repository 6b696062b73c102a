"""Seconds to milliseconds: which values are accepted, which are rejected, and the text of the error.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import threading
from datetime import timedelta
from decimal import Decimal
from typing import Any, Callable, Dict

import pytest
import redlatch
from redlatch.durations import SECONDS_MAX, delay_ms, lease_ms, limit_ms, span_ms, wait_ms
from redlatch.errors import InvalidArgumentError

ALL = (wait_ms, lease_ms, limit_ms, span_ms, delay_ms)
ENDLESS = (wait_ms, lease_ms, limit_ms)
POSITIVE = (lease_ms, limit_ms, span_ms)
# The expectation that each function states in its error.
EXPECTED: Dict[Callable[[Any, str], int], str] = {
    wait_ms: "None or -1 to wait for ever, 0 to try once, or seconds",
    lease_ms: "None for a lease that is renewed, or more than 0 seconds",
    limit_ms: "None for no limit, or more than 0 seconds",
    span_ms: "more than 0 seconds",
    delay_ms: "0 or more seconds",
}


@pytest.mark.parametrize("convert", ALL)
@pytest.mark.parametrize(
    "seconds, milliseconds",
    [
        (1, 1000),
        (0.25, 250),
        (0.07, 70),
        (2.0004, 2000),
        (1e-9, 1),
        (timedelta(minutes=1), 60000),
        (timedelta(microseconds=1), 1),
        (SECONDS_MAX, SECONDS_MAX * 1000),
    ],
)
def test_seconds_become_milliseconds(convert: Callable[[Any, str], int], seconds: Any, milliseconds: int) -> None:
    assert convert(seconds, "timeout") == milliseconds


@pytest.mark.parametrize("convert", ENDLESS)
@pytest.mark.parametrize("seconds", [None, -1, -1.0])
def test_none_and_minus_one_are_endless(convert: Callable[[Any, str], int], seconds: Any) -> None:
    assert convert(seconds, "timeout") == -1


@pytest.mark.parametrize("seconds", [0, 0.0, timedelta()])
def test_nothing_is_a_wait_but_no_lease(seconds: Any) -> None:
    assert wait_ms(seconds, "timeout") == 0
    assert delay_ms(seconds, "linger") == 0
    for convert in POSITIVE:
        with pytest.raises(InvalidArgumentError) as caught:
            convert(seconds, "lease")
        assert str(caught.value) == f"lease is {seconds!r}; expected {EXPECTED[convert]}"


@pytest.mark.parametrize("convert", ALL)
@pytest.mark.parametrize(
    "seconds",
    [
        -2,
        -0.001,
        float("nan"),
        float("inf"),
        float("-inf"),
        SECONDS_MAX + 1,
        10**400,
        timedelta(seconds=-1),
        timedelta.max,
    ],
)
def test_impossible_values_are_named(convert: Callable[[Any, str], int], seconds: Any) -> None:
    with pytest.raises(ValueError) as caught:
        convert(seconds, "how_long")
    assert isinstance(caught.value, InvalidArgumentError)
    assert str(caught.value) == f"how_long is {seconds!r}; expected {EXPECTED[convert]}, at most {SECONDS_MAX}"


@pytest.mark.parametrize("convert", ALL)
@pytest.mark.parametrize("seconds", [True, False, "5", b"5", [], Decimal(5), 1j, object()])
def test_other_types_are_refused(convert: Callable[[Any, str], int], seconds: Any) -> None:
    with pytest.raises(TypeError) as caught:
        convert(seconds, "how_long")
    assert str(caught.value) == (
        f"how_long is {seconds!r}, of type {type(seconds).__name__}; expected {EXPECTED[convert]}, "
        "as a number or timedelta"
    )


@pytest.mark.parametrize("convert", (span_ms, delay_ms))
def test_what_must_end_is_never_endless(convert: Callable[[Any, str], int]) -> None:
    with pytest.raises(TypeError):
        convert(None, "seconds")
    with pytest.raises(ValueError):
        convert(-1, "seconds")


def test_the_longest_time_of_the_standard_library_is_endless() -> None:
    assert wait_ms(threading.TIMEOUT_MAX, "timeout") == -1


def test_the_longest_time_that_is_named_is_one_of_the_core(client: redlatch.Client) -> None:
    lock = client.lock("x", timeout=SECONDS_MAX, lease=SECONDS_MAX, max_hold=SECONDS_MAX)
    for longest in (SECONDS_MAX, threading.TIMEOUT_MAX):
        with pytest.raises(redlatch.UnreachableError):
            lock.acquire(timeout=longest)
    for call in (lambda: client.lock("x", lease=4e8), lambda: lock.extend(4e8), lambda: lock.acquire(timeout=4e8)):
        with pytest.raises(InvalidArgumentError, match=rf"(lease|seconds|timeout) is .*, at most {SECONDS_MAX}$"):
            call()
