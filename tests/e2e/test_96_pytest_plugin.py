# SPDX-License-Identifier: Apache-2.0
"""redlatch.testing: its fixtures, in separate runs of pytest, and its server."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Dict, List

import pytest
import redlatch
import redlatch.testing.server as server_module
from redlatch.testing import Server
from support import wait_until
from support.shell import is_alive

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[2]
CONFTEST = 'pytest_plugins = ["redlatch.testing"]'
START = """
import threading
import pytest, redlatch
from redlatch.testing import lose
"""
GOOD = """
def test_first(redlatch_client, redlatch_server):
    with redlatch.connect(redlatch_server.url) as other:
        with redlatch_client.lock("orders") as held:
            assert not other.lock("orders").acquire(blocking=False)
            assert other.inspect("orders").holders == 1
        redlatch_client.semaphore("gate", limit=2).acquire()        # is nobody's

def test_second(redlatch_client, redlatch_server):
    assert redlatch_client.semaphore("gate").available() == 1       # the same server
    redlatch_server.clear()
    assert list(redlatch_client.scan()) == []

def test_lose(redlatch_client):
    with pytest.raises(redlatch.LockLostError):
        with redlatch_client.lock("orders") as held:
            lose(held)

def test_closes_its_client(redlatch_client):
    redlatch_client.lock("orders").acquire()
    redlatch_client.close()                                         # which releases

@pytest.fixture(scope="module")
def service(redlatch_server):
    with redlatch.connect(redlatch_server.url) as client, client.lock("leader"):
        yield

def test_beside_a_hold_of_the_module(service, redlatch_client):
    assert redlatch_client.lock("leader").state().locked
"""
# Tests that each leave something behind, and the lines that must report it.
BAD: Dict[str, List[str]] = {
    """
def test_hold(redlatch_client):
    redlatch_client.lock("orders:1").acquire()
""": ["a hold of the mutex lock 'orders:1' by owner *:1, process {pid} on *"],
    """
def test_hold_of_another_client(redlatch_client, redlatch_server):
    global other
    other = redlatch.connect(redlatch_server.url)
    other.fenced_lock("orders:2", lease=60).acquire()
""": ["a hold of the fenced lock 'orders:2' by owner *"],
    """
def test_two(redlatch_client):
    redlatch_client.read_write_lock("orders:3").read.acquire()
    redlatch_client.permit_semaphore("slots", limit=3).acquire()
""": ["a read hold of the read_write lock 'orders:3' by owner *", "a permit of the semaphore 'slots': *"],
    """
def test_waiter(redlatch_client, redlatch_server):
    global holder
    holder = redlatch.connect(redlatch_server.url)
    holder.lock("orders:4").acquire()
    def wait():
        with pytest.raises(redlatch.ClosedError):
            redlatch_client.lock("orders:4").acquire()
    threading.Thread(target=wait, name="forgotten").start()
    while not redlatch_client.stats()["waiters"]:
        pass
""": ["a waiter for 'orders:4': thread 'forgotten'"],
    """
def test_fair_waiter_of_another_client(redlatch_client, redlatch_server):
    global queuing
    redlatch_client.fair_lock("orders:5").acquire()
    queuing = redlatch.connect(redlatch_server.url)
    threading.Thread(target=queuing.fair_lock("orders:5", owner="handle").acquire, daemon=True).start()
    while not redlatch_client.fair_lock("orders:5").state().waiters:
        pass
""": ["a waiter for the fair lock 'orders:5' by owner *"],
}


def run(pytester: pytest.Pytester, text: str) -> pytest.RunResult:
    """Runs pytest over one module, with the plugin."""
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_module=START + text)
    return pytester.runpytest_subprocess("-p", "no:xdist", "-p", "no:cacheprovider", timeout=60)


@pytest.fixture(autouse=True)
def package(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runs of pytest import the redlatch that is tested."""
    monkeypatch.setenv("PYTHONPATH", str(Path(redlatch.__file__).resolve().parents[1]))


def test_what_leaves_nothing_passes(pytester: pytest.Pytester) -> None:
    run(pytester, GOOD).assert_outcomes(passed=5)


def test_the_page(pytester: pytest.Pytester) -> None:
    """The tests on docs/how-to/testing.md pass."""
    page = ROOT / "docs" / "how-to" / "testing.md"
    plugin, *blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert plugin.strip() == CONFTEST
    run(pytester, "\n".join(blocks)).assert_outcomes(passed=4)


def test_what_is_left_behind_is_named(pytester: pytest.Pytester) -> None:
    """Each test has an error of its own. What an earlier test left is not reported again for the next."""
    clean = "\ndef test_clean(redlatch_client):\n    assert redlatch_client.lock('orders:6').acquire(timeout=1)\n" \
            "    redlatch_client.lock('orders:6').release()\n"
    result = run(pytester, "\n".join([*BAD, clean]))
    result.assert_outcomes(passed=len(BAD) + 1, errors=len(BAD))
    for text, expected in BAD.items():
        name = re.search(r"def (test_\w+)", text)
        assert name
        result.stdout.fnmatch_lines([f"*ERROR at teardown of {name[1]} *", "the test left behind:",
                                     *(f"*{line.format(pid='*')}" for line in expected)])


def test_without_a_server_program(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(pytester.path))
    result = run(pytester, GOOD)
    result.assert_outcomes(errors=5)
    result.stdout.fnmatch_lines(["none of redis-server, valkey-server is in PATH; expected one of the packages*"])


def test_a_killed_run_leaves_no_server(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile("""
        def test_server(redlatch_server):
            print(redlatch_server._process.pid, flush=True)
            input()
    """)
    command = [sys.executable, "-m", "pytest", "-s", "-q", "-p", "no:cacheprovider"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        pid = int(process.stdout.readline())
        os.kill(pid, 0)
        process.kill()
        wait_until(lambda: not is_alive(pid), 10, f"the end of the server, process {pid}")


def test_two_servers_of_which_the_second_first_tries_the_port_of_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    real = server_module._free_port
    with Server() as first:
        choices = [first.port]
        monkeypatch.setattr(server_module, "_free_port", lambda: choices.pop() if choices else real())
        with Server() as second:
            assert not choices and first.port != second.port
            with redlatch.connect(first.url) as client, redlatch.connect(second.url) as other:
                with client.lock("orders"):
                    assert not other.lock("orders").state().locked
            pid, folder = second._process.pid if second._process else 0, second._folder
            os.kill(pid, signal.SIGTERM)  # the server may end before it is closed
    assert not is_alive(pid) and not folder.exists()
    second.close()


def test_a_server_is_closed_although_a_forked_child_lives() -> None:
    server = Server()
    child = os.fork()
    if child == 0:
        signal.pause()
    closing = threading.Thread(target=server.close, daemon=True)
    closing.start()
    closing.join(10)
    closed = not closing.is_alive()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert closed


def test_the_package_does_not_need_pytest() -> None:
    program = "import sys, redlatch, redlatch.aio; sys.exit('pytest' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
