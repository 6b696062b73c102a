# SPDX-License-Identifier: Apache-2.0
"""Programs: a recipe in two processes, what they count, and the events that they report.

A program is called "a" or "b". What it does is in under_test/guarded.py.
"""

from __future__ import annotations

import os
import subprocess
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Set

import redlatch
from support import bound, free_port, wait_until

ROOT = Path(__file__).resolve().parents[2]
PYTHON = str(ROOT / "build" / "frameworks-venv" / "bin" / "python")
EXAMPLES = ROOT / "examples" / "python"
UNDER_TEST = Path(__file__).with_name("under_test")
IMPORTED = [UNDER_TEST, EXAMPLES, EXAMPLES / "frameworks", EXAMPLES / "frameworks" / "django_site",
            Path(redlatch.__file__).resolve().parents[1]]
START = 30.0  # how many seconds a framework may take to start on a busy machine
ENDLESS = 7  # as in guarded.py


class Interval(NamedTuple):
    """When a program was at work, by the clock of the machine."""

    begun: int
    ended: int
    program: str


class Programs:
    """The processes of one test, on one server."""

    def __init__(self, folder: Path, url: str, locked: bool) -> None:
        self.folder = folder
        self.locked = locked
        self._url = url
        self._processes: Dict[str, subprocess.Popen[bytes]] = {}
        (folder / "counter").write_text("0" * 12, encoding="ascii")

    def environment(self, name: str) -> Dict[str, str]:
        """Returns the environment of a program."""
        values = {**os.environ, "REDIS_URL": self._url, "GUARDED_FOLDER": str(self.folder), "GUARDED_PROGRAM": name,
                  "PYTHONPATH": os.pathsep.join(map(str, IMPORTED)), "PYTHONUNBUFFERED": "1"}
        values.pop("GUARDED_UNLOCKED", None)
        return values if self.locked else {**values, "GUARDED_UNLOCKED": "1"}

    def start(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        """Starts `python ARGUMENT...` as a program of that name."""
        with self.log(name).open("ab") as log:
            process = subprocess.Popen(
                bound([PYTHON, *arguments]), cwd=self.folder, env=self.environment(name), stdin=subprocess.DEVNULL,
                stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        self._processes[name] = process
        return process

    def run(self, text: str) -> None:
        """Runs a few lines of Python to their end, in a process beside the programs."""
        subprocess.run([PYTHON, "-c", text], cwd=self.folder, env=self.environment("sender"), check=True, timeout=START)

    def let_go(self, *names: str) -> None:
        """Lets programs that wait for each other begin."""
        for name in names:
            self.wait_for(name, "ready")
        (self.folder / "go").touch()

    def log(self, name: str) -> Path:
        """Returns the file with the output of a program."""
        return self.folder / f"{name}.log"

    def logged(self, name: str, text: str) -> None:
        """Waits until a program has printed this text."""
        wait_until(lambda: text in self.log(name).read_text(encoding="utf-8", errors="replace"), START,
                   lambda: f"{text!r} in the log of program {name}")

    def events(self, name: str) -> List[str]:
        """Returns the events of a program."""
        return [line.partition(" ")[2] for line in self._lines("events") if line.split()[0] == name]

    def wait_for(self, name: str, event: str, times: int = 1) -> None:
        """Waits until an event has happened so often."""
        wait_until(lambda: self.events(name).count(event) >= times, START, lambda: f"{event!r} of program {name}")

    def intervals(self) -> List[Interval]:
        """Returns when the programs were at work, in order."""
        words = [line.split() for line in self._lines("intervals")]
        return sorted(Interval(int(begun), int(ended), name) for name, begun, ended in words)

    def send_until_both_work(self, send: Callable[[int], object], batch: int) -> int:
        """Sends batches of work to a queue, each when the one before is done, until both programs have worked. Returns
        how many pieces of work were sent. A quick program may finish a batch before the other one has fetched
        anything."""
        for sent in range(batch, 20 * batch, batch):
            send(batch)
            wait_until(lambda sent=sent: len(self.intervals()) == sent, 2 * START, f"the end of {sent} pieces of work")
            if {each.program for each in self.intervals()} == {"a", "b"}:
                return sent
        raise AssertionError(f"one program has done it all: {self.intervals()[0].program}")

    def counted(self) -> int:
        """Returns the counter."""
        return int((self.folder / "counter").read_text(encoding="ascii"))

    def check(self, expected: Optional[int] = None) -> None:
        """No two programs were at work at the same time, and no increment was lost. Without locks both must have
        happened, or this check would notice nothing."""
        intervals = self.intervals()
        beside = [pair for pair in zip(intervals, intervals[1:]) if pair[1].begun < pair[0].ended]
        programs: Set[str] = {each.program for each in intervals}
        assert programs == {"a", "b"}, f"only {programs} took part in {len(intervals)}"
        assert expected in (None, len(intervals)), f"{len(intervals)} were done, expected {expected}"
        if self.locked:
            assert beside == []
            assert self.counted() == len(intervals)
        else:
            assert beside and self.counted() < len(intervals)

    def close(self) -> None:
        """Ends the processes, and all that they have started."""
        for process in self._processes.values():
            try:
                os.killpg(process.pid, 9)
            except ProcessLookupError:
                pass
            process.wait()

    def _lines(self, name: str) -> List[str]:
        try:
            text = (self.folder / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        return text.splitlines()


class Sites:
    """Web servers of one recipe, and requests to them."""

    def __init__(self, programs: Programs, *arguments: str, names: Sequence[str] = "ab") -> None:
        """`{port}` in an argument is the server's. A name of several letters is for as many workers."""
        self.ports: List[int] = []
        for name in names:
            port = free_port()
            programs.start(name, *(each.format(port=port) for each in arguments))
            self.ports.append(port)
        (programs.folder / "go").touch()
        for port in self.ports:
            wait_until(lambda port=port: self.status(port, "/") == 404, START, f"the server at port {port}")

    @staticmethod
    def status(port: int, path: str, method: str = "GET") -> int:
        """Returns the status of an answer, or 0 if there is none."""
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def post(self, path: str, times: int) -> List[int]:
        """Returns the statuses of requests that are made at the same time, to the servers in turn."""

        def post(number: int) -> int:
            return self.status(self.ports[number % len(self.ports)], path, "POST")

        with ThreadPoolExecutor(8) as threads:
            return list(threads.map(post, range(times)))


def lose_on_the_server(client: redlatch.Client, name: str) -> None:
    """Deletes a lock, as an operator may. The holder notices it with its next renewal."""
    assert client.lock(name).force_release()
