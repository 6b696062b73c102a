"""Arguments of connect(), Client.lock() and Lock's methods that are rejected before anything is sent.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import inspect
import logging
import re
import threading
from typing import Any, Dict, Optional

import pytest
import redlatch
from redlatch._ffi import lib
from redlatch.options import client_options, name_bytes
from redlatch.tuning import CONNECT_TIMEOUT


@pytest.mark.parametrize("name", ["", b"", "x" * 65536, "ä" * 32768])
def test_a_name_of_a_wrong_size_is_refused(client: redlatch.Client, name: Any) -> None:
    with pytest.raises(redlatch.InvalidArgumentError, match=r"name is \d+ bytes long; expected 1 to 65535 bytes"):
        client.lock(name)


@pytest.mark.parametrize("name", [None, 7, bytearray(b"x"), ["x"]])
def test_a_name_of_a_wrong_type_is_refused(client: redlatch.Client, name: Any) -> None:
    with pytest.raises(TypeError, match=f"name is of type {type(name).__name__}; expected str or bytes"):
        client.lock(name)


def test_names_are_bytes_of_any_value(client: redlatch.Client) -> None:
    for name in ("ä", b"\x00\xff", "x" * 65535):
        assert client.lock(name).name == name
    assert name_bytes("ä") == b"\xc3\xa4"
    with pytest.raises(redlatch.InvalidArgumentError, match="lone surrogate at position 1"):
        client.lock("a\udc80")


@pytest.mark.parametrize(
    "keywords",
    [
        {"timeout": -3},
        {"timeout": float("nan")},
        {"lease": 0},
        {"lease": -5},
        {"max_hold": 0},
        {"owner": "process"},
        {"owner": None},
    ],
)
def test_options_of_a_lock_are_checked(client: redlatch.Client, keywords: Dict[str, Any]) -> None:
    ((argument, value),) = keywords.items()
    with pytest.raises(redlatch.InvalidArgumentError) as caught:
        client.lock("x", **keywords)
    assert f"{argument} is {value!r}; expected " in str(caught.value)


@pytest.mark.parametrize("values", [None, 5, "ab", b"ab"])
def test_values_of_a_group_are_a_list(client: redlatch.Client, values: Any) -> None:
    with pytest.raises(TypeError, match=f"values is {values!r}.*; expected an iterable of str or bytes"):
        client.group_lock("g", values)
    assert client.group_lock("g", (each for each in "ab")).name == "g"


def test_acquire_has_the_signature_of_threading_lock(client: redlatch.Client) -> None:
    parameters = list(inspect.signature(client.lock("x").acquire).parameters.values())
    assert [(parameter.name, repr(parameter.default)) for parameter in parameters[:2]] == [
        ("blocking", "True"),
        ("timeout", "LOCK_TIMEOUT"),
    ]
    assert parameters[2].kind is inspect.Parameter.KEYWORD_ONLY


@pytest.mark.parametrize("arguments", [(False, 1), (False, 0), (True, -2)])
def test_acquire_refuses_what_threading_lock_refuses(client: redlatch.Client, arguments: Any) -> None:
    with pytest.raises(ValueError):
        threading.Lock().acquire(*arguments)
    with pytest.raises(ValueError):
        client.lock("x").acquire(*arguments)


@pytest.mark.parametrize("seconds", [0.5, 5, 2, -1, 1.0, "no", None])
def test_a_time_out_instead_of_blocking_is_noticed(client: redlatch.Client, seconds: Any) -> None:
    for call in (
        lambda: client.lock("x").acquire(seconds),
        lambda: client.semaphore("x").acquire(blocking=seconds),
        lambda: client.permit_semaphore("x").acquire(blocking=seconds),
    ):
        with pytest.raises(TypeError, match=f"blocking is {seconds!r}; .*did you mean timeout={seconds!r}"):
            call()


@pytest.mark.parametrize("blocking", [True, False, 1, 0])
def test_blocking_is_yes_or_no(client: redlatch.Client, blocking: Any) -> None:
    with pytest.raises(redlatch.UnreachableError):
        client.lock("x").acquire(blocking)


@pytest.mark.parametrize("seconds", [0, -1, float("inf")])
def test_extend_wants_an_end(client: redlatch.Client, seconds: float) -> None:
    with pytest.raises(redlatch.InvalidArgumentError, match=r"seconds is .*; expected more than 0 seconds"):
        client.lock("x").extend(seconds)


@pytest.mark.parametrize(
    "argument, value, kind",
    [
        ("watchdog_lease", 0, ValueError),
        ("watchdog_lease", "30", TypeError),
        ("connect_timeout", -1, ValueError),
        ("database", -1, ValueError),
        ("database", 2**70, ValueError),
        ("database", "0", TypeError),
        ("database", True, TypeError),
        ("lazy", 1, TypeError),
        ("command_timeout", None, TypeError),
        ("tuning", {"linger": 1}, TypeError),
        ("release_on_close", 0, TypeError),
    ],
)
def test_options_of_a_client_are_checked(argument: str, value: Any, kind: type) -> None:
    with pytest.raises(kind, match=re.escape(f"{argument} is {value!r}")):
        redlatch.connect("redis://127.0.0.1:9", **{"lazy": True, argument: value})


@pytest.mark.parametrize(
    "argument, value, kind",
    [("linger", -1, ValueError), ("dead_peer_timeout", 0, ValueError), ("busy_poll", "no", TypeError)],
)
def test_tuning_is_checked(argument: str, value: Any, kind: type) -> None:
    with pytest.raises(kind, match=f"{argument} is {value!r}"):
        redlatch.connect("redis://127.0.0.1:9", lazy=True, tuning=redlatch.Tuning(**{argument: value}))


def test_shown_defaults_are_those_of_the_core() -> None:
    options, _ = client_options({"name_prefix": ""})
    parameters = [*inspect.signature(redlatch.connect).parameters.values()]
    parameters += inspect.signature(redlatch.Tuning).parameters.values()
    shown = {each.name: each.default for each in parameters if type(each.default) in (int, bool)}
    assert len(shown) == 9
    for name, default in shown.items():
        field = getattr(options, f"{name}_ms", None)
        assert (getattr(options, name) if field is None else field / 1000) == default, name
    assert "connect_timeout: 'Seconds' = 5," in str(inspect.signature(redlatch.connect))
    assert repr(redlatch.Tuning(linger=0)).startswith("Tuning(busy_poll=True, linger=0, dead_peer_timeout=10, ")


def test_the_url_wins_over_a_default_and_an_option_over_the_url() -> None:
    default, _ = client_options({"name_prefix": "", "connect_timeout": CONNECT_TIMEOUT})
    assert default.connect_timeout_ms == lib.REDLATCH_DEFAULT, "so the URL has its say"
    given, _ = client_options({"name_prefix": "", "connect_timeout": 5})
    assert given.connect_timeout_ms == 5000


def test_bounds_of_whole_numbers_are_those_of_the_core(client: redlatch.Client) -> None:
    for database in (-1, 1_000_001, 2**70):
        with pytest.raises(redlatch.InvalidArgumentError, match=f"database is {database}; expected 0 to 1000000$"):
            redlatch.connect("redis://127.0.0.1:9", lazy=True, database=database)
    redlatch.connect("redis://127.0.0.1:9", lazy=True, database=1_000_000).close()
    for multiplier in (0, 1001, 2**70):
        with pytest.raises(
            redlatch.InvalidArgumentError, match=f"back_off_multiplier is {multiplier}; expected 1 to 1000$"
        ):
            client.spin_lock("x", back_off_multiplier=multiplier)
    client.spin_lock("x", back_off_multiplier=1000)


def test_options_reach_their_fields() -> None:
    untouched, _ = client_options({"name_prefix": ""})
    options, alive = client_options(
        {"watchdog_lease": 7, "linger": 0, "busy_poll": False, "database": 3, "username": None, "name_prefix": b"a\0b"}
    )
    assert (options.watchdog_lease_ms, options.linger_ms, options.busy_poll, options.database) == (7000, 0, 0, 3)
    assert options.name_prefix_size == 3 and len(alive) == 1
    assert options.connect_timeout_ms == untouched.connect_timeout_ms
    assert (untouched.watchdog_lease_ms, untouched.release_on_close, untouched.busy_poll) == (30000, 1, 1)
    assert untouched.language == lib.REDLATCH_LANGUAGE_PYTHON, "so messages name what Python has"


@pytest.mark.parametrize("url", [7, b"redis://127.0.0.1:9"])
def test_a_url_is_a_string(url: Any) -> None:
    with pytest.raises(TypeError, match=f"url is of type {type(url).__name__}; expected str or None"):
        redlatch.connect(url)


@pytest.mark.parametrize(
    "keywords", [{"url": "redis://:open-sesame\0@x"}, {"password": "open-sesame\0"}, {"username": "open-sesame\0"}]
)
def test_a_secret_is_not_quoted_when_it_is_refused(keywords: Dict[str, str]) -> None:
    with pytest.raises(redlatch.InvalidArgumentError) as caught:
        redlatch.connect(**{"url": "redis://127.0.0.1:9", "lazy": True, **keywords})  # type: ignore[arg-type]
    (argument,) = keywords
    assert str(caught.value) == f"{argument} holds a NUL byte; expected a string without one"


@pytest.mark.parametrize(
    "url, database, shown",
    [
        ("redis://127.0.0.1:7000/0", None, "redis://127.0.0.1:7000/0"),
        ("redis://localhost", None, "redis://localhost:6379/0"),
        ("redis://user:pass@[::1]/1?connect_timeout=2", 3, "redis://[::1]:6379/3"),
        ("redis://:p%40ss@host:1?db=4", None, "redis://host:1/4"),
        ("unix://:secret@/run/redis.sock?db=2", None, "unix:///run/redis.sock?db=2"),
        (None, 5, "redis://of-the-environment:6379/5"),
    ],
)
def test_the_url_in_use_is_shown_without_secrets(
    url: Optional[str], database: Optional[int], shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDIS_URL", "redis://me:secret@of-the-environment/1")
    with redlatch.connect(url, database=database, lazy=True) as client:
        assert client.url == shown and f"of {shown}, open" in repr(client)


def test_nothing_shows_the_password(client: redlatch.Client, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    lock = client.lock("x")
    with pytest.raises(redlatch.UnreachableError) as caught:
        lock.state()
    for text in (repr(client), repr(lock), str(caught.value), repr(caught.value), caplog.text):
        assert "sesame" not in text and "somebody" not in text
    assert caught.value.lock_name == "x" and caught.value.retryable
