# SPDX-License-Identifier: Apache-2.0
"""The programs in README.md and in the manual for Lua are run as they stand there, but for their servers' addresses."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Callable, Iterator, List

import pytest
import redlatch
from env import RedisServer, free_port
from lua_programs import LUAS, ROOT, environment
from wire import build_directory

README = ROOT / "README.md"
MANUAL = ROOT / "lua-rock" / "README.md"
# Latches that the programs wait for, to be counted down by somebody else.
LATCHES = ("batch", "ready")


@pytest.fixture
def addresses(servers: List[RedisServer]) -> Callable[..., str]:
    """Puts addresses of servers that are there in the places of those that a program names; nobody listens at that of
    the one that is `down`."""

    def with_addresses(program: str, down: str = "") -> str:
        for place, server in zip("abc", servers):
            url = f"redis://127.0.0.1:{free_port()}" if place == down else server.url
            program = program.replace(f"redis://{place}:6379", url)
        return re.sub(r"redis://127\.0\.0\.1:6379(/0)?", servers[0].url, program)

    return with_addresses


@pytest.fixture(autouse=True)
def somebody_counts_down(servers: List[RedisServer]) -> Iterator[None]:
    """Opens the latches that the programs close."""
    done = threading.Event()

    def count_down() -> None:
        with redlatch.connect(servers[0].url) as client:
            while not done.wait(0.01):
                for latch in map(client.latch, LATCHES):
                    if latch.count() > 0:
                        latch.count_down()

    thread = threading.Thread(target=count_down)
    thread.start()
    yield
    done.set()
    thread.join()


def programs(page: Path, language: str) -> List[str]:
    """The programs of a page in one language."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert found, f"{page} has no program in {language}"
    return found


def run(command: List[str], **options: str) -> str:
    """What a program prints that must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False,
                          env={**os.environ, **options})
    assert done.returncode == 0, f"{command[0]}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def as_one_lua_program(found: List[str], lua: str) -> str:
    """The first makes client and lock, and the others are blocks of their own that use them."""
    said = [each for each in found if "<close>" not in each or lua == "lua5.4"]
    return "\n".join([said[0], *(f"do\n{each}end" for each in said[1:])])


def test_00_python(addresses: Callable[..., str], tmp_path: Path) -> None:
    """One after the other, as the later ones use the client of the first."""
    script = tmp_path / "readme.py"
    script.write_text(addresses("\n".join(programs(README, "python"))), encoding="utf-8")
    printed = run([sys.executable, str(script)], PYTHONPATH=str(Path(redlatch.__file__).resolve().parents[1]))
    for words in ("only one process", "one of three at a", "all is done", "token = 1", "both seats", "two of three"):
        assert words in printed, printed


@pytest.mark.parametrize("lua", LUAS)
@pytest.mark.parametrize("page", [README, MANUAL], ids=["readme", "manual"])
def test_01_lua(
    servers: List[RedisServer], addresses: Callable[..., str], tmp_path: Path, page: Path, lua: str
) -> None:
    script = tmp_path / "readme.lua"
    script.write_text(addresses(as_one_lua_program(programs(page, "lua"), lua)), encoding="utf-8")
    printed = run([lua, str(script)], **environment(lua), REDIS_URL=servers[0].url)
    ours = {README: ("nobody else is here", "token = 1", "both, or neither", "two of three"),
            MANUAL: ("with the token", "wait behind us", "would_deadlock", "both seats", "already_held")}
    for words in ours[page]:
        assert words in printed, printed


def test_02_c(servers: List[RedisServer], addresses: Callable[..., str], tmp_path: Path) -> None:
    """Compiled as README says, but for where the library is."""
    source, program, library = tmp_path / "program.c", tmp_path / "program", build_directory() / "core"
    flags = ["-Wall", "-Wextra", "-Werror", f"-I{ROOT}/core/include", f"-L{library}", "-lredlatch"]
    printed = []
    for text in programs(README, "c"):
        source.write_text(addresses(text), encoding="utf-8")
        run(["cc", str(source), *flags, "-o", str(program)])
        printed.append(run([str(program)], LD_LIBRARY_PATH=str(library)))
    update = "UPDATE ledger SET sum = 7, token = 1 WHERE token <= 1\n"
    assert printed == ["only one process at a time is here\n", update]
    assert servers[0].admin.exists("ledger", "stock:7", "orders:42") == 0


def red_lock_programs(page: Path, language: str) -> List[str]:
    """What a program makes first, and those that take a RedLock of several servers."""
    found = programs(page, language)
    return [found[0], *(each for each in found[1:] if "redis://c:6379" in each)]


@pytest.mark.parametrize("down", ["a", "b", "c"])
def test_03_a_red_lock_with_one_of_three_servers_down(
    servers: List[RedisServer], addresses: Callable[..., str], tmp_path: Path, down: str
) -> None:
    """README says that any minority of the servers may be down: its programs run all the same."""
    red_lock = addresses("\n".join(red_lock_programs(README, "python")), down)
    script = tmp_path / "readme.py"
    script.write_text(red_lock, encoding="utf-8")
    printed = run([sys.executable, str(script)], PYTHONPATH=str(Path(redlatch.__file__).resolve().parents[1]))
    assert "two of three" in printed
    for lua in LUAS[:1]:
        script = tmp_path / "readme.lua"
        script.write_text(addresses(as_one_lua_program(red_lock_programs(README, "lua"), lua), down), encoding="utf-8")
        assert "two of three" in run([lua, str(script)], **environment(lua), REDIS_URL=servers[0].url)
