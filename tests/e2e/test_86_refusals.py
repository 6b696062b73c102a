# SPDX-License-Identifier: Apache-2.0
"""The errors for users who lack a right that a call needs. Such a call leaves nothing half done."""

from __future__ import annotations

import re
import subprocess
from typing import Any, List

import pytest
import redlatch
from access_rules import ROWS, open_frugal, permit
from foreign_keys import KINDS
from support import RedisServer
from support.lua_programs import environment as lua_environment
from support.shell import program as shell_program


def test_the_servers_own_words(server: RedisServer, lock_name: str) -> None:
    server.set_user("frugal", "word", "+@all", "-get")
    with open_frugal(server) as client:
        for call in (
            lambda: client.fenced_lock(lock_name).acquire(timeout=5),
            lambda: client.plain_lock(lock_name).state().locked,
            lambda: client.semaphore(lock_name).release(),
            lambda: client.latch(lock_name).wait(5),
            lambda: redlatch.multi_lock(client.plain_lock(lock_name), client.plain_lock("b")).acquire(timeout=5),
        ):
            with pytest.raises(redlatch.ServerError) as caught:
                call()
            assert caught.value.status_name == "no_permission"
            assert "can't run this command" in str(caught.value) or "'get'" in str(caught.value), caught.value
    server.set_user("frugal", "word", "+@all", keys=["other:*"])
    with open_frugal(server) as client, pytest.raises(redlatch.ServerError) as caught:
        client.lock(lock_name).acquire(timeout=5)
    assert "NOPERM" in str(caught.value)
    assert re.search("No permissions to access a key|one of the keys used", str(caught.value)), caught.value


def contents(server: RedisServer) -> List[Any]:
    """Returns every key with its content."""
    admin = server.admin
    keys: List[Any] = sorted(admin.keys("*"))
    return [(key, admin.hgetall(key) if admin.type(key) == b"hash" else admin.get(key)) for key in keys]


@pytest.mark.parametrize("lacking", ["del", "hdel"])
@pytest.mark.parametrize("kind", ["read", "write", "multi-read", "multi-write"])
def test_a_refused_release_changes_nothing(server: RedisServer, lock_name: str, kind: str,
                                              lacking: str) -> None:  # fmt: skip
    if server.version < (7, 0, 0):
        pytest.skip("servers before Redis 7 can not tell a script what its user may run")
    server.admin.flushdb()
    permit(server, lock_name, ROWS[kind])
    with open_frugal(server) as client:
        lock = KINDS[kind].make(client, lock_name)
        lock.acquire()
        server.admin.execute_command("ACL", "SETUSER", "frugal", f"-{lacking}")
        before = contents(server)
        with pytest.raises(redlatch.ServerError) as caught:
            lock.release()
        assert caught.value.status_name == "no_permission"
        assert contents(server) == before
        assert all(server.admin.pttl(key) > 0 for key, _ in before)


@pytest.mark.parametrize("kind", ["mutex", "fenced", "fair", "read", "write", "group", "multi"])
def test_a_refused_acquire_leaves_no_lock_without_an_end(server: RedisServer, lock_name: str,
                                                            kind: str) -> None:  # fmt: skip
    if server.version < (7, 0, 0):
        pytest.skip("servers before Redis 7 can not tell a script what its user may run")
    server.admin.flushdb()
    permit(server, lock_name, ROWS[kind])
    server.admin.execute_command("ACL", "SETUSER", "frugal", "-pexpire")
    with open_frugal(server) as client:
        with pytest.raises(redlatch.ServerError) as caught:
            KINDS[kind].make(client, lock_name).acquire(timeout=5)
        assert caught.value.status_name == "no_permission" and "'pexpire'" in str(caught.value)
        assert contents(server) == []


def test_in_lua_and_in_the_shell(server: RedisServer, lock_name: str) -> None:
    server.set_user("frugal", "word", "+@all", "-evalsha", "-eval")
    url = server.url.replace("redis://", "redis://frugal:word@")
    done = subprocess.run([shell_program(), "run", "--url", url, lock_name, "--", "true"],
                          capture_output=True, text=True, timeout=60, check=False)  # fmt: skip
    assert "NOPERM" in done.stderr and "evalsha" in done.stderr and done.returncode != 0, done
    client = f'assert(require("redlatch").connect("{url}"))'
    program = f'print(select(2, {client}:lock("{lock_name}"):acquire()))'
    done = subprocess.run(["lua5.4", "-e", program], env=lua_environment("lua5.4"), capture_output=True, text=True,
                          timeout=60, check=False)  # fmt: skip
    assert "NOPERM" in done.stdout and "evalsha" in done.stdout, done
