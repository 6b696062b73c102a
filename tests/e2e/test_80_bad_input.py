# SPDX-License-Identifier: Apache-2.0
"""Bad input raises an error that names the value and what was expected. No error contains a password."""

from __future__ import annotations

import logging
import math
import pickle
from datetime import timedelta
from typing import Any, Callable, Dict, Iterator

import pytest
import redlatch
from scenes import play, scenes_of
from support import HttpServer, RedisServer, ScriptedServer, closed_port
from support.resp import ErrorReply

MakeServer = Callable[..., RedisServer]

# No error, log line or repr may contain this password.
SECRET = "hunter2-open/sesame"
QUOTED = "hunter2-open%2Fsesame"


@pytest.fixture(scope="module")
def client(module_server: RedisServer) -> Iterator[redlatch.Client]:
    """A client for tests whose calls are refused before anything is sent."""
    with redlatch.connect(module_server.url) as opened:
        yield opened


@pytest.mark.parametrize("scene", scenes_of("scenes_input"))
def test_in_c(server: RedisServer, lock_name: str, scene: str) -> None:
    play("scenes_input", scene, server.url, lock_name)


# ----------------------------------------------------------------------------------------------------------- names --


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", ("0 bytes", "1 to 65535")),
        (b"", ("0 bytes", "1 to 65535")),
        ("n" * 65_536, ("65536 bytes", "1 to 65535")),
        ("\u20ac" * 21_846, ("65538 bytes", "1 to 65535")),
        ("a\ud800b", ("surrogate", "expected")),
    ],
)
def test_names_out_of_range(client: redlatch.Client, name: Any, words: Any) -> None:
    with pytest.raises(ValueError) as caught:
        client.lock(name)
    assert isinstance(caught.value, redlatch.InvalidArgumentError) and caught.value.status_name == "invalid"
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.parametrize("name", [None, 7, 1.5, ["x"], bytearray(b"x")])
def test_names_of_another_type(client: redlatch.Client, name: Any) -> None:
    with pytest.raises(TypeError, match=f"{type(name).__name__}.*expected str or bytes"):
        client.lock(name)


@pytest.mark.parametrize("name", ["n", "n" * 65_535, b"a\0b\xff", "a b\r\n\0", "\U0001f512", "{", "}", "*"])
def test_every_other_name_is_good(client: redlatch.Client, server: RedisServer, name: Any) -> None:
    with client.lock(name):
        assert server.client().exists(name) == 1
    assert server.client().exists(name) == 0


def test_name_and_prefix_together_are_limited(server: RedisServer) -> None:
    with redlatch.connect(server.url, name_prefix="pre:") as client:
        with client.lock("n" * 65_531):
            assert server.client().exists("pre:" + "n" * 65_531)
        with pytest.raises(redlatch.InvalidArgumentError, match=r"65536 bytes.*1 to 65535"):
            client.lock("n" * 65_532)
    with pytest.raises(redlatch.InvalidArgumentError, match=r"name_prefix.*65535"):
        redlatch.connect(server.url, name_prefix="p" * 65_535)


# ------------------------------------------------------------------------------------------------------- durations --

BAD_LEASES = [0, 0.0, -0.5, -2, -math.inf, math.nan, math.inf, 1e300, 10**30, 10**10, timedelta(0), timedelta(-3)]


@pytest.mark.parametrize("lease", BAD_LEASES, ids=repr)
def test_leases_out_of_range(client: redlatch.Client, lease: Any) -> None:
    lock = client.lock("leases")
    calls: Dict[str, Callable[[], object]] = {
        "lease": lambda: client.lock("leases", lease=lease),
        "max_hold": lambda: client.lock("leases", max_hold=lease),
        "seconds": lambda: lock.extend(lease),
    }
    for argument, call in calls.items():
        with pytest.raises(redlatch.InvalidArgumentError) as caught:
            call()
        words = str(caught.value)
        assert argument in words and "expected" in words and repr(lease) in words, words
    with pytest.raises(redlatch.InvalidArgumentError, match="lease is"):
        lock.acquire(lease=lease)
    assert not lock.owned() and not lock.state().locked


