# SPDX-License-Identifier: Apache-2.0
"""`redlatch run --kind`: what CMD sees, what is on the server meanwhile, and what the other commands say of it."""

from __future__ import annotations

import json
from typing import List

import pytest
import redlatch as library
from support import RedisServer
from support.shell import program, redlatch

# Runs under the lock: prints what redlatch itself shows of the key, and the token.
RECHECK = '"$1" show --json "$2" && echo "token=${REDLATCH_TOKEN-none}"'


@pytest.mark.parametrize(
    ("options", "key", "form", "token"),
    [
        (["--kind", "mutex"], "{}", "mutex", "none"),
        (["--kind", "fenced"], "{}", "fenced", "1"),
        (["--kind", "spin"], "{}", "mutex", "none"),
        (["--kind", "plain"], "{}", "plain", "none"),
        (["--kind", "plain", "--key-template", "lock:{name}"], "lock:{}", "plain", "none"),
    ],
)
def test_what_the_command_sees(
    server: RedisServer, lock_name: str, options: List[str], key: str, form: str, token: str
) -> None:
    key = key.format(lock_name)
    done = redlatch(server, "run", *options, lock_name, "--", "sh", "-c", RECHECK, "sh", program(), key)
    assert done.returncode == 0, done.stderr
    shown, last = done.stdout.rsplit("\n", 2)[:2]
    assert json.loads(shown)["kind"] == form and json.loads(shown)["held"] is True
    assert last == f"token={token}"
    assert not server.admin.exists(key)


@pytest.mark.parametrize("kind", ["fenced", "spin", "plain"])
def test_others_are_kept_out_and_can_force_it(server: RedisServer, lock_name: str, kind: str) -> None:
    with library.connect(server.url) as client:
        lock = getattr(client, f"{kind}_lock")(lock_name, owner="handle")
        lock.acquire()
        assert redlatch(server, "run", "-n", "--kind", kind, lock_name, "--", "true").returncode == 1
        assert redlatch(server, "wait", "-w", "0", lock_name).returncode == 1
        assert lock_name in redlatch(server, "list").stdout
        assert redlatch(server, "unlock", "--force", lock_name).returncode == 0
        assert redlatch(server, "run", "-n", "--kind", kind, lock_name, "--", "true").returncode == 0
        with pytest.raises(library.LockLostError):
            lock.release()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--kind", "mutx"], "expected one of mutex, fenced"),
        (["--kind", "mutx"], "semaphore, permit-semaphore\n"),
        (["--kind", "plain", "--key-template", "lock"], "--key-template is 'lock': expected one {name} in it"),
        (["--kind", "plain", "--key-template", "{name}{name}"], "expected one {name} in it"),
        (["--key-template", "lock:{name}"], "--key-template with --kind mutex"),
    ],
)
def test_misuse(server: RedisServer, lock_name: str, options: List[str], words: str) -> None:
    done = redlatch(server, "run", *options, lock_name, "--", "true")
    assert done.returncode == 64 and words in done.stderr
