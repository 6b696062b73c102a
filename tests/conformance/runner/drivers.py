# SPDX-License-Identifier: Apache-2.0
"""The list of drivers.

A driver is a program that reads calls as lines of JSON and answers each with a line of JSON. Adding a language means
writing that program and adding an entry to DRIVERS.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, FrozenSet, List

from .traces import FOLDER

ROOT = FOLDER.parents[1]


def build_folder() -> Path:
    """The folder of the tested build: $REDLATCH_BUILD, or else build/."""
    return ROOT / os.environ.get("REDLATCH_BUILD", "build")


def preload() -> Dict[str, str]:
    """The environment in which an interpreter loads a module with a sanitizer: preloads the libraries of
    $REDLATCH_PRELOAD."""
    libraries = os.environ.get("REDLATCH_PRELOAD", "")
    return {"LD_PRELOAD": libraries} if libraries else {}


@dataclass(frozen=True)
class Driver:
    """One language. `cannot` lists the words of the vocabulary (see traces.uses) that the language has no call for. The
    driver does not play traces that use one of them. `says` maps a failure to other statuses by which the driver
    reports it."""

    name: str
    command: List[str]
    cannot: FrozenSet[str] = frozenset()
    environment: Dict[str, str] = field(default_factory=dict)
    says: Dict[str, FrozenSet[str]] = field(default_factory=dict)

    def statuses(self, status: str) -> FrozenSet[str]:
        """Returns the statuses by which this driver may report `status`."""
        return self.says.get(status, frozenset({status}))


# LuaJIT compiles code that runs for the second time, so that what it makes of the library is tested.
COMPILES_AT_ONCE = {"luajit": ("-Ohotloop=1", "-Ohotexit=1")}


def lua_driver(interpreter: str, version: str, *arguments: str) -> Driver:
    """A Lua interpreter with this tree's wrapper and the build's module for Lua `version`.
    A Lua actor is an owner of lock objects: when the last of them is collected, its holds are released. A composite
    lock is an owner of its own, so the actor's holds of its members exclude it."""
    rock, modules = ROOT / "lua-rock", build_folder() / "lua" / f"lua{version}"
    paths = {"LUA_PATH": f"{rock}/?.lua;{rock}/?/init.lua;;", "LUA_CPATH": f"{modules}/?.so;;", "LUA_INIT": ""}
    environment = {**paths, **preload()}
    options = COMPILES_AT_ONCE.get(interpreter, ())
    command = [interpreter, *options, str(FOLDER / "drivers" / "lua_driver.lua"), *arguments]
    return Driver(
        "-".join([interpreter, *arguments]), command, frozenset({"free.owner=actor", "member.held"}), environment
    )


def python_driver(*loop: str) -> Driver:
    """This interpreter, with the module that it finds; under a sanitizer, with the module of the build. Leaks of Python
    itself at its end are not reported. With an event loop, the driver makes asynchronous calls."""
    watched = {"PYTHONPATH": str(build_folder() / "python"), "PYTHONMALLOC": "malloc", "ASAN_OPTIONS": "detect_leaks=0"}
    environment = {**watched, **preload()} if preload() else {}
    command = [sys.executable, str(FOLDER / "drivers" / "python_driver.py"), *loop]
    return Driver("-".join(["python", *loop]), command, environment=environment)


# The exit statuses of the command. It has one status for all failures of the server and of the connection.
_EXITS = {
    "timeout": frozenset({"exit 1"}),
    "lost": frozenset({"exit 70"}),
    "wrong_type": frozenset({"exit 65"}),
    **dict.fromkeys(["invalid", "unsupported"], frozenset({"exit 64"})),
    **dict.fromkeys(
        ["unreachable", "authentication", "no_permission", "read_only", "server_out_of_memory", "not_writable"],
        frozenset({"exit 69"}),
    ),
}
# A hold of the shell is a command that runs: it has hold count 1 and a renewed lease, and ends with the command. There
# are no clients whose calls could form a wait queue: each command competes for itself.
_NOT_IN_THE_SHELL = frozenset(
    {
        "reentry",
        "kept",
        "queue",
        "sides",
        "extend",
        "free",
        "close",
        "lock.owner",
        "lock.lease_ms",
        "lock.reentrant",
        "lock.confirm_release",
        "release.confirm",
        "lock.kind=group",
        "semaphore",
        "permit_semaphore",
        "latch",
        "multi_lock",
        "redlock",
        "inspect.waiter.connected",
        "lock.key_template",
        "lock.back_off_initial_ms",
        "acquire.lease_ms",
        "acquire:lost",
        "acquire:already_held",
        "open.database",
        "open.username",
        "open.password",
        "open.release_on_close",
        "name.hex",
    }
)

_C = str(build_folder() / "tests" / "conformance" / "conformance_c")

DRIVERS = [
    Driver("c", [_C]),
    # Asynchronous calls name their owner, so a handle is never the owner.
    Driver("c-asynchronous", [_C, "asynchronous"], frozenset({"lock.owner=handle"})),
    python_driver(),
    python_driver("asyncio"),
    python_driver("uvloop"),
    python_driver("trio"),
    lua_driver("lua5.1", "5.1"),
    lua_driver("lua5.2", "5.2"),
    lua_driver("lua5.3", "5.3"),
    lua_driver("lua5.4", "5.4"),
    lua_driver("lua5.4", "5.4", "asynchronous"),
    lua_driver("luajit", "5.1"),
    Driver(
        "shell",
        [sys.executable, str(FOLDER / "drivers" / "shell_driver.py"), str(build_folder() / "bin" / "redlatch")],
        cannot=_NOT_IN_THE_SHELL,
        says=_EXITS,
    ),
]
