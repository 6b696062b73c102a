# SPDX-License-Identifier: Apache-2.0
"""A refusal by access rules is reported in the words that were typed: the command, and the name without the prefix."""

from __future__ import annotations

from typing import Iterator

import pytest
from support import RedisServer
from support.shell import redlatch


@pytest.fixture
def url(server: RedisServer) -> Iterator[str]:
    """The URL of a user who may use only keys that begin with ok:."""
    server.admin.execute_command("ACL", "SETUSER", "worker", "reset", "on", ">secret", "~ok:*", "+@all",
                                 *(["&*"] if server.version >= (6, 2, 0) else []))
    yield f"redis://worker@127.0.0.1:{server.port}"
    server.admin.execute_command("ACL", "DELUSER", "worker")


@pytest.mark.parametrize("line", [
    "run no -- true", "run -n no -- true", "run --kind fair no -- true", "run --kind semaphore no -- true",
    "run --kind permit-semaphore --limit 2 no -- true", "acquire no --lease 5", "release no --owner x",
    "extend no --owner x --lease 5", "show no", "wait no", "wait --kind latch no", "wait --kind semaphore no",
    "unlock no --owner x", "unlock no --force",
])
@pytest.mark.parametrize("prefix", ["", "app:"])
def test_a_refused_name(url: str, line: str, prefix: str) -> None:
    command, *rest = line.split()
    done = redlatch(None, command, "--url", url, *(["--prefix", prefix] if prefix else []), *rest,
                    REDISCLI_AUTH="secret")
    first, advice = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (69, "")
    assert first.startswith(f'redlatch: {command} "no": the server\'s access rules forbid it (NOPERM')
    assert "redlatch doctor" in advice


def test_several_names(url: str) -> None:
    done = redlatch(None, "run", "--url", url, "--prefix", "p:", "a", "b", "--", "true", REDISCLI_AUTH="secret")
    assert done.stderr.startswith('redlatch: run "a", "b": the server\'s access rules forbid it')