@pytest.mark.parametrize("wait", [-0.5, -2, -math.inf, math.nan, math.inf, 1e300, timedelta(-3)], ids=repr)
def test_waits_out_of_range(client: redlatch.Client, wait: Any) -> None:
    with pytest.raises(redlatch.InvalidArgumentError, match=r"timeout is .*expected"):
        client.lock("waits", timeout=wait)
    with pytest.raises(redlatch.InvalidArgumentError, match=r"timeout is .*expected"):
        client.lock("waits").acquire(timeout=wait)
    assert not client.lock("waits").state().locked


@pytest.mark.parametrize("value", ["1", b"1", True, [], object()], ids=lambda value: type(value).__name__)
def test_durations_of_another_type(client: redlatch.Client, value: Any) -> None:
    for call in (
        lambda: client.lock("x", timeout=value),
        lambda: client.lock("x", lease=value),
        lambda: client.lock("x").acquire(timeout=value),
        lambda: client.lock("x").extend(value),
        lambda: redlatch.connect("redis://127.0.0.1:1", watchdog_lease=value),
    ):
        with pytest.raises(TypeError, match=f"{type(value).__name__}.*expected"):
            call()


# --------------------------------------------------------------------------------------------------------- options --


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"watchdog_lease": 0.029}, ("watchdog_lease", "29", "30")),
        ({"watchdog_lease": 86_401}, ("watchdog_lease", "86401000", "86400000")),
        ({"watchdog_lease": 0}, ("watchdog_lease is 0", "expected")),
        ({"connect_timeout": -3}, ("connect_timeout is -3", "expected")),
        ({"command_timeout": math.nan}, ("command_timeout is nan", "expected")),
        ({"tuning": redlatch.Tuning(dead_peer_timeout=0.001)}, ("dead_peer_timeout", "1", "10")),
        ({"tuning": redlatch.Tuning(close_timeout=-1)}, ("close_timeout is -1", "expected")),
        ({"tuning": redlatch.Tuning(linger=math.inf)}, ("linger is inf", "expected")),
        ({"database": -1}, ("database is -1", "expected")),
        ({"database": 1_000_001}, ("database is 1000001", "1000000")),
        ({"username": "a\0b", "password": "x"}, ("username", "NUL")),
    ],
    ids=repr,
)
def test_options_out_of_range(server: RedisServer, options: Any, words: Any) -> None:
    with pytest.raises(redlatch.InvalidArgumentError) as caught:
        redlatch.connect(server.url, **options)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_unknown_options(server: RedisServer, client: redlatch.Client) -> None:
    anything: Any = {"time_out": 3}
    with pytest.raises(TypeError, match="time_out"):
        redlatch.connect(server.url, **anything)
    with pytest.raises(TypeError, match="time_out"):
        client.lock("x", **anything)
    owner: Any = "process"
    with pytest.raises(redlatch.InvalidArgumentError, match=r"'process'.*expected 'thread' or 'handle'"):
        client.lock("x", owner=owner)
    lazy: Any = 1
    with pytest.raises(TypeError, match=r"lazy is 1.*expected True or False"):
        redlatch.connect(server.url, lazy=lazy)


def test_nothing_can_be_pickled(client: redlatch.Client) -> None:
    for thing in (client, client.lock("x")):
        with pytest.raises(TypeError, match="each process"):
            pickle.dumps(thing)


# ------------------------------------------------------------------------------------------------------------ URLs --

