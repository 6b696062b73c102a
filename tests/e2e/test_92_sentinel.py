# SPDX-License-Identifier: Apache-2.0
"""The command with sentinels, and with a list of servers: it finds the master, goes on after a failover, and shows
nobody the password of the sentinels."""

from __future__ import annotations

import os
import subprocess
import time
from typing import Iterator

import pytest
from forms import UUID
from support import RedisServer, wait_until
from support.sentinels import Watched
from support.shell import TIMEOUT, program
from support.topologies import Replicas
from terminal import Terminal

SECRET = "S3CR3T"


@pytest.fixture(name="watched", scope="module")
def watched_fixture() -> Iterator[Watched]:
    """Servers, and sentinels with a password."""
    with Watched(password=SECRET) as watched:
        yield watched


def command(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs the command with these variables, and no others that name a server."""
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


@pytest.fixture(name="replicas", scope="module")
def replicas_fixture() -> Iterator[Replicas]:
    """Servers without sentinels. The second one is the master."""
    with Replicas() as replicas:
        replicas.change("in-order")
        wait_until(replicas.in_step, 30.0)
        yield replicas


def check_the_command(master: RedisServer, lock: str, url: str, shown: str) -> None:
    """The command takes a lock on the master. CMD gets the URL, but no password from it."""
    key = ("redis-cli", "-s", master.unix_path, "exists", lock)
    done = command("run", lock, "--", *key, REDIS_URL=url)
    assert done.returncode == 0 and done.stdout.strip() in ("1", "(integer) 1"), done.stderr
    done = command("run", lock, "--", "sh", "-c", "env | grep ^REDLATCH_", REDIS_URL=url)
    assert f"REDLATCH_URL={shown}\n" in done.stdout and SECRET not in done.stdout


def test_the_command_takes_a_lock(watched: Watched, lock_name: str) -> None:
    """The sentinels announce the master."""
    url = watched.url(query=f"?sentinel_password={SECRET}&connect_timeout=4")
    check_the_command(watched.master, lock_name, url, watched.url(query="?connect_timeout=4"))


def test_the_command_searches_a_list(replicas: Replicas, lock_name: str) -> None:
    """The first server of the list is not the master."""
    url = f"{replicas.master.url}?connect_timeout=4"
    check_the_command(replicas.master, lock_name, url, url)


def test_a_command_that_runs_during_a_failover(replicas: Replicas, lock_name: str) -> None:
    """Its lock is renewed and released on the new master."""
    script = "echo held; read end"
    with subprocess.Popen(
        [program(), "run", "-u", replicas.master.url, "--lease", "2", lock_name, "--", "sh", "-c", script],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as run:  # fmt: skip
        assert run.stdin is not None and run.stdout is not None
        assert run.stdout.readline() == "held\n"
        wait_until(replicas.in_step)
        master = replicas.change("in-order")
        renewed = time.monotonic() + 3.0  # without renewals the lease ends before
        wait_until(lambda: time.monotonic() > renewed or not master.admin.exists(lock_name), 10.0)
        assert master.admin.exists(lock_name)
        run.communicate("end\n", timeout=20)
        assert run.returncode == 0
    wait_until(lambda: not master.admin.exists(lock_name))


@pytest.mark.parametrize("query", ["?sentinel_password={}", "?connect_timeout=4&sentinel_password={}&db=0"])
def test_a_password_of_the_command_line_is_blotted_out(watched: Watched, lock_name: str, query: str) -> None:
    """It is blotted out like the password of the server."""
    url = watched.url(query=query.format(SECRET))
    done = command("run", "-u", url, lock_name, "--", "sh", "-c", 'env; tr "\\0" "\\n" </proc/$PPID/cmdline')
    assert done.returncode == 0 and SECRET not in done.stdout + done.stderr
    assert "the password in -u" in done.stderr


def test_top_goes_on_after_a_failover() -> None:
    """It shows the locks of the new master: it does not take the event of the move for the reply to its command."""
    with Replicas() as replicas:
        terminal = Terminal(replicas.master)
        try:
            replicas.master.admin.hset("before", f"{UUID}:1", 1)
            terminal.enter(f"{program()} top -d 200ms")
            wait_until(lambda: "\nbefore " in terminal.screen(), TIMEOUT, terminal.screen)
            wait_until(replicas.in_step)
            replicas.change("killed").admin.hset("after", f"{UUID}:1", 1)
            wait_until(lambda: "2 locks, 2 held; the server" in terminal.screen(), TIMEOUT, terminal.screen)
        finally:
            terminal.close()
