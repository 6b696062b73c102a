# SPDX-License-Identifier: Apache-2.0
"""Users who may do just what README.md says a kind needs; and what a user is told who may not."""

from __future__ import annotations


import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any, Callable, Iterator, List

import pytest
import redlatch
from access_rules import BETTER, EVERYBODY, RULES, SCRIPTS, table
from env import RedisServer, wait_until
from foreign_keys import KINDS
from lua_programs import environment as lua_environment
from shell import program as shell_program
from steps import Call

ROOT = Path(__file__).resolve().parents[2]
LOOKS = "looking at a name, waiting for it"
MULTI = "multi lock, beside its members'"

# The rows that each kind of foreign_keys needs.
ROWS = {
    "mutex": ["mutex, spin lock"],
    "non-reentrant": ["mutex, spin lock"],
    "spin": ["mutex, spin lock"],
    "fenced": ["fenced mutex"],
    "fair": ["fair mutex"],
    "read": ["read-write lock"],
    "write": ["read-write lock"],
    "group": ["group lock"],
    "plain": ["plain lock"],
    "multi": [MULTI, "mutex, spin lock"],
    "multi-fenced": [MULTI, "fenced mutex"],
    "multi-read": [MULTI, "read-write lock"],
    "multi-write": [MULTI, "read-write lock"],
    "multi-group": [MULTI, "group lock"],
    "multi-plain": [MULTI, "plain lock"],
    "semaphore": ["semaphore"],
    "permits": ["permit semaphore"],
    "latch": ["latch"],
}


@pytest.fixture(scope="module")
def rules_server(module_server: RedisServer) -> Iterator[RedisServer]:
    """One server for all, on which no user of these tests stays."""
    yield module_server
    module_server.admin.execute_command("ACL", "DELUSER", "frugal")


def permit(server: RedisServer, name: str, rows: List[str], *more: str) -> None:
    """Let the user `frugal` do what the rows say, with the keys and channels of this name and of a first member's."""
    commands = [*EVERYBODY, *BETTER, *more, *(word for row in rows for word in RULES[row].commands())]
    patterns = []
    for sign, words in (
        ("~", [word for row in rows for word in RULES[row].keys]),
        ("&", [word for row in rows for word in RULES[row].channels]),
    ):
        for word in words:
            for exact in (name, f"{name}:first"):
                patterns.append(sign + word.replace("{N}", f"{{{exact}}}").replace("N", exact, word[:1] == "N"))
    if server.version < (6, 2, 0):
        patterns = [pattern for pattern in patterns if pattern[0] == "~"]
        commands = [command for command in commands if command != "hrandfield"]
    rules = [">word", *patterns, "-@all", *(f"+{command}" for command in commands)]
    server.admin.execute_command("ACL", "SETUSER", "frugal", "reset", "on", *rules)
    server.admin.execute_command("ACL", "LOG", "RESET")


def open_frugal(server: RedisServer, **options: Any) -> redlatch.Client:
    """A client of that user."""
    return redlatch.connect(server.url, username="frugal", password="word", **options)


def denials(server: RedisServer) -> List[str]:
    """What the server has denied, commands within scripts included."""
    log: Any = server.admin.execute_command("ACL", "LOG")
    entries = [dict(zip(entry[::2], entry[1::2])) if isinstance(entry, list) else entry for entry in log]
    return [f"{entry[b'reason']!r} {entry[b'object']!r} {entry[b'context']!r}" for entry in entries]


def play_free(kind: str, make: Callable[[], Any]) -> None:
    """Every call of anybody, in the order of the table."""
    thing = make()
    for setting in ("try_set_permits", "try_set_count"):
        if hasattr(thing, setting):
            getattr(thing, setting)(5 if setting == "try_set_permits" else 1)
    for call, do in KINDS[kind].free.items():
        if call != "wait":
            with suppress(redlatch.AlreadyHeldError):
                do(thing)
    for _ in range(2 if "force_release" in KINDS[kind].free else 0):
        with suppress(redlatch.LockLostError, redlatch.NotOwnedError):
            thing.release()  # a thread that lost a lock is told for each level, before it may have it again


def play_held(kind: str, make: Callable[[], Any], client: redlatch.Client) -> None:
    """Every call of a holder, and a renewal."""
    thing = make()
    held = KINDS[kind].prepare(thing)
    if KINDS[kind].held:
        renewals = client.stats()["renewals"]
        wait_until(lambda: client.stats()["renewals"] > renewals)
    for call, do in KINDS[kind].held.items():
        if call != "release":
            do(held)
    for _ in range(thing.hold_count() if hasattr(thing, "hold_count") else 1):
        KINDS[kind].held.get("release", lambda _: None)(held)