# What is wrong with each URL. The error must say it.
BAD_URLS = {
    "": "scheme",
    "localhost": "scheme",
    "localhost:6379": "scheme",
    "127.0.0.1:6379/0": "scheme",
    "redis": "scheme",
    "redis:": "scheme",
    "redis:/h": "scheme",
    "redis//h": "scheme",
    "REDIS://h": 'scheme "REDIS"',
    "http://h": 'scheme "http"',
    "tcp://h:6379": 'scheme "tcp"',
    " redis://h": "scheme",
    "redis://": "host",
    "redis:///0": "host",
    "redis://:6379": "host",
    "redis://@": "host",
    "redis://h:0": 'port "0"',
    "redis://h:65536": 'port "65536"',
    "redis://h:": "port",
    "redis://h:-1": "port",
    "redis://h:6379x": "port",
    "redis://h:1:2": "port",
    "redis://[::1": "[IPv6 address]",
    "redis://[::1]6379": "[IPv6 address]",
    "redis://[]": "host",
    "redis://h h": "blanks",
    "redis://h/x": 'database "x"',
    "redis://h/-1": 'database "-1"',
    "redis://h/1/2": 'database "1/2"',
    "redis://h/1000001": 'database "1000001"',
    "redis://h/0?nonsense=1": 'option "nonsense"',
    "redis://h/0?db": 'option "db"',
    "redis://h/0?db=x": 'db "x"',
    "redis://h/0?connect_timeout=0": 'connect_timeout "0"',
    "redis://h/0?connect_timeout=nan": 'connect_timeout "nan"',
    "redis://h/0?command_timeout=-1": 'command_timeout "-1"',
    "redis://h/0?command_timeout=1e9": 'command_timeout "1e9"',
    "redis://h/0?dead_peer_timeout=": 'dead_peer_timeout ""',
    "redis://h/0?name_prefix=%zz": "%zz",
    "redis://%00@h": "%00",
    "redis://h%0": "%0",
    "unix://": "absolute path",
    "unix://relative": "absolute path",
    "unix:///" + "p" * 108: "107 bytes",
    "redis://" + "h" * 5000: "4096 bytes",
}


@pytest.mark.parametrize("url", list(BAD_URLS), ids=lambda url: url[:40] or "empty")
def test_wrong_urls(url: str) -> None:
    with pytest.raises(redlatch.InvalidArgumentError) as caught:
        redlatch.connect(url)
    assert BAD_URLS[url] in str(caught.value) and "expected" in str(caught.value), str(caught.value)


def test_wrong_url_in_the_environment(monkeypatch: pytest.MonkeyPatch, server: RedisServer) -> None:
    monkeypatch.setenv("REDIS_URL", "http://h")
    with pytest.raises(redlatch.InvalidArgumentError, match='scheme "http"'):
        redlatch.connect()
    monkeypatch.setenv("REDIS_URL", server.url)
    with redlatch.connect() as client:
        assert str(server.port) in repr(client)


@pytest.mark.parametrize("url", [b"redis://h", 7, object()], ids=lambda url: type(url).__name__)
def test_urls_of_another_type(url: Any) -> None:
    with pytest.raises(TypeError, match="url is of type"):
        redlatch.connect(url)
    with pytest.raises(redlatch.InvalidArgumentError, match="NUL"):
        redlatch.connect("redis://h\0/0")


# ------------------------------------------------------------------------------------------------------- passwords --


def everything_reported(error: BaseException, log: pytest.LogCaptureFixture) -> str:
    """Returns what a program could print of an error, of the errors before it, and of the log."""
    parts = [str(error), repr(error), repr(error.args), log.text]
    return "\n".join([*parts, everything_reported(error.__context__, log) if error.__context__ else ""])


