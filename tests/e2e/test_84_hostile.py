# SPDX-License-Identifier: Apache-2.0
"""A hostile server may refuse locks, but may not block the program: each call ends soon after its timeout, memory stays
small, and no processor is kept busy. The server strikes in the greeting, in replies to scripts, or on the connection
for messages. The tests are for C, Python, Lua and the command. With REDLATCH_TEST_TLS=1 they use TLS."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple

import pytest
from forms import UUID, put_hash
from scenes import folder
from support import RedisServer
from support.certificates import Certificate
from support.hostile import EVILS, HANDSHAKE, PLACES, Evil, HostileServer
from support.lua_programs import LUAS, SOURCES
from support.lua_programs import environment as lua_environment
from support.shell import program
from support.tls_server import Identity

# A wait may take half a second; a connection and a command may take less.
OPTIONS = "?connect_timeout=0.3&command_timeout=0.3&dead_peer_timeout=1"
HERE = Path(__file__).parent
# The timeout of each call in seconds. A release, an inspection and a page of a scan have the timeout of a command. The
# command `redlatch` connects each time, closes, and may ask who holds the lock.
COMMAND, WAIT, CONNECT, CLOSE = 0.3, 0.5, 0.3, 1.0
TIMEOUTS = {
    "connect": CONNECT, "mutex": WAIT, "try": COMMAND, "release": COMMAND, "inspect": COMMAND, "scan": COMMAND,
    "wait_free": WAIT, "fair": WAIT, "semaphore": WAIT, "close": CLOSE,
    **{f"run_{what}": CONNECT + WAIT + COMMAND + CLOSE for what in ("mutex", "fair", "semaphore")},
    "run_try": CONNECT + COMMAND + CLOSE, "show": CONNECT + COMMAND + CLOSE, "list": CONNECT + COMMAND + CLOSE,
    "wait": CONNECT + WAIT + CLOSE,
}
OF_COMMAND = ("run_mutex", "run_fair", "run_semaphore", "run_try", "show", "list", "wait")
# By how many seconds a call may be late: the machine is busy, since four victims and the flood of the server share it
# with other tests. A call that hangs takes far longer.
MARGIN = 3.0
# A victim is killed after this time in seconds.
TIMEOUT = 60.0
MEBIBYTE = 1 << 20
OVER_TLS = os.environ.get("REDLATCH_TEST_TLS") == "1"
# The memory that a victim may use beyond what it uses with a well-behaved server.
MEMORY = 64 * MEBIBYTE


SAY = f"""
say() {{
    call=$1; shift; began=$(cut -d' ' -f1 /proc/uptime)
    {program()} "$@"
    echo "$call: exit $? after $(cut -d' ' -f1 /proc/uptime | awk "{{ print \\$1 - $began }}") s"
}}
"""


class Ending(NamedTuple):
    """How a process ended, what it used, and its output."""

    status: int
    seconds: float
    cpu: float
    memory: int
    reported: str

    @property
    def calls(self) -> List[Tuple[str, float]]:
        """The calls that were made, each with its duration in seconds."""
        names = "|".join(TIMEOUTS)
        found = re.findall(rf"^({names}): .* after ([0-9.]+) s$", self.reported, re.MULTILINE)
        assert found, self.reported
        return [(call, float(seconds)) for call, seconds in found]

    @property
    def late(self) -> List[str]:
        """The calls that took longer than their timeout and MARGIN."""
        return [f"{call} took {seconds} s" for call, seconds in self.calls if seconds > TIMEOUTS[call] + MARGIN]


def command_lines(name: str) -> str:
    """Returns a shell script that makes the calls of victim.c with the command."""
    lines = {"run_mutex": f"run -w 0.5 {name} -- true", "run_try": f"run -n {name}:free -- true",
             "show": f"show {name}", "list": "list", "wait": f"wait -w 0.5 {name}",
             "run_fair": f"run --kind fair -w 0.5 {name}:free -- true",
             "run_semaphore": f"run --kind semaphore -w 0.5 {name}:free -- true"}
    return "\n".join([SAY, *(f"say {call} {line}" for call, line in lines.items()), "echo done"])


def start(url: str, name: str) -> Dict[str, subprocess.Popen[str]]:
    """Starts a victim in each language."""
    url += OPTIONS
    lua = LUAS[-1]
    commands: Dict[str, List[str]] = {
        "C": [str(folder() / "victim"), url, name],
        "Python": [sys.executable, str(HERE / "victim.py"), url, name],
        "Lua": [lua, str(SOURCES / "victim.lua"), url, name],
        "command": ["sh", "-c", command_lines(name)],
    }
    environments = {"Lua": lua_environment(lua), "command": {**os.environ, "REDIS_URL": url}}
    return {language: subprocess.Popen(command, env=environments.get(language), stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, errors="replace")
            for language, command in commands.items()}


def end(process: subprocess.Popen[str], started: float) -> Ending:
    """Waits for a process and measures it. A process that has not ended after TIMEOUT is killed."""
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        if time.monotonic() - started > TIMEOUT:
            process.kill()
        time.sleep(0.02)
    process.returncode = os.waitstatus_to_exitcode(status) if hasattr(os, "waitstatus_to_exitcode") else status
    assert process.stdout is not None
    with process.stdout:
        reported = process.stdout.read()
    return Ending(process.returncode, time.monotonic() - started, usage.ru_utime + usage.ru_stime,
                  usage.ru_maxrss * 1024, reported)


def play(url: str, name: str) -> Dict[str, Ending]:
    """Plays the victims of all languages at once, with the same name."""
    started = time.monotonic()
    return {language: end(process, started) for language, process in start(url, name).items()}


@pytest.fixture(scope="module")
def usual(module_server: RedisServer) -> Dict[str, Ending]:
    """The endings of victims whose server behaves well."""
    module_server.make_pristine()
    put_hash(module_server, "usual", {f"{UUID}:42": 1})
    return play(module_server.url, "usual")


def test_a_server_that_means_well(usual: Dict[str, Ending]) -> None:
    """The victims do what they are meant to."""
    for ending in usual.values():
        assert ending.status == 0 and ending.reported.endswith("done\n"), ending.reported
        assert "protocol" not in ending.reported
        assert ending.late == []


def test_a_call_that_is_late_is_noticed() -> None:
    late = Ending(0, 9.0, 0.1, 1, "connect: ok after 0.001 s\nmutex: timeout after 3.6 s\ntry: ok after 3.2 s\ndone\n")
    assert late.late == ["mutex took 3.6 s"]


def test_each_call_says_how_long_it_took(usual: Dict[str, Ending]) -> None:
    for language, ending in usual.items():
        assert {call for call, _ in ending.calls} == {call for call in TIMEOUTS if (call in OF_COMMAND)
                                                      == (language == "command")}


@pytest.fixture(name="own", scope="module")
def own_fixture(tmp_path_factory: pytest.TempPathFactory) -> Optional[Certificate]:
    """The server's certificate; all victims find its CA in the environment. None without TLS."""
    if not OVER_TLS:
        return None
    identity = Identity.make(tmp_path_factory.mktemp("certificates"))
    os.environ["SSL_CERT_FILE"] = str(identity.ca)
    return identity.own


@pytest.mark.parametrize("evil", EVILS, ids=lambda evil: evil.__name__)
@pytest.mark.parametrize("place", [*PLACES, *([HANDSHAKE] if OVER_TLS else [])])
def test_a_server_that_means_ill(
    server: RedisServer, usual: Dict[str, Ending], own: Optional[Certificate], lock_name: str, place: str, evil: Evil
) -> None:
    put_hash(server, lock_name, {f"{UUID}:42": 1})
    with HostileServer(server, place, evil, own) as hostile:
        endings = play(hostile.url, lock_name)
        assert hostile.struck >= len(endings)
    for language, ending in endings.items():
        assert ending.status == 0 and ending.reported.endswith("done\n"), f"{language}: {ending}"
        assert ending.late == [], f"{language}: {ending}"
        assert ending.memory < usual[language].memory + MEMORY, f"{language}: {ending}"
        # A victim that spins would use a processor all the time.
        assert ending.cpu < usual[language].cpu + 1.0 + 0.4 * ending.seconds, f"{language}: {ending}"