def play_waiting(kind: str, make: Callable[[redlatch.Client], Any], holder: redlatch.Client, waiter: redlatch.Client,
                 name: str) -> None:  # fmt: skip
    """One waits for the other, who then releases."""
    if kind == "latch":
        make(holder).try_set_count(1)
    elif kind in ("semaphore", "permits"):
        make(holder).try_set_permits(0)
    else:
        taken = holder.read_write_lock(name).write if kind in ("read", "multi-read") else make(holder)
        taken.acquire()

    def wait() -> None:
        thing = make(waiter)
        got = KINDS[kind].wait(thing)
        if kind not in ("latch", "semaphore"):
            (got if kind == "permits" else thing).release()

    waiting = Call(wait)
    wait_until(lambda: waiter.stats()["waiters"] == 1)
    if kind == "latch":
        make(holder).count_down()
    elif kind in ("semaphore", "permits"):
        make(holder).add_permits(1)
    else:
        taken.release()
    waiting.result()


@pytest.mark.parametrize("kind", list(KINDS))
def test_86_what_the_readme_says_is_enough(rules_server: RedisServer, lock_name: str, kind: str) -> None:
    """Nothing is denied, not even what would go unnoticed."""
    server = rules_server
    permit(server, lock_name, ROWS[kind])

    def make(of: redlatch.Client) -> Any:
        return KINDS[kind].make(of, lock_name)

    with open_frugal(server, watchdog_lease=1.2) as client, redlatch.connect(server.url) as other:
        play_free(kind, lambda: make(client))
        server.admin.flushdb()
        play_held(kind, lambda: make(client), client)
        server.admin.flushdb()
        for holder in (client, other):
            play_waiting(kind, make, holder, client, lock_name)
            server.admin.flushdb()
        assert denials(server) == []


@pytest.mark.parametrize("kind", list(KINDS))
def test_86_it_is_enough_to_look(rules_server: RedisServer, lock_name: str, kind: str) -> None:
    server = rules_server
    permit(server, lock_name, [LOOKS])
    with open_frugal(server) as client, redlatch.connect(server.url) as other:
        KINDS[kind].prepare(KINDS[kind].make(other, lock_name))
        client.inspect(lock_name)
        client.wait_free(lock_name, 0)
        assert denials(server) == []


def test_86_the_readme_shows_the_rules() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert table() in readme, f"README.md lacks this table:\n{table()}"
    named = {name for rules in RULES.values() for name in rules.scripts.split()}
    assert named == {path.stem for path in SCRIPTS.glob("*.lua")}


# ---------------------------------------------------------------------------------------------------- what is told --


def test_87_the_servers_own_words(rules_server: RedisServer, lock_name: str) -> None:
    server = rules_server
    server.set_user("frugal", "word", "+@all", "-get")
    with open_frugal(server) as client:
        for call in (
            lambda: client.fenced_lock(lock_name).acquire(timeout=5),
            lambda: client.plain_lock(lock_name).locked(),
            lambda: client.semaphore(lock_name).release(),
            lambda: client.latch(lock_name).wait(5),
            lambda: client.multi_lock(client.plain_lock(lock_name), client.plain_lock("b")).acquire(timeout=5),
        ):
            with pytest.raises(redlatch.ServerError) as caught:
                call()
            assert caught.value.status_name == "no_permission"
            assert "can't run this command" in str(caught.value) or "'get'" in str(caught.value), caught.value
    server.set_user("frugal", "word", "+@all", keys=["other:*"])
    with open_frugal(server) as client, pytest.raises(redlatch.ServerError) as caught:
        client.lock(lock_name).acquire(timeout=5)
    assert "NOPERM" in str(caught.value) and "keys" in str(caught.value).lower()


def contents(server: RedisServer) -> List[Any]:
    """Every key, with what it holds."""
    admin = server.admin
    keys: List[Any] = sorted(admin.keys("*"))
    return [(key, admin.hgetall(key) if admin.type(key) == b"hash" else admin.get(key)) for key in keys]


@pytest.mark.parametrize("lacking", ["del", "hdel"])
@pytest.mark.parametrize("kind", ["read", "write", "multi-read", "multi-write"])
def test_87_a_refused_release_changes_nothing(rules_server: RedisServer, lock_name: str, kind: str,
                                              lacking: str) -> None:  # fmt: skip
    server = rules_server
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
def test_87_a_refused_acquire_leaves_no_lock_without_an_end(rules_server: RedisServer, lock_name: str,
                                                            kind: str) -> None:  # fmt: skip
    server = rules_server
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


def test_87_in_lua_and_in_the_shell(rules_server: RedisServer, lock_name: str) -> None:
    server = rules_server
    server.set_user("frugal", "word", "+@all", "-evalsha", "-eval")
    url = server.url.replace("redis://", "redis://frugal:word@")
    done = subprocess.run([shell_program(), "run", "--url", url, lock_name, "--", "true"],
                          capture_output=True, text=True, timeout=60, check=False)  # fmt: skip
    assert "NOPERM" in done.stderr and "evalsha" in done.stderr and done.returncode != 0, done
    client = f'assert(require("redlatch").connect("{url}"))'
    program = f'print(select(2, {client}:lock("{lock_name}"):acquire()))'
    told = subprocess.run(["lua5.4", "-e", program], env=lua_environment("lua5.4"), capture_output=True, text=True,
                          timeout=60, check=False)  # fmt: skip
    assert "NOPERM" in told.stdout and "evalsha" in told.stdout, told
