# SPDX-License-Identifier: Apache-2.0
"""Tests what the page on OpenResty says, with nginx and its Lua module: the stage `openresty` of `./dev test --all`.

REDLATCH_TEST_NGINX names the folder into which support/nginx.py unpacked Debian's packages. Without it the installed
packages are used.
"""

from __future__ import annotations

import concurrent.futures
import os
import shutil
import signal
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Iterator, Tuple

import pytest
from support import RedisServer, RedissonShapedPeer, free_port, wait_until
from support.lua_programs import EXAMPLES, ROOT
from support.wire import subscribers

FOLDER = os.environ.get("REDLATCH_TEST_NGINX", "")
MODULES = f"{FOLDER}/usr/lib/nginx/modules"
# Keeps nginx's temporary files in the test's folder. By default they are in folders that an installation creates.
KEPT_HERE = "".join(f"{what}_temp_path {what}; " for what in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
LOADED = "".join(f"load_module {MODULES}/{name}.so; " for name in ("ndk_http_module", "ngx_http_lua_module"))


class Nginx:
    """The server of the example, on a free port."""

    def __init__(self, folder: Path, url: str, *changes: Tuple[str, str]) -> None:
        self.port = free_port()
        for path in (EXAMPLES / "openresty").iterdir():
            shutil.copy(path, folder)
        configuration = folder / "nginx.conf"
        text = configuration.read_text(encoding="utf-8")
        for old, new in [("8080", str(self.port)), ("access_log off;", f"access_log off; {KEPT_HERE}"), *changes]:
            assert old in text
            text = text.replace(old, new)
        configuration.write_text(text, encoding="utf-8")
        rock = ROOT / "lua-rock"
        environment = {
            **os.environ,
            "REDIS_URL": url,
            "LUA_PATH": f"{folder}/?.lua;{rock}/?.lua;{rock}/?/init.lua;{FOLDER}/usr/share/lua/5.1/?.lua;;",
            "LD_LIBRARY_PATH": ":".join(map(str, Path(f"{FOLDER}/").glob("**/*-linux-gnu"))) if FOLDER else "",
            "LUA_CPATH": f"{ROOT}/build/lua/lua5.1/?.so;;",
        }
        self.log = folder / "log"
        with self.log.open("w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [
                    *[f"{FOLDER}/usr/sbin/nginx", "-p", str(folder), "-c", str(configuration)],
                    *["-g", f"user root; daemon off; {LOADED}"],
                ],
                env=environment,
                stderr=log,
            )
        wait_until(self.is_alive, 10.0, self.log.read_text)

    def get(self, path: str) -> str:
        """Returns the server's response to a path."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/{path}", timeout=20) as answer:
            text: str = answer.read().decode().strip()
        return text

    def is_alive(self) -> bool:
        """Returns whether the server responds."""
        try:
            return self.get("alive") == "alive"
        except OSError:
            return False


@pytest.fixture
def nginx(server: RedisServer, tmp_path: Path) -> Iterator[Nginx]:
    """A running server."""
    started = Nginx(tmp_path, server.url)
    yield started
    started.process.kill()
    started.process.wait()


@pytest.mark.parametrize("way", ["wait", "thread", "blocks"])
def test_waiting(nginx: Nginx, server: RedisServer, peer: RedissonShapedPeer, way: str, lock_name: str) -> None:
    """While a request waits for the lock, nginx serves other requests, except with the way `blocks`."""
    peer.lock(lock_name)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        answer = pool.submit(nginx.get, f"{way}?name={lock_name}")
        wait_until(lambda: subscribers(server, lock_name) == 1)
        alive = pool.submit(nginx.get, "alive")
        served = bool(concurrent.futures.wait([alive], timeout=1.0).done)
        assert served == (way != "blocks")
        assert not answer.done()
        peer.unlock(lock_name)
        assert answer.result() == "worked"
        assert alive.result() == "alive"


def test_trying(nginx: Nginx, lock_name: str) -> None:
    """Two requests of one worker try at the same time. One gets the lock and the other a timeout, although both use the
    same client."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        answers = [pool.submit(nginx.get, f"try?name={lock_name}") for _ in range(2)]
        assert sorted(answer.result() for answer in answers) == ["timeout", "worked"]


def test_many_waiters(nginx: Nginx, lock_name: str) -> None:
    """Many requests wait at the same time, and each gets the lock in the end."""
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        ways = ["wait", "thread"] * 10
        answers = [pool.submit(nginx.get, f"{way}?name={lock_name}") for way in ways]
        assert [answer.result() for answer in answers] == ["worked"] * 20


def test_timer_and_end(nginx: Nginx, server: RedisServer, lock_name: str) -> None:
    """The timer gets the lock. A server that ends by SIGQUIT leaves no keys."""
    wait_until(lambda: "the timer has the lock" in nginx.log.read_text(encoding="utf-8"))
    assert nginx.get(f"try?name={lock_name}") == "worked"
    nginx.process.send_signal(signal.SIGQUIT)
    assert nginx.process.wait(10.0) == 0
    wait_until(lambda: server.admin.keys("*") == [])


def test_client_of_the_master(server: RedisServer, tmp_path: Path) -> None:
    """A client that was opened before the workers were forked works in a worker. With after_fork = 'refuse' its calls
    fail with FORKED."""
    refuses = "REFUSES = assert(require('redlatch').connect(nil, {after_fork = 'refuse'}))"
    changes = [
        ('require "redlatch"', f'MASTERS = assert(require("redlatch").connect()) {refuses}'),
        (
            "ngx.say(require(\"locks\").block(ngx.var.arg_name))",
            "ngx.say(tostring(MASTERS:lock('x'):try_acquire()), MASTERS:stats().acquired,"
            " select(2, pcall(REFUSES.lock, REFUSES, 'x')), select(3, REFUSES:stats()))",
        ),
    ]
    nginx = Nginx(tmp_path, server.url, *changes)
    try:
        answer = nginx.get("blocks")
        assert answer.startswith("true1"), answer
        assert "open a client in this one" in answer and answer.endswith("forked")
    finally:
        nginx.process.send_signal(signal.SIGQUIT)
        nginx.process.wait(10.0)


def test_no_privileged_agent(server: RedisServer, tmp_path: Path) -> None:
    """Debian's nginx has no privileged agent, so the page says nothing about it."""
    asks = 'AGENT = select(2, require("ngx.process").enable_privileged_agent()) require "redlatch"'
    tells = 'ngx.say(require("locks").block(ngx.var.arg_name))'
    nginx = Nginx(tmp_path, server.url, ('require "redlatch"', asks), (tells, "ngx.say(AGENT)"))
    try:
        assert "missing privileged agent process patch" in nginx.get("blocks")
    finally:
        nginx.process.send_signal(signal.SIGQUIT)
        nginx.process.wait(10.0)


def test_clean(nginx: Nginx) -> None:
    """None of the ways logs a Lua error."""
    for way in ("try", "wait", "thread", "blocks"):
        assert nginx.get(f"{way}?name=x") == "worked"
    time.sleep(0.3)
    assert "[error]" not in nginx.log.read_text(encoding="utf-8")
