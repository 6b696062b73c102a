# SPDX-License-Identifier: Apache-2.0
"""Runs the Lua programs of tests/lua under every Lua, with the module of the build that is being tested.

REDLATCH_TEST_LUA_BUILD names another build folder than build/, and REDLATCH_TEST_LUA_PRELOAD libraries to load before
its modules: those of a sanitizer. With a sanitizer only the Luas are used whose modules were built, and not LuaJIT.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Dict, List, Optional, Type

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "tests" / "lua"
# LuaJIT loads modules that were made for Lua 5.1.
MODULES = {"lua5.1": "lua5.1", "luajit": "lua5.1", "lua5.2": "lua5.2", "lua5.3": "lua5.3", "lua5.4": "lua5.4"}
BUILD = ROOT / os.environ.get("REDLATCH_TEST_LUA_BUILD", "build")
PRELOAD = os.environ.get("REDLATCH_TEST_LUA_PRELOAD", "")
# LuaJIT's own allocator hides what it holds from a sanitizer.
LUAS = [lua for lua in MODULES if not PRELOAD or ((BUILD / "lua" / lua).is_dir() and lua != "luajit")]
EXAMPLES = ROOT / "examples" / "lua"


def scenes_of(program: str) -> List[str]:
    """The names of a program's scenes, from its source."""
    source = (SOURCES / f"{program}.lua").read_text(encoding="utf-8")
    found = re.findall(r"^function scenes\.(\w+)\(", source, flags=re.MULTILINE)
    assert found, f"{program}.lua has no scenes"
    return found


def environment(lua: str) -> Dict[str, str]:
    """An interpreter's environment. It finds the wrapper, the module and the shared parts before what is installed."""
    module = BUILD / "lua" / MODULES[lua] / "redlatch" / "core.so"
    assert module.exists(), f"{module} is not built; try ./dev build"
    rock = ROOT / "lua-rock"
    return {
        **os.environ,
        "LUA_PATH": f"{rock}/?.lua;{rock}/?/init.lua;{SOURCES}/?.lua;;",
        "LUA_CPATH": f"{module.parents[1]}/?.so;;",
        "LUA_INIT": "",
        **({"LD_PRELOAD": PRELOAD} if PRELOAD else {}),
    }


def play(lua: str, program: str, scene: str, url: str, name: str, timeout: float = 100.0) -> None:
    """Play one scene. The message of the assertion says what went wrong."""
    command = [lua, str(SOURCES / f"{program}.lua"), url, scene, name]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=timeout, check=False, env=environment(lua), errors="replace"
    )
    problem = f"{lua} {program} {scene}: status {done.returncode}\n{done.stdout}{done.stderr}"
    assert done.returncode == 0 and done.stdout.endswith("done\n"), problem


class LuaProcess:
    """A Lua program that talks with its test, line by line."""

    def __init__(self, lua: str, program: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [lua, str(program), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
            env=environment(lua),
        )

    def line(self) -> str:
        """The next line; empty when the program has ended."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def hear(self, expected: str) -> None:
        """Read the next line, which must be this one."""
        line = self.line()
        problem = "" if line else f"; its errors: {self.errors()}"
        assert line == expected, f"heard {line!r}; expected {expected!r}{problem}"

    def errors(self) -> str:
        """What the program wrote to its standard error, until it closed that."""
        assert self.process.stderr is not None
        return self.process.stderr.read()

    def tell(self, text: str) -> None:
        """Send a line to the program."""
        assert self.process.stdin is not None
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def end(self, timeout: float = 20.0) -> int:
        """Wait for the program's end, and return its exit status."""
        return self.process.wait(timeout)

    def __enter__(self) -> LuaProcess:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