# URLs that are nearly right, with a password somewhere. Some lack the host.
SECRET_URLS = [
    "redis://:{s}@h:x/0",
    "redis://:{s}@h:6379/x",
    "redis://:{s}@h:6379/0?nonsense=1",
    "redis://user:{s}@[::1",
    "redis://user:{s}@",
    "redis://user:{s}@h h",
    "redis://:{s}",
    "redis://user:{s}",
    "redis://user:{s}/0",
    "redis://:{s}%@h",
    "redis://:{s}%zz@h",
    "redis://user:{s}@@h:x",
    "redis://user:{s}?x@h",
    "redis://user:{s}/x@h",
    "redis://user:{s}#x@h:x",
    "http://:{s}@h",
    ":{s}@h:6379",
    "{s}",
    "rediss://:{s}@h",
    "unix://:{s}@relative",
    "unix://user:{s}/path@x",
    "unix://:{s}",
    "redis://h/0?password={s}",
    "redis://{s}%2x@h",
    "redis://{s}%2x",
    "redis://h?{s}",
    "redis://h?db=1&{s}",
    "redis://h?{s}=1",
    "unix:///p?{s}",
]


@pytest.mark.parametrize("template", SECRET_URLS)
def test_passwords_of_wrong_urls_are_not_shown(template: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for secret in ("hunter2", SECRET, QUOTED):
        with pytest.raises(redlatch.RedlatchError) as caught:
            redlatch.connect(template.format(s=secret), connect_timeout=0.2)
        assert "hunter2" not in everything_reported(caught.value, caplog), str(caught.value)


def test_passwords_of_right_urls_are_not_shown(make_server: MakeServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    server = make_server(requirepass=SECRET)
    with redlatch.connect(server.url) as client:
        lock = client.lock("x")
        lock.acquire()
        hold = lock.held()
        shown = [repr(thing) for thing in (client, lock, hold)] + [str(client.stats())]
        assert not any("hunter2" in words for words in shown)
        server.stop()
        with pytest.raises(redlatch.RedlatchError) as caught:
            lock.acquire(timeout=0.2)
        assert "hunter2" not in everything_reported(caught.value, caplog)
    with redlatch.connect(f"redis://user:{SECRET.replace('/', '%2F')}@127.0.0.1:1/0?db=3", lazy=True) as client:
        assert "hunter2" not in repr(client) and "127.0.0.1:1" in repr(client)


@pytest.mark.parametrize("form", ["url", "option", "user"])
def test_a_wrong_password_is_not_shown(
    make_server: MakeServer, caplog: pytest.LogCaptureFixture, form: str
) -> None:
    caplog.set_level(logging.DEBUG)
    server = make_server(requirepass="another")
    host = f"127.0.0.1:{server.port}/0"
    with pytest.raises(redlatch.ServerError) as caught:
        if form == "url":
            redlatch.connect(f"redis://:{QUOTED}@{host}")
        elif form == "option":
            redlatch.connect(f"redis://{host}", password=SECRET)
        else:
            redlatch.connect(f"redis://somebody:{QUOTED}@{host}")
    assert caught.value.status_name == "authentication"
    assert "WRONGPASS" in str(caught.value)
    assert "hunter2" not in everything_reported(caught.value, caplog)
    if form == "option":  # a password that is part of the server's message does not cut the message
        rest = " or user is disabled" if server.version >= (6, 2, 0) else ""
        with pytest.raises(redlatch.ServerError, match=f"WRONGPASS invalid username-password pair{rest}"):
            redlatch.connect(f"redis://{host}", password="p")


def test_servers_that_echo_the_password_are_not_quoted(
    make_server: MakeServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    renamed = make_server(rename_command=("AUTH", ""))
    echo = ErrorReply(f"ERR you said {SECRET}, and that is no good")
    with ScriptedServer([echo]) as echoing, HttpServer() as http, closed_port() as closed:
        for port in (renamed.port, echoing.port, http.port, closed):
            with pytest.raises(redlatch.RedlatchError) as caught:
                redlatch.connect(f"redis://:{QUOTED}@127.0.0.1:{port}/0", connect_timeout=1)
            assert str(port) in str(caught.value)
            assert "hunter2" not in everything_reported(caught.value, caplog), str(caught.value)
