# SPDX-License-Identifier: Apache-2.0
"""Passwords and the command: where it reads them from. Nobody else gets to see them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Iterator, List

import pytest
from support import RedisServer
from support.shell import program

PASSWORD = "hunter2 &=1"
LOGIN = ":hunter2%20%26=1@"
# Prints all that CMD, or anybody who lists processes, may read, and whether CMD can ask for its lock from elsewhere.
RECHECK = 'env; tr "\\0" "\\n" </proc/$PPID/cmdline; cd /; "$0" show --mine >/dev/null; echo "mine $?"'


@pytest.fixture(scope="module")
def guarded(server_binary: List[str]) -> Iterator[RedisServer]:
    """A server with a password, for the module."""
    with RedisServer(requirepass=PASSWORD) as server:
        yield server


def url_of(server: RedisServer, login: str = "") -> str:
    """Returns the server's URL, with a user and a password if they are given."""
    return f"redis://{login}127.0.0.1:{server.port}/0"


def redlatch(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs the command with these variables, and no others that name a server."""
    usual = {name: value for name, value in os.environ.items() if name not in ("REDIS_URL", "REDISCLI_AUTH")}
    return subprocess.run([program(), *arguments], capture_output=True, text=True, timeout=60, check=False,
                          env={**usual, **variables}, stdin=subprocess.DEVNULL)


def run(name: str, *options: str, **variables: str) -> tuple[str, str]:
    """Returns what a program under a lock can read, and the messages of the command."""
    done = redlatch("run", *options, name, "--", "sh", "-c", RECHECK, program(), **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@pytest.mark.parametrize("login", [LOGIN, "default" + LOGIN], ids=["password", "user"])
def test_a_password_of_the_command_line_is_blotted_out(guarded: RedisServer, lock_name: str, login: str) -> None:
    """It is not passed on, so CMD must get it from elsewhere."""
    url = url_of(guarded, login)
    for options in (["-u", url], [f"--url={url}"]):
        seen, reported = run(lock_name, *options)
        assert "hunter2" not in seen + reported and f"127.0.0.1:{guarded.port}" in seen
        assert "the password in -u" in reported and "--password-file" in reported and "mine 0" not in seen
        assert "mine 0" in run(lock_name, *options, REDISCLI_AUTH=PASSWORD)[0]
    listed = redlatch("--url", url, "list")
    assert listed.returncode == 0 and "the password in -u" in listed.stderr


def test_a_password_of_the_environment(guarded: RedisServer, lock_name: str) -> None:
    seen, reported = run(lock_name, "-u", url_of(guarded), REDISCLI_AUTH=PASSWORD)
    assert "mine 0" in seen and not reported and seen.count("hunter2") == 1
    seen, reported = run(lock_name, REDIS_URL=url_of(guarded), REDISCLI_AUTH=PASSWORD)
    assert "mine 0" in seen and not reported


def test_a_password_in_the_url_of_the_environment(guarded: RedisServer, lock_name: str) -> None:
    """REDLATCH_URL lacks the password. REDIS_URL, which CMD inherits, has it, and precedes REDISCLI_AUTH."""
    seen, reported = run(lock_name, REDIS_URL=url_of(guarded, LOGIN), REDISCLI_AUTH="wrong")
    assert "mine 0" in seen and not reported and seen.count("hunter2") == 1
    assert f"REDLATCH_URL={url_of(guarded)}\n" in seen


def test_a_password_of_a_file(
    guarded: RedisServer, lock_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first line of the file is the password. It precedes all others."""
    (tmp_path / "secret").write_text(PASSWORD + "\nno more of it\n")
    monkeypatch.chdir(tmp_path)
    seen, reported = run(lock_name, "-u", url_of(guarded), "--password-file", "secret", REDISCLI_AUTH="wrong")
    assert "mine 0" in seen and not reported and "hunter2" not in seen
    assert f"REDLATCH_PASSWORD_FILE={tmp_path}/secret\n" in seen
    (tmp_path / "bare").write_text(PASSWORD)
    assert redlatch("--password-file", "bare", "-u", url_of(guarded), "list").returncode == 0
    text = f'exec {program()} run -u {url_of(guarded)} {lock_name}:b -- env'
    inner = redlatch("run", "-u", url_of(guarded), "--password-file", "secret", lock_name, "--", "sh", "-c", text,
                     REDISCLI_AUTH=PASSWORD)
    assert "REDLATCH_PASSWORD_FILE" not in inner.stdout and f"{lock_name}:b" in inner.stdout


@pytest.mark.parametrize(("content", "words"), [
    (None, "No such file"),
    (b"", "is empty"),
    (b"\nhunter2\n", "is empty"),
    (b"hunter2\0x\n", "NUL"),
    (b"hunter2" * 1000, "at most 4096 bytes"),
], ids=["missing", "empty", "empty line", "NUL", "long"])
def test_a_file_without_a_password(
    guarded: RedisServer, tmp_path: Path, content: bytes | None, words: str
) -> None:
    file = tmp_path / "secret"
    if content is not None:
        file.write_bytes(content)
    done = redlatch("list", "-u", url_of(guarded), "--password-file", str(file))
    assert done.returncode == 64 and words in done.stderr and str(file) in done.stderr
    assert "hunter2" not in done.stderr


@pytest.mark.parametrize("url", ["redis://hunter2%2x@h", "redis://h?hunter2", "redis://:hunter2@h/x", "hunter2"])
def test_a_mistyped_url_is_not_echoed(url: str) -> None:
    for arguments, variables in ((["-u", url, "list"], {}), (["list"], {"REDIS_URL": url})):
        done = redlatch(*arguments, **variables)
        assert done.returncode == 64 and "hunter2" not in done.stderr and "expected" in done.stderr
