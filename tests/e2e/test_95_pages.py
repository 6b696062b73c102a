# SPDX-License-Identifier: Apache-2.0
"""The programs on README.md, on the pages of docs/ and in the rock's README are run as they stand there. Only the
addresses of their servers are replaced.

A page's blocks marked python are one program, as later blocks use the client of the first. Blocks that import gevent
belong to tests/frameworks/test_gevent.py instead, where gevent is installed. Blocks marked lua are one program, too.
Each block marked c is a program of its own. Blocks marked bash run one after the other. Blocks with another mark, or
none, are only shown.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Tuple

import pytest
import redlatch
from support import RedisServer, free_port, shell
from support.certificates import Authority
from support.lua_programs import LUAS, ROOT, environment
from support.tls_server import TlsServer
from support.wire import build_directory

PAGES = [ROOT / "README.md", ROOT / "lua-rock" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Latches that the programs wait for. A thread of the test counts them down.
LATCHES = ("batch", "ready", "opened")
# The password of the user `worker` of a server with TLS.
TOKEN = "a-token"
# What the programs of a page must print. They must also succeed.
PRINTED: Dict[Tuple[str, str], Tuple[str, ...]] = {
    ("README.md", "python"): ("one process",),
    ("README.md", "lua"): ("only one process at a time is here",),
    ("README.md", "c"): ("one process",),
    ("README.md", "bash"): ("one process", "on one machine"),
    ("docs/index.md", "python"): ("one holder",),
    ("docs/index.md", "lua"): ("one holder",),
    ("docs/index.md", "c"): ("one holder",),
    ("docs/index.md", "bash"): ("one holder", "one machine"),
    ("docs/learn/choose-a-lock.md", "python"): ("token = 1", "both names", "both seats"),
    ("docs/learn/choose-a-lock.md", "lua"): ("token = 1", "both names"),
    ("docs/learn/choose-a-lock.md", "c"): ("token = 1",),
    ("docs/learn/choose-a-lock.md", "bash"): ("token 1", "both names", "one of three"),
    ("docs/learn/failover-and-redlock.md", "python"): ("two of three",),
    ("docs/learn/failover-and-redlock.md", "lua"): ("two of three",),
    ("docs/learn/forks-and-signals.md", "python"): ("after SIGTERM: False", "was refused: True"),
    ("docs/learn/leases-and-fencing.md", "python"): ("sum 7",),
    ("docs/how-to/c.md", "c"): ("one holder", "the job ran", "step 0\n", "token 1, safe for 59 s\nlost: missing"),
    ("docs/how-to/credentials.md", "python"): ("logged in with the token",),
    ("docs/how-to/event-loops.md", "c"): ("call 1: ok\ncall 2: ok",),
    ("docs/how-to/lua.md", "lua"): (
        "one holder", "released at the end", "timeout", "the job ran\ntimeout", "false\tlost"
    ),
    ("docs/how-to/migrate.md", "python"): ("mean timeout=5?", "old and new exclude", "one import", "server: True"),
    ("docs/how-to/migrate.md", "bash"): ("no flock and no redlatch",),
    ("docs/how-to/python.md", "python"): (
        "one holder", "lost: missing", "mutex True", "the loop goes on", "cancelled by the loss: missing",
        "a SIGTERM releases",
    ),
    ("docs/how-to/recipes.md", "bash"): ("builds\nswitches over", "leads"),
    ("docs/how-to/recipes.md", "python"): ("made None", "leads: True", "does job 1\ndoes job 2"),
    ("docs/how-to/semaphores-and-latches.md", "bash"): ("one of three", "is open"),
    ("docs/how-to/semaphores-and-latches.md", "c"): ("one of three",),
    ("docs/how-to/semaphores-and-latches.md", "lua"): ("permit\t", "all is done"),
    ("docs/how-to/semaphores-and-latches.md", "python"): ("one of three", "all is done"),
    ("docs/how-to/share-locks.md", "python"): ("they exclude each other",),
    ("docs/how-to/shell-and-cron.md", "bash"): (
        "both locks", "ran\nskipped with status 75", "still held", "deploys", "was free"
    ),
    ("docs/how-to/testing.md", "python"): ("own server: True",),
    ("docs/how-to/tls.md", "bash"): ("encrypted",),
    ("docs/how-to/tls.md", "c"): ("encrypted",),
    ("docs/how-to/tls.md", "lua"): ("encrypted",),
    ("docs/how-to/tls.md", "python"): ("encrypted", "certificate accepted: True"),
    ("docs/reference/command.md", "bash"): ("status 7", "free, with status 3"),
    ("docs/reference/lua.md", "lua"): ("with the token", "wait behind us", "would_deadlock", "both seats"),
    ("docs/reference/python.md", "python"): ("already_held False False",),
    ("lua-rock/README.md", "lua"): ("one holder",),
}  # fmt: skip


def name_of(page: Path) -> str:
    """Returns a page's path in the tree."""
    return page.relative_to(ROOT).as_posix()


def programs(page: Path, language: str) -> List[str]:
    """Returns the blocks of a page in one language, without those that import gevent."""
    text = page.read_text(encoding="utf-8")
    found = re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    return [program for program in found if not program.startswith("from gevent ")]


def pages_with(language: str) -> List[str]:
    """Returns the pages that have programs in a language."""
    return [name_of(page) for page in PAGES if programs(page, language)]


