# SPDX-License-Identifier: Apache-2.0
"""What the command prints is fit for a terminal, whatever a server, a key or an argument contains: nothing moves the
cursor, changes colours or turns the direction of writing."""

from __future__ import annotations

import json
import subprocess
from typing import List

import pytest
import redlatch as library
from forms import UUID, put_hash
from support import ErrorReply, RedisServer, ScriptedServer
from support.shell import environment, program, redlatch

# ESC, BEL, DEL, the CSI of eight bits, right-to-left override, isolate, zero width, line separator.
WILD = "a\x1b[2J\x07\x7f\u009b2J\u202e\u2066\u200b\u2028z"
UNFIT = set("\x1b\x07\x7f\u009b\u202e\u2066\u200b\u2028")


def record_of(*parts: object) -> bytes:
    """Returns what the script `inspect` would reply."""
    texts = [str(part).encode() for part in parts]
    inner = b"".join(b"%d:%s" % (len(text), text) for text in texts)
    return b"1:0%d:%s" % (len(inner), inner)


def test_json_escapes_what_is_not_fit(server: RedisServer) -> None:
    put_hash(server, WILD, {f"{UUID}:42": 1})
    put_hash(server, "überall ☃", {f"{UUID}:42": 1})
    listed = redlatch(server, "list", "--json").stdout
    assert sorted(lock["name"] for lock in json.loads(listed)) == [WILD, "überall ☃"]
    assert not UNFIT & set(listed) and "überall ☃" in listed
    shown = redlatch(server, "show", "--json", WILD).stdout
    assert json.loads(shown)["name"] == WILD and not UNFIT & set(shown)


@pytest.mark.parametrize("command", ["list", "show", "unlock"])
def test_what_a_server_says_of_a_lock(command: str) -> None:
    """redlatch's script reports no such value, type or owner, but a hostile server may."""
    record = record_of(WILD, WILD[:12], 5, 29999, 0, 1, 0, 0, 1, 1, 1, f"{UUID}{WILD}", WILD[:9], -1)
    with ScriptedServer(by_word={"EVALSHA": record}) as hostile:
        done = redlatch(None, command, "--url", hostile.url, *([] if command == "list" else ["x"]))
    assert "\\x1b" in done.stdout + done.stderr
    assert not UNFIT & set(done.stdout + done.stderr)


def test_what_a_server_refuses_with() -> None:
    with ScriptedServer(greeting=ErrorReply(f"DENIED {WILD}")) as hostile:
        with pytest.raises(library.ServerError) as caught:
            library.connect(hostile.url)
    assert "DENIED a" in str(caught.value) and not UNFIT & set(str(caught.value))


@pytest.mark.parametrize("command", ["run", "list", "show", "wait", "unlock", None])
@pytest.mark.parametrize("words", [[f"--{WILD}"], [f"--json={WILD}"], [f"--help={WILD}"], ["-\x1b"], ["-\u009b"],
                                   ["-u"], ["--url"], ["--p", WILD], [f"--{WILD}=x"]])
def test_complaints_of_options(command: str | None, words: List[str]) -> None:
    done = subprocess.run([program(), *([command] if command else []), *words], capture_output=True, text=True,
                          timeout=30, check=False, stdin=subprocess.DEVNULL, env=environment(None), errors="replace")
    assert done.returncode == 64 and done.stderr.count("redlatch") >= 1 and "--help" in done.stderr
    assert not UNFIT & set(done.stderr), done.stderr
