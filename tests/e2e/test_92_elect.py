# SPDX-License-Identifier: Apache-2.0
"""`redlatch elect`: the leader's command runs, and no other candidate's."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Iterator, List

import pytest
import redlatch as library
from support import Proxy, RedisServer, RedissonShapedPeer, wait_until
from support.shell import TIMEOUT, is_alive, redlatch, start
from support.wire import fields, subscribers

STATUS = {"usage": 64, "no lock": 65, "unreachable": 69, "lost": 70}
# A command that writes when it begins and when it gets SIGTERM.
SCRIPT = "trap 'echo ends >>{0}; exit 5' TERM; echo $$ >>{0}; while :; do sleep 0.02; done"


class Candidate:
    """A process that is a candidate for a name."""

    def __init__(self, server: RedisServer, folder: Path, who: str, name: str, *options: object) -> None:
        self.file = folder / who
        self.file.touch()
        self.process = start(server, "elect", *options, name, "--", "sh", "-c", SCRIPT.format(self.file))

    @property
    def lines(self) -> List[str]:
        """What the command wrote; process ids are shown as "begins"."""
        return ["begins" if line.isdigit() else line for line in self.file.read_text().splitlines()]

    @property
    def command(self) -> int:
        """The process id of the command that began last."""
        return int([line for line in self.file.read_text().splitlines() if line.isdigit()][-1])

    def wait(self, *lines: str) -> None:
        """Waits until the command wrote just these lines."""
        wait_until(lambda: len(self.lines) >= len(lines), TIMEOUT, f"{lines}, and not {self.lines}")
        assert self.lines == list(lines)


@pytest.fixture
def candidates() -> Iterator[List[Candidate]]:
    """Candidates that are killed at the end, if they still run."""
    started: List[Candidate] = []
    yield started
    for each in started:
        each.process.kill()
        each.process.communicate()


def test_one_leads_and_another_follows(
    server: RedisServer, lock_name: str, tmp_path: Path, candidates: List[Candidate]
) -> None:
    candidates.append(Candidate(server, tmp_path, "one", lock_name))
    candidates[0].wait("begins")
    candidates.append(Candidate(server, tmp_path, "other", lock_name))
    wait_until(lambda: subscribers(server, lock_name) == 1, TIMEOUT, "the other one to wait")
    assert candidates[1].lines == []
    candidates[0].process.terminate()  # the command gets the signal
    assert candidates[0].process.wait(TIMEOUT) == 5 and candidates[0].lines == ["begins", "ends"]
    candidates[1].wait("begins")
    candidates[1].process.send_signal(signal.SIGTERM)
    assert candidates[1].process.wait(TIMEOUT) == 5
    assert server.admin.exists(lock_name) == 0


def test_a_loss_ends_the_command_and_it_stands_again(
    server: RedisServer, peer: RedissonShapedPeer, lock_name: str, tmp_path: Path, candidates: List[Candidate]
) -> None:
    candidates.append(Candidate(server, tmp_path, "one", lock_name, "--lease", "3", "--verbose"))
    one = candidates[0]
    one.wait("begins")
    first = one.command
    server.admin.delete(lock_name)
    peer.lock(lock_name)
    one.wait("begins", "ends")
    wait_until(lambda: not is_alive(first) and subscribers(server, lock_name) == 1, TIMEOUT, "it to wait")
    assert peer.unlock(lock_name)
    one.wait("begins", "ends", "begins")
    server.admin.delete(lock_name)
    one.wait("begins", "ends", "begins", "ends", "begins")
    one.process.terminate()
    printed = one.process.communicate(timeout=TIMEOUT)[1]
    assert one.process.returncode == 5 and server.admin.exists(lock_name) == 0
    assert printed.count(f'waits for "{lock_name}" again') == 2


# A program that writes which signals are blocked. A shell would unblock them.
WRITES_MASK = "import signal, sys, time; print(signal.pthread_sigmask(0, []), flush=True); time.sleep(600)"


def test_each_command_begins_with_the_same_signals_blocked(server: RedisServer, lock_name: str) -> None:
    process = start(server, "elect", "--lease", "600ms", lock_name, "--", sys.executable, "-c", WRITES_MASK)
    try:
        assert process.stdout is not None
        first = process.stdout.readline()
        server.admin.delete(lock_name)
        assert process.stdout.readline() == first != ""
    finally:
        process.kill()
        process.communicate()


def test_the_end_of_the_command_is_its_own(server: RedisServer, lock_name: str) -> None:
    done = redlatch(server, "elect", "--kind", "fenced", lock_name, "--", "sh", "-c", "echo $REDLATCH_TOKEN; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, "1\n", "")
    assert server.admin.exists(lock_name) == 0
    assert redlatch(server, "elect", lock_name, "no-such-program-xyz", "x").returncode == STATUS["usage"]
    assert redlatch(server, "elect", lock_name, "--", "no-such-program-xyz").returncode == 127
    assert server.admin.exists(lock_name) == 0


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, -2)])
def test_a_signal_ends_the_wait(
    server: RedisServer, lock_name: str, tmp_path: Path, candidates: List[Candidate], number: int, status: int
) -> None:
    with library.connect(server.url) as client, client.lock(lock_name):
        candidates.append(Candidate(server, tmp_path, "one", lock_name))
        wait_until(lambda: subscribers(server, lock_name) == 1, TIMEOUT, "it to wait")
        candidates[0].process.send_signal(number)
        assert candidates[0].process.wait(TIMEOUT) == status
    assert candidates[0].lines == [] and fields(server, lock_name) == {}


def test_a_signal_while_it_waits_after_a_loss(
    server: RedisServer, peer: RedissonShapedPeer, lock_name: str, tmp_path: Path, candidates: List[Candidate]
) -> None:
    candidates.append(Candidate(server, tmp_path, "one", lock_name, "--lease", "3"))
    candidates[0].wait("begins")
    server.admin.delete(lock_name)
    peer.lock(lock_name)
    candidates[0].wait("begins", "ends")
    wait_until(lambda: subscribers(server, lock_name) == 1, TIMEOUT, "it to wait")
    candidates[0].process.terminate()
    assert candidates[0].process.wait(TIMEOUT) == 143


def test_a_leader_that_was_to_end_does_not_stand_again(server: RedisServer, lock_name: str, tmp_path: Path) -> None:
    up = tmp_path / "up"
    deaf = f"trap '' TERM; touch {up}; while :; do sleep 0.02; done"
    process = start(server, "elect", "--lease", "3", "--grace", "0.1", lock_name, "--", "sh", "-c", deaf)
    wait_until(up.exists, TIMEOUT, "the command")
    process.terminate()
    server.admin.delete(lock_name)
    try:
        assert process.wait(TIMEOUT) == STATUS["lost"]
    finally:
        process.kill()
        process.communicate()


def test_a_candidate_waits_again_after_an_error_that_passes(
    server: RedisServer, lock_name: str, tmp_path: Path, candidates: List[Candidate]
) -> None:
    server.admin.config_set("maxmemory", 1)
    try:
        candidates.append(Candidate(server, tmp_path, "one", lock_name))
        assert candidates[0].process.stderr is not None
        assert "waits for" in candidates[0].process.stderr.readline()
    finally:
        server.admin.config_set("maxmemory", 0)
    candidates[0].wait("begins")


MISUSE = {
    "x y -- true": "elect: 2 names: expected one",
    "x --": "elect: nothing after --: expected a command",
    "x": "elect: no command to be run under 'x': expected NAME -- CMD",
    "--kind plain x -- true": "--kind is 'plain': expected one of mutex, fenced, fair",
    "--wait 5 x -- true": "elect: there is no option --wait\nredlatch: see: redlatch elect --help",
}


@pytest.mark.parametrize("arguments", MISUSE)
def test_misuse_is_64_and_says_what_is_wrong(server: RedisServer, arguments: str) -> None:
    done = redlatch(server, "elect", *arguments.split())
    assert (done.returncode, done.stdout) == (STATUS["usage"], "")
    assert done.stderr == f"redlatch: {MISUSE[arguments]}\n"


def test_an_error_that_stays_ends_it(server: RedisServer, lock_name: str) -> None:
    server.admin.lpush(lock_name, "no lock")
    assert redlatch(server, "elect", lock_name, "--", "true").returncode == STATUS["no lock"]
    server.admin.delete(lock_name)
    done: subprocess.CompletedProcess[str] = redlatch(server, "elect", "-u", "redis://127.0.0.1:9", "x", "--", "true")
    assert done.returncode == STATUS["unreachable"]


def test_a_candidate_outlives_a_server_that_refuses(
    server: RedisServer, proxy: Proxy, lock_name: str, tmp_path: Path, candidates: List[Candidate]
) -> None:
    with library.connect(server.url) as client:
        lock = client.lock(lock_name)
        assert lock.acquire()
        candidates.append(Candidate(server, tmp_path, "one", lock_name, "--url", proxy.url))
        wait_until(lambda: subscribers(server, lock_name) == 1, TIMEOUT, "it to wait")
        refusing = proxy.refuse()
        proxy.cut_all()
        lock.release()
        proxy.discard(refusing)
        candidates[0].wait("begins")
