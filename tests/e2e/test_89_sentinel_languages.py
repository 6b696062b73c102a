# SPDX-License-Identifier: Apache-2.0
"""Sentinels in the command, in Lua and in Python: the options, the event of a move, and who gets to see passwords."""

from __future__ import annotations

import os
import subprocess
from typing import Iterator

import pytest
import redlatch
from support import wait_until
from support.lua_programs import environment
from support.sentinels import Watched
from support.shell import program

SECRET = "S3CR3T"
# Holds a lock, says so, and goes on until the event of a move has come.
LUA = """
local redlatch = require "redlatch"
local client = assert(redlatch.connect(arg[1], {sentinel_password = arg[3]}))
assert(client:event_fd())
local lock, other = client:lock(arg[2]), client:lock(arg[2] .. ":other")
assert(lock:acquire())
print("held")
io.stdout:flush()
local moved
repeat
    if other:acquire() then other:release() end
    local event = client:next_event()
    moved = event and event.kind == "moved" and event or moved
until moved
assert(moved.ok and not moved.tag)
print(moved.old_address, moved.new_address, lock:release())
"""


@pytest.fixture(name="watched", scope="module")
def watched_fixture() -> Iterator[Watched]:
    """Servers, and sentinels with a password."""
    with Watched(password=SECRET) as watched:
        yield watched


def command(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs the command with these variables, and none else that say where a server is."""
    usual = {name: value for name, value in os.environ.items() if name not in ("REDIS_URL", "REDISCLI_AUTH")}
    return subprocess.run(
        [program(), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**usual, **variables},
        stdin=subprocess.DEVNULL,
    )


def test_the_command_takes_a_lock(watched: Watched, lock_name: str) -> None:
    """On the master; what it runs gets to know the URL, but no password from it."""
    url = watched.url(query=f"?sentinel_password={SECRET}&connect_timeout=4")
    key = ("redis-cli", "-s", watched.master.unix_path, "exists", lock_name)
    done = command("run", lock_name, "--", *key, REDIS_URL=url)
    assert done.returncode == 0 and done.stdout.strip() in ("1", "(integer) 1"), done.stderr
    done = command("run", lock_name, "--", "sh", "-c", "env | grep ^REDLATCH_", REDIS_URL=url)
    assert f"REDLATCH_URL={watched.url(query='?connect_timeout=4')}\n" in done.stdout and SECRET not in done.stdout


@pytest.mark.parametrize("query", ["?sentinel_password={}", "?connect_timeout=4&sentinel_password={}&db=0"])
def test_a_password_of_the_command_line_is_blotted_out(watched: Watched, lock_name: str, query: str) -> None:
    """As that of the server is."""
    url = watched.url(query=query.format(SECRET))
    done = command("run", "-u", url, lock_name, "--", "sh", "-c", 'env; tr "\\0" "\\n" </proc/$PPID/cmdline')
    assert done.returncode == 0 and SECRET not in done.stdout + done.stderr
    assert "the password in -u" in done.stderr


def test_python_takes_a_password(watched: Watched, lock_name: str) -> None:
    """The option wins over the URL."""
    url = watched.url(query="?sentinel_password=wrong")
    with redlatch.connect(url, sentinel_password=SECRET) as client, client.lock(lock_name, timeout=5):
        assert watched.master.admin.exists(lock_name)
    with pytest.raises(redlatch.AuthenticationError):
        redlatch.connect(url)


def test_lua_is_notified_of_a_move(watched: Watched, lock_name: str) -> None:
    """The event has both addresses; the hold goes on."""
    old = watched.master
    with subprocess.Popen(
        ["lua5.4", "-", watched.url(), lock_name, SECRET],
        env=environment("lua5.4"),
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as lua:
        assert lua.stdin is not None and lua.stdout is not None
        lua.stdin.write(LUA)
        lua.stdin.close()
        assert lua.stdout.readline() == "held\n"
        wait_until(watched.in_step)
        new = watched.failover()
        assert lua.stdout.readline().split() == [f"127.0.0.1:{old.port}", f"127.0.0.1:{new.port}", "true"]
        assert lua.wait(10.0) == 0
