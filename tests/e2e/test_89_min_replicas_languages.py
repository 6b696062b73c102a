# SPDX-License-Identifier: Apache-2.0
"""`min_replicas` in Lua, with blocking and started calls, and in the command. `durable`, with and without WAITAOF."""

from __future__ import annotations

import subprocess
import time
from typing import Iterator

import pytest
import redlatch
from support import wait_until
from support.lua_programs import environment
from support.replicas import Pair
from support.server import server_command, server_version
from support.shell import program

TIMEOUT = 0.4

# Makes a blocking and a started acquire while the replica is frozen, prints their results, and does so again after a
# line of input.
LUA = """
local redlatch = require "redlatch"
local client = assert(redlatch.connect(arg[1], {min_replicas = 1, replica_timeout = 0.4}))
local lock, other = client:lock(arg[2]), client:lock(arg[2] .. ":other")
assert(client:event_fd())

local function started(timeout)
    assert(other:start_acquire({timeout = timeout}))
    while true do
        local event = client:next_event()
        if event then
            return event
        end
    end
end

local got, text, code = lock:acquire({timeout = 0})
local event = started(0)
print(got, code, redlatch.is_retryable(code), text:find("acknowledged by 0 of 1 replicas within 0.4 s", 1, true) ~= nil)
print(event.ok, event.code)
io.stdout:flush()
io.stdin:read("l")
print(lock:acquire({timeout = 5}), started(5).ok)
print(lock:release(), other:release())
"""


DURABLE = """
local client = assert(require "redlatch".connect(arg[1], {durable = true}))
print(client:lock(arg[2]):acquire({timeout = 0}))
client:close()
os.exit(true)
"""


@pytest.fixture(name="pair", scope="module")
def pair_fixture() -> Iterator[Pair]:
    """The servers of this module."""
    with Pair() as pair:
        yield pair


@pytest.fixture(autouse=True)
def thaw(pair: Pair) -> Iterator[None]:
    """Each test ends with a replica that acknowledges."""
    yield
    pair.go_on()


def test_lua(pair: Pair, lock_name: str, tmp_path: object) -> None:
    """Blocking and started acquires fail with a code, leave nothing, and succeed when the replica goes on."""
    path = f"{tmp_path}/program.lua"
    with open(path, "w", encoding="utf-8") as file:
        file.write(LUA)
    pair.freeze()
    with subprocess.Popen(
        ["lua5.4", path, pair.master.url, lock_name],
        env=environment("lua5.4"),
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as lua:
        assert lua.stdin is not None and lua.stdout is not None
        assert lua.stdout.readline().split() == ["nil", "not_replicated", "true", "true"]
        assert lua.stdout.readline().split() == ["false", "not_replicated"]
        pair.gone(lock_name, lock_name + ":other")
        pair.go_on()
        lua.stdin.write("go on\n")
        lua.stdin.flush()
        assert lua.stdout.readline().split() == ["true", "true"]
        assert lua.stdout.readline().split() == ["true", "true"]


def test_the_command(pair: Pair, lock_name: str) -> None:
    """The command exits with 69 and prints the reason."""
    url = f"{pair.master.url}?min_replicas=1&replica_timeout=0.3"
    assert subprocess.run([program(), "run", "-u", url, lock_name, "--", "true"], check=False).returncode == 0
    pair.freeze()
    done = subprocess.run(
        [program(), "run", "-n", "-u", url, lock_name, "--", "true"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 69
    assert "acknowledged by 0 of 1 replicas within 0.3 s" in done.stderr
    pair.gone(lock_name)


HAS_WAITAOF = server_version(server_command()) >= (7, 2, 0)


@pytest.mark.skipif(not HAS_WAITAOF, reason="the server has no WAITAOF")
def test_durable(lock_name: str) -> None:
    """A grant is on disk. If the disk takes too long, the acquire fails in time. Both conditions work together."""
    with Pair(appendonly="yes", appendfsync="everysec") as pair:
        with redlatch.connect(pair.master.url, durable=True, replica_timeout=4, min_replicas=1) as client:
            with client.lock(lock_name, timeout=5):
                assert pair.replica.client().exists(lock_name)
        pair.master.admin.config_set("appendfsync", "no")
        with redlatch.connect(pair.master.url, durable=True, replica_timeout=TIMEOUT) as client:
            began = time.monotonic()
            with pytest.raises(redlatch.NotReplicatedError, match="did not have it on disk within 0.4 s"):
                client.lock(lock_name).acquire(timeout=0)
            assert time.monotonic() - began < TIMEOUT + 0.5
        pair.gone(lock_name)


NOT_DURABLE = "appendonly is disabled" if HAS_WAITAOF else "unknown command 'WAITAOF'"


def test_durable_without_a_file(pair: Pair, lock_name: str) -> None:
    """The error has the server's message, whether the server lacks the file or the command. No key is left."""
    with redlatch.connect(pair.master.url, durable=True) as client:
        with pytest.raises(redlatch.UnsupportedError, match=NOT_DURABLE):
            client.lock(lock_name).acquire(timeout=0)
        wait_until(lambda: client.stats()["held"] == 0)
    pair.gone(lock_name)


def test_durable_without_a_file_in_the_command(pair: Pair, lock_name: str) -> None:
    """The command exits with 64 and prints the reason."""
    done = subprocess.run(
        [program(), "run", "-u", f"{pair.master.url}?durable=1", lock_name, "--", "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 64 and NOT_DURABLE in done.stderr, done.stderr
    pair.gone(lock_name)


def test_durable_without_a_file_in_lua(pair: Pair, lock_name: str) -> None:
    """Lua gets the same message and code."""
    done = subprocess.run(
        ["lua5.4", "-e", DURABLE, "-", pair.master.url, lock_name],
        env=environment("lua5.4"),
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0 and NOT_DURABLE in done.stdout and "unsupported" in done.stdout, done
    pair.gone(lock_name)
