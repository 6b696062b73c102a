# SPDX-License-Identifier: Apache-2.0
"""The command and sentinels: it finds the master, and nobody gets to see the password of the sentinels."""

from __future__ import annotations

import os
import subprocess
from typing import Iterator

import pytest
from support.sentinels import Watched
from support.shell import program

SECRET = "S3CR3T"


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