def run(command: List[str], **options: str) -> str:
    """Runs a program, which must succeed, and returns what it prints."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False,
                          env={**os.environ, **options})
    assert done.returncode == 0, f"{command[0]}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def as_one_lua_program(found: List[str], lua: str) -> str:
    """Joins the programs. The first makes client and lock, and the others are blocks that use them."""
    reported = [each for each in found if "<close>" not in each or lua == "lua5.4"]
    return "\n".join([reported[0], *(f"do\n{each}end" for each in reported[1:])])


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


class Runner:
    """Runs the programs of pages on this test's servers."""

    def __init__(self, servers: List[RedisServer], folder: Path) -> None:
        self.servers = servers
        self.folder = folder
        self._tls: Optional[TlsServer] = None

    def with_addresses(self, program: str, down: str = "") -> str:
        """Replaces the addresses that a program names with those of running servers. Nobody listens at the address of
        the server `down`."""
        for place, server in zip("abc", self.servers):
            url = f"redis://127.0.0.1:{free_port()}" if place == down else server.url
            program = program.replace(f"redis://{place}:6379", url)
        if "rediss://" in program:
            program = self._with_tls(program)
        return re.sub(r"redis://127\.0\.0\.1:6379(/0)?", self.servers[0].url, program)

    def _with_tls(self, program: str) -> str:
        """Does the same for a server with TLS, which verifies the certificates of clients that have one."""
        ca = Authority(self.folder / "certificates", "our CA")
        worker = ca.certificate("worker", names="DNS:worker")
        self._tls = TlsServer(ca.certificate(), ca.file, tls_auth_clients="optional")
        self._tls.server.admin.acl_setuser("worker", enabled=True, passwords=[f"+{TOKEN}"], keys="*", channels="*",
                                           commands=["+@all"])
        (self.folder / "token").write_text(TOKEN, encoding="utf-8")
        places = {"ca.crt": ca.file, "worker.crt": worker.file, "worker.key": worker.key}
        for name, path in places.items():
            program = program.replace(f"/etc/redis/{name}", str(path))
        return program.replace("rediss://redis.example:6380/0", self._tls.url)

    def close(self) -> None:
        """Ends the server with TLS if there is one."""
        if self._tls:
            self._tls.server.close()

    def write(self, name: str, program: str, down: str) -> str:
        """Writes a program's file and returns its path."""
        path = self.folder / name
        path.write_text(self.with_addresses(program, down), encoding="utf-8")
        return str(path)

    def python(self, found: List[str], down: str = "") -> str:
        """Runs the programs as one and returns what they print."""
        script = self.write("page.py", "\n".join(found), down)
        package = str(Path(redlatch.__file__).resolve().parents[1])
        return run([sys.executable, script], PYTHONPATH=package, REDIS_URL=self.servers[0].url,
                   TOKEN_FILE=str(self.folder / "token"))

    def lua(self, found: List[str], lua: str, down: str = "") -> str:
        """Runs the programs as one and returns what they print."""
        script = self.write("page.lua", as_one_lua_program(found, lua), down)
        return run([lua, script], **{**environment(lua), "REDIS_URL": self.servers[0].url})

    def c(self, found: List[str]) -> str:
        """Compiles each program as the pages say, except for the library's folder, and returns what all of them
        print."""
        program, library = str(self.folder / "program"), build_directory() / "core"
        flags = ["-Wall", "-Wextra", "-Werror", f"-I{ROOT}/core/include", f"-L{library}", "-lredlatch"]
        printed = ""
        for text in found:
            run(["cc", self.write("program.c", text, ""), *flags, "-o", program])
            printed += run([program], LD_LIBRARY_PATH=str(library))
        return printed

    def bash(self, found: List[str]) -> str:
        """Runs the commands until one fails, and returns what they print."""
        script = self.write("page.sh", "\n".join(found), "")
        path = f"{Path(shell.program()).parent}:{os.environ['PATH']}"
        return run(["bash", "-eu", script], PATH=path, REDIS_URL=self.servers[0].url)


@pytest.fixture
def runner(servers: List[RedisServer], tmp_path: Path) -> Iterator[Runner]:
    """Runs programs on this test's servers."""
    made = Runner(servers, tmp_path)
    yield made
    made.close()


def check(page: str, language: str, printed: str) -> None:
    """Checks that a program printed what it must."""
    for words in PRINTED.get((page, language), ()):
        assert words in printed, printed


@pytest.mark.parametrize("page", pages_with("python"))
def test_python(runner: Runner, page: str) -> None:
    check(page, "python", runner.python(programs(ROOT / page, "python")))


@pytest.mark.parametrize("lua", LUAS)
@pytest.mark.parametrize("page", pages_with("lua"))
def test_lua(runner: Runner, page: str, lua: str) -> None:
    check(page, "lua", runner.lua(programs(ROOT / page, "lua"), lua))


@pytest.mark.parametrize("page", pages_with("c"))
def test_c(runner: Runner, page: str) -> None:
    check(page, "c", runner.c(programs(ROOT / page, "c")))


@pytest.mark.parametrize("page", pages_with("bash"))
def test_bash(runner: Runner, page: str) -> None:
    check(page, "bash", runner.bash(programs(ROOT / page, "bash")))


def test_every_row_is_of_a_page() -> None:
    has = {(page, language) for language in ("python", "lua", "c", "bash") for page in pages_with(language)}
    assert set(PRINTED) <= has


@pytest.mark.parametrize("down", ["a", "b", "c"])
def test_a_red_lock_with_one_of_three_servers_down(runner: Runner, down: str) -> None:
    """The page says that any minority of the servers may be down: its programs run all the same."""
    page = ROOT / "docs" / "learn" / "failover-and-redlock.md"
    assert "two of three" in runner.python(programs(page, "python"), down)
    assert "two of three" in runner.lua(programs(page, "lua"), LUAS[0], down)
