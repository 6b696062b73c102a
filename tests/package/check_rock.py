"""Installs the packed rock into an empty tree and runs the README's example from there; then runs `luarocks make`.

    check_rock.py DIST    DIST holds one .src.rock

Each installation compiles the core, so only the oldest and the newest Lua are tried here; try_release.py tries all. The
packed rock is installed without SWIG. `luarocks make` runs on a copy of the sources, with SWIG.
SPDX-License-Identifier: Apache-2.0
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, Tuple

from support import RedisServer

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# Interpreters and their versions for LuaRocks, which takes LuaJIT for Lua 5.1 and needs the path of its headers.
LUAS: List[Tuple[str, str]] = [
    ("lua5.1", "5.1"),
    ("luajit", "5.1"),
    ("lua5.2", "5.2"),
    ("lua5.3", "5.3"),
    ("lua5.4", "5.4"),
]
TRIED = [LUAS[0], LUAS[-1]]
EXPECTED = ["only one process at a time is here; lost:\tfalse"]


def run(command: List[str], environment: Dict[str, str], folder: Path) -> str:
    """Runs a command that must succeed, and returns its output."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          env=environment, cwd=folder)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\nended with {done.returncode}\n{done.stdout}")
    return done.stdout


def example() -> str:
    """Returns the complete Lua program in the README. The other blocks use what it makes."""
    found: List[str] = re.findall(r"^```lua\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"),
                       flags=re.DOTALL | re.MULTILINE)
    whole = [program for program in found if 'require "redlatch"' in program]
    if len(whole) != 1:
        raise SystemExit(f"README.md: expected one Lua program that stands alone, found {len(whole)}")
    return whole[0]


def without_swig(folder: Path) -> Dict[str, str]:
    """Returns an environment in which calling SWIG fails."""
    folder.mkdir()
    stub = folder / "swig"
    stub.write_text("#!/bin/sh\necho 'SWIG was called' >&2\nexit 1\n", encoding="utf-8")
    stub.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "CMAKE_BUILD_PARALLEL_LEVEL": "2"}


def luarocks(lua: Tuple[str, str], tree: Path, *words: str) -> List[str]:
    """Returns a LuaRocks command for one Lua and one tree."""
    command = ["luarocks", "--lua-version", lua[1], "--tree", str(tree), *words]
    if lua[0] == "luajit":
        found = subprocess.run(["pkg-config", "--variable=includedir", "luajit"], stdout=subprocess.PIPE, text=True,
                               check=True)
        command.append(f"LUA_INCDIR={found.stdout.strip()}")
    return command


def try_tree(lua: Tuple[str, str], tree: Path, url: str) -> None:
    """Runs the example with only the contents of the tree."""
    share, modules = tree / "share" / "lua" / lua[1], tree / "lib" / "lua" / lua[1]
    environment = {
        **os.environ,
        "LUA_INIT": "",
        "LUA_PATH": f"{share}/?.lua;{share}/?/init.lua",
        "LUA_CPATH": f"{modules}/?.so",
        "REDIS_URL": url,
    }
    script = tree / "example.lua"
    script.write_text(example(), encoding="utf-8")
    printed = run([lua[0], str(script)], environment, tree).split("\n")
    if printed != [*EXPECTED, ""]:
        raise RuntimeError(f"the README's example printed {printed}; expected {EXPECTED}")


def make(folder: Path, url: str) -> None:
    """Runs `luarocks make` in a copy of the repository."""
    lua, copy, tree = LUAS[-1], folder / "copy", folder / "made"
    copy.mkdir()
    for part in ("core", "bindings", "lua-rock"):
        shutil.copytree(ROOT / part, copy / part)
    for name in ("CMakeLists.txt", "LICENSE", "README.md"):
        shutil.copy(ROOT / name, copy / name)
    spec = next(path.relative_to(copy) for path in (copy / "lua-rock").glob("*.rockspec"))
    environment = {**os.environ, "CMAKE_BUILD_PARALLEL_LEVEL": "2"}
    # Make may begin with any target that depends on no other. This build begins with the target that needs a folder.
    run(["cmake", "-S", ".", "-B", "wrap", "-G", "Unix Makefiles", f"-DREDLATCH_LUA={lua[0]}"], environment, copy)
    run(["cmake", "--build", "wrap", "--target", "redlatch_lua_wrap"], environment, copy)
    run(luarocks(lua, tree, "make", str(spec)), environment, copy)
    try_tree(lua, tree, url)


def main() -> int:
    """Returns the exit status."""
    rocks = sorted(Path(sys.argv[1]).resolve().glob("redlatch-*.src.rock")) if len(sys.argv) == 2 else []
    if len(rocks) != 1:
        raise SystemExit(f"usage: check_rock.py DIST, where DIST holds one .src.rock, not {len(rocks)}")
    failed = 0
    with RedisServer() as server, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = without_swig(folder / "stub")
        for lua in TRIED:
            tree = folder / lua[0]
            try:
                run(luarocks(lua, tree, "install", str(rocks[0])), environment, folder)
                try_tree(lua, tree, server.url)
                print(f"{lua[0]}: {rocks[0].name} works")
            except RuntimeError as error:
                failed += 1
                print(f"{lua[0]}: {error}")
        try:
            make(folder, server.url)
            print(f"{LUAS[-1][0]}: luarocks make works")
        except RuntimeError as error:
            failed += 1
            print(f"luarocks make: {error}")
    print(f"{len(TRIED) + 1 - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
