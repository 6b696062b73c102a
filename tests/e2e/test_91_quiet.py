# SPDX-License-Identifier: Apache-2.0
"""What a client costs while nothing happens: how often its threads wake, and how often they call the C library.

All clients of this file run side by side while the test counts, each in a process of its own.
"""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Tuple

import pytest
from support import RedisServer, RedissonShapedPeer, wait_until
from support.lua_programs import LUAS, SOURCES
from support.lua_programs import environment as lua_environment
from support.shell import program
from support.wire import build_directory, subscribers

# How long the test counts, in seconds: a little longer than the time between two renewals. Waiters recheck every 5 s.
SPAN = 10.5
HELD = "quiet:held"

# The most that a renewal or a recheck costs, and how many of them there can be. A thread that waits for a reply
# busy-polls the socket for some microseconds before it sleeps, which is some hundred calls.
WAKES_EACH, CALLS_EACH = 6, 400
SOME = 3

PYTHON = """
import sys, threading, redlatch
url, name, mode = sys.argv[1:]
client = redlatch.connect(url)
lock = client.lock(name)
if mode == "waits":
    threading.Thread(target=lock.acquire, daemon=True).start()
    while client.stats()["waiters"] < 1:
        pass
elif mode == "waits in the main thread":
    print("ready", flush=True)
    lock.acquire()
else:
    lock.acquire()
    if mode == "watches":
        event = lock.held().lost_event
    if mode == "idle":
        lock.release()
print("ready", flush=True)
sys.stdin.read()
"""


class Cost(NamedTuple):
    """What all threads of a process did since it began, or between two measurements."""

    wakes: int
    calls: int


class Quiet:
    """A process whose cost is measured from the moment it says that it is ready."""

    def __init__(self, command: List[str], environment: Dict[str, str], counter: Path, page: Path) -> None:
        page.write_bytes(bytes(mmap.PAGESIZE))
        with page.open("r+b") as file:
            self._page = mmap.mmap(file.fileno(), mmap.PAGESIZE)
        environment = {**environment, "LD_PRELOAD": str(counter), "REDLATCH_TEST_CALLS": str(page)}
        self._process = subprocess.Popen(
            command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def wait_ready(self) -> None:
        """Waits until the process is ready. From then on it does only what is counted."""
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    @property
    def cost(self) -> Cost:
        """The cost since the process began."""
        wakes = 0
        for status in Path(f"/proc/{self._process.pid}/task").glob("*/status"):
            lines = status.read_text(encoding="utf-8").splitlines()
            wakes += sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt_switches"))
        return Cost(wakes, int.from_bytes(self._page[:8], sys.byteorder))

    def end(self) -> None:
        """Kills it."""
        self._process.kill()
        self._process.communicate()
        self._page.close()


def few(times: int) -> Cost:
    """Returns the most that so many renewals or rechecks may cost."""
    return Cost(times * WAKES_EACH, times * CALLS_EACH)


NOTHING = Cost(1, 3)
STEPS = int(SPAN / 0.05)  # Lua and Python's main thread wait in these steps, to notice Ctrl-C

QUIET_CLIENT = build_directory() / "tests" / "e2e" / "programs" / "quiet_client"
SAY_READY = "echo ready; exec sleep 600"

# The most that each language and mode may cost. Where the mode is to wait, somebody else holds the lock.
BOUNDS: Dict[Tuple[str, str], Cost] = {
    ("c", "idle"): NOTHING,
    ("c", "holds"): few(SOME),
    ("c", "waits"): few(SOME),
    ("c", "many"): few(SOME),
    ("python", "idle"): NOTHING,
    ("python", "holds"): few(SOME),
    ("python", "watches"): few(SOME),
    ("python", "waits"): few(SOME),
    ("python", "waits in the main thread"): Cost(2 * STEPS, 4 * STEPS),
    ("lua", "idle"): NOTHING,
    ("lua", "holds"): few(SOME),
    ("lua", "waits"): Cost(2 * STEPS, 4 * STEPS),
    ("run", "holds"): few(SOME),
    ("run", "waits"): few(SOME),
}


def command_of(url: str, language: str, mode: str) -> List[str]:
    """Returns the command line for a language and mode."""
    name = HELD if mode.startswith(("waits", "many")) else f"quiet:{language}:{mode}"
    if language == "run":
        return [program(), "run", "-u", url, name, "--", "sh", "-c", SAY_READY]
    start = {"c": [str(QUIET_CLIENT)], "python": [sys.executable, "-c", PYTHON],
             "lua": [LUAS[-1], str(SOURCES / "quiet_client.lua")]}
    return [*start[language], url, name, mode]


def environment_of(language: str) -> Dict[str, str]:
    """Returns the environment in which the program finds the package or the module."""
    paths = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return lua_environment(LUAS[-1]) if language == "lua" else {**os.environ, **paths}


@pytest.fixture(scope="module")
def costs(
    module_server: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Dict[Tuple[str, str], Cost]]:
    """What each language and mode cost."""
    folder = tmp_path_factory.mktemp("quiet")
    counter = folder / "call_counter.so"
    source = Path(__file__).with_name("call_counter.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(counter), str(source), "-ldl"], check=True)
    with ExitStack() as stack:
        stack.enter_context(RedissonShapedPeer(module_server)).lock(HELD)
        quiet: Dict[Tuple[str, str], Quiet] = {}
        for place, (language, mode) in enumerate(BOUNDS):
            command = command_of(module_server.url, language, mode)
            quiet[language, mode] = Quiet(command, environment_of(language), counter, folder / str(place))
            stack.callback(quiet[language, mode].end)
        for (language, mode), each in quiet.items():
            if (language, mode) != ("run", "waits"):
                each.wait_ready()
        waiting = [mode for _, mode in BOUNDS if mode.startswith(("waits", "many"))]
        wait_until(lambda: subscribers(module_server, HELD) == len(waiting), 20, "all of them to wait")
        before: Dict[Tuple[str, str], Cost] = {}
        wait_until(lambda: _are_quiet(quiet, before), 20, "their beginnings to be over")
        time.sleep(SPAN)
        after = {key: each.cost for key, each in quiet.items()}
        yield {key: Cost(*(new - old for new, old in zip(after[key], before[key]))) for key in quiet}


def _are_quiet(quiet: Dict[Tuple[str, str], Quiet], before: Dict[Tuple[str, str], Cost]) -> bool:
    """Returns whether the idle processes did nothing since the last call. Updates `before` with the cost of all."""
    last = dict(before)
    before.update({key: each.cost for key, each in quiet.items()})
    return all(last.get(key) == cost for key, cost in before.items() if BOUNDS[key] == NOTHING)


@pytest.mark.parametrize("key", BOUNDS, ids=" ".join)
def test_what_it_costs(costs: Dict[Tuple[str, str], Cost], key: Tuple[str, str]) -> None:
    """A process does no more than the renewals and rechecks that are due."""
    assert costs[key].wakes <= BOUNDS[key].wakes and costs[key].calls <= BOUNDS[key].calls, costs[key]
    if BOUNDS[key] == few(SOME):
        assert costs[key].calls > 0, "it was not counted"
