# SPDX-License-Identifier: Apache-2.0
"""`redlatch show --mine`: by this CMD asks whether all that `redlatch run` took for it is still held."""

from __future__ import annotations

import json
from typing import List

import pytest
from support import RedisServer
from support.shell import program, redlatch

# Asks, and asks again with REDLATCH_OWNER changed, so that the last owner is not the holder.
ASK = ('export REDIS_URL=redis://127.0.0.1:1; "$0" show --mine --json; echo $?'
       '; REDLATCH_OWNER="${REDLATCH_OWNER%?}x" "$0" show --mine >/dev/null; echo $?')


@pytest.mark.parametrize(("options", "names", "keys"), [
    ([], ["{}"], ["{}"]),
    (["--prefix", "shop:"], ["{}"], ["{}"]),
    (["--prefix", "shop:", "--kind", "plain", "--key-template", "lock:{{name}}:x"], ["{}"], ["lock:{}:x"]),
    (["-s"], ["{}:b", "{}:a"], ["{}:b", "{}:a"]),
    (["--kind", "permit-semaphore", "--limit", "3", "--permits", "2"], ["{}"], ["{}"]),
    (["--kind", "fair"], ["{}\nsecond line"], ["{}\nsecond line"]),
])
def test_whether_all_is_held(
    server: RedisServer, lock_name: str, options: List[str], names: List[str], keys: List[str]
) -> None:
    words = [word.format(lock_name) for word in [*options, *names]]
    done = redlatch(None, "run", "--url", server.url, *words, "--", "sh", "-c", ASK, program())
    found, held, not_held = done.stdout.rsplit("\n", 3)[:3]
    assert (done.returncode, held, not_held) == (0, "0", "3"), done.stderr
    assert [one["name"] for one in json.loads(found)] == [key.format(lock_name) for key in keys]


def test_one_that_is_gone_is_not_held(server: RedisServer, lock_name: str) -> None:
    text = f'{program()} unlock --force {lock_name}:b >/dev/null; {program()} show --mine; echo $?'
    done = redlatch(server, "run", f"{lock_name}:a", f"{lock_name}:b", "--", "sh", "-c", text)
    assert done.returncode == 70 and done.stdout.endswith("\n3\n")
    assert f"name     {lock_name}:a\n" in done.stdout
    assert f"\n\nname     {lock_name}:b\nkind     nothing\n" in done.stdout


def test_nothing_is_left_of_a_run_around_this_one(server: RedisServer, lock_name: str) -> None:
    inner = f'{program()} run {lock_name}:b -- sh -c "{program()} show --mine >/dev/null; echo \\$?"'
    outer = ["--prefix", "shop:", "--kind", "plain", "--key-template", "x:{name}", lock_name]
    assert redlatch(server, "run", *outer, "--", "sh", "-c", inner).stdout == "0\n"


@pytest.mark.parametrize(("options", "inner", "warned"), [
    ([], [], True),
    ([], ["--prefix", "{}"], False),
    (["-s"], ["-s"], False),
    (["-s"], ["--kind", "write"], True),
    (["-s"], ["--kind", "write", "-n"], False),
    (["--kind", "semaphore", "--limit", "1"], ["--kind", "semaphore"], True),
    (["--kind", "semaphore", "--limit", "2"], ["--kind", "semaphore"], False),
])
def test_one_that_waits_for_the_one_around_it_says_so(
    server: RedisServer, lock_name: str, options: List[str], inner: List[str], warned: bool
) -> None:
    """It warns only if it has to wait. A reader does not wait for another reader."""
    words = [word.format(lock_name) for word in inner]
    limit = [] if "-n" in inner else ["-w", "0.5" if warned else "30"]
    within = [program(), "run", *limit, *words, f"{lock_name}:b", "--", "true"]
    names = [f"{lock_name}:a", f"{lock_name}:b"] if "--kind" not in options else [f"{lock_name}:b"]
    done = redlatch(server, "run", *options, *names, "--", *within)
    assert ("as another owner" in done.stderr and f'"{lock_name}:b"' in done.stderr) is warned
    assert done.returncode == int(warned or "-n" in inner)


@pytest.mark.parametrize(("variables", "arguments", "words"), [
    ({}, [], "REDLATCH_LOCK is not set"),
    ({"REDLATCH_LOCK": "a"}, [], "REDLATCH_OWNER is not set"),
    ({"REDLATCH_LOCK": "a\nb", "REDLATCH_OWNER": "1\n2\n3"}, [], "2 lines, REDLATCH_OWNER 3"),
    ({"REDLATCH_LOCK": "a", "REDLATCH_OWNER": "1"}, ["name"], "name with --mine"),
    ({"REDLATCH_LOCK": "a", "REDLATCH_OWNER": "1"}, ["--owner", "1"], "--owner with --mine"),
])
def test_misuse(server: RedisServer, variables: dict[str, str], arguments: List[str], words: str) -> None:
    done = redlatch(server, "show", "--mine", *arguments, **variables)
    assert done.returncode == 64 and words in done.stderr and not done.stdout
