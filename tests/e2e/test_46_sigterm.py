# SPDX-License-Identifier: Apache-2.0
"""release_on_sigterm(): a process that gets SIGTERM releases its holds and leaves all queues."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from typing import Callable, Iterator, List, Tuple

import pytest
import redlatch
from support import RedisServer, wait_until
from support.lua_programs import LUAS, ROOT, environment
from support.wire import fields, subscribers

Start = Callable[..., "subprocess.Popen[str]"]

# The beginning of all programs. They reset SIGTERM, because the tests may run with SIGTERM ignored.
THREADS = """
import os, signal, sys, threading, time, redlatch
from redlatch import sigterm
url, name = sys.argv[1:3]
signal.signal(signal.SIGTERM, signal.SIG_DFL)
def say(*words):
    print(*words, flush=True)
def stay():
    say("ready")
    time.sleep(60)
client = redlatch.connect(url)
lock = client.lock(name)
"""

TASKS = """
import sys, redlatch.aio
url, name, loop = sys.argv[1:4]
import signal
signal.signal(signal.SIGTERM, signal.SIG_DFL)
def say(*words):
    print(*words, flush=True)
if loop == "trio":
    import trio
    from trio import sleep
    run = trio.run
else:
    import asyncio
    from asyncio import sleep
    def run(main):
        if loop == "uvloop":
            import uvloop
            uvloop.install()
        asyncio.run(main())
async def stay():
    say("ready")
    await sleep(60)
"""


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a Python program, and kills it at the end of the test."""
    started: List[subprocess.Popen[str]] = []

    def begin(text: str, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", text, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def wait_for(process: subprocess.Popen[str], line: str) -> None:
    """Waits for the program's next line, which must be this one."""
    assert process.stdout is not None and process.stderr is not None
    printed = process.stdout.readline()
    assert printed == line + "\n", printed or process.stderr.read()


def end_of(process: subprocess.Popen[str]) -> Tuple[int, str]:
    """Waits for the end of a program that must print no errors. Returns its exit status and its further output."""
    printed, errors = process.communicate(timeout=30)
    assert errors == ""
    return process.returncode, printed


def terminated(process: subprocess.Popen[str]) -> Tuple[int, str]:
    """Sends SIGTERM to a program when it is ready, and returns the same."""
    wait_for(process, "ready")
    process.send_signal(signal.SIGTERM)
    return end_of(process)


HOLDERS = {
    "with": "redlatch.release_on_sigterm()\n"
    "try:\n    with lock, client.fair_lock(name + ':fair'), client.semaphore(name + ':s', limit=1): stay()\n"
    "finally: say('left', lock.owned())",
    "acquired": "assert redlatch.release_on_sigterm()\nlock.acquire()\ntry: stay()\nfinally: say('left', False)",
    "twice": "assert redlatch.release_on_sigterm() and redlatch.release_on_sigterm()\n"
    "with lock:\n    try: stay()\n    finally: say('left', False)",
    "leader": "redlatch.release_on_sigterm()\n"
    "with client.elect(name, on_gain=lambda: say('ready'), on_loss=lambda: say('left', False)): time.sleep(60)",
    "daemon": "redlatch.release_on_sigterm()\n"
    "def work():\n    with lock: stay()\n"
    "threading.Thread(target=work, daemon=True).start()\n"
    "try: time.sleep(60)\nfinally: say('left', False)",
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_what_is_held_is_released(server: RedisServer, lock_name: str, start: Start, holder: str) -> None:
    process = start(THREADS + HOLDERS[holder], server.url, lock_name)
    assert terminated(process) == (143, "left False\n")
    assert fields(server, lock_name) == {} == fields(server, lock_name + ":fair")
    wait_until(lambda: not server.client_list("redlatch:"))


def test_without_it_the_lock_stays_for_its_lease(server: RedisServer, lock_name: str, start: Start) -> None:
    process = start(THREADS + "with lock: stay()", server.url, lock_name)
    assert terminated(process) == (-signal.SIGTERM, "")
    assert fields(server, lock_name)


def test_who_waits_queues_no_longer(
    server: RedisServer, client: redlatch.Client, lock_name: str, start: Start
) -> None:
    with client.fair_lock(lock_name):
        process = start(
            THREADS + "redlatch.release_on_sigterm()\nsay('ready')\nclient.fair_lock(name).acquire()",
            server.url,
            lock_name,
        )
        wait_until(lambda: client.fair_lock(lock_name).state().waiters == 1)
        assert terminated(process) == (143, "")
        assert client.fair_lock(lock_name).state().waiters == 0


def test_a_handler_of_the_program_stays(server: RedisServer, lock_name: str, start: Start) -> None:
    own = "def own(number, frame):\n    say('own')\n    raise KeyError('own')\n"
    own += "signal.signal(signal.SIGTERM, own)\nassert redlatch.release_on_sigterm() is False\n"
    process = start(THREADS + own + "try:\n    with lock: stay()\nexcept KeyError: sys.exit(7)", server.url, lock_name)
    assert terminated(process) == (7, "own\n")
    assert fields(server, lock_name) == {}


def test_an_ignored_signal_stays_ignored(server: RedisServer, lock_name: str, start: Start) -> None:
    text = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nassert redlatch.release_on_sigterm() is False\n"
    text += "with lock: os.kill(os.getpid(), 15); say('goes on')"
    assert end_of(start(THREADS + text, server.url, lock_name)) == (0, "goes on\n")


def test_a_second_signal_does_not_interrupt_the_end(server: RedisServer, lock_name: str, start: Start) -> None:
    """`timeout` sends SIGTERM to a process and to its group, so a second signal at once is ignored. A later one
    interrupts an end that takes too long."""
    text = "redlatch.release_on_sigterm()\n"
    text += "try:\n    with lock:\n        try: stay()\n"
    text += "        finally: say('first'); os.kill(os.getpid(), 15); say('on')\n"
    text += "finally:\n    sigterm.SAME = 0\n    try: os.kill(os.getpid(), 15)\n    finally: say('third')"
    process = start(THREADS + text, server.url, lock_name)
    assert terminated(process) == (143, "first\non\nthird\n")
    assert fields(server, lock_name) == {}


def test_only_the_main_thread_may_call_it() -> None:
    raised: List[BaseException] = []

    def call() -> None:
        try:
            redlatch.release_on_sigterm()
        except RuntimeError as error:
            raised.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    assert "expected the main thread" in str(raised)


@pytest.mark.parametrize("lua", LUAS)
def test_a_loop_of_lua_releases(server: RedisServer, lock_name: str, lua: str) -> None:
    """The pattern of docs/how-to/lua.md."""
    page = (ROOT / "docs" / "how-to" / "lua.md").read_text(encoding="utf-8")
    pattern = page.split("## End on SIGTERM", 1)[1].split("```lua\n", 1)[1].split("```", 1)[0]
    text = f'local client = assert(require "redlatch".connect("{server.url}"))\n{pattern}'
    text += f'assert(client:lock("{lock_name}"):acquire())\nlocal stays = uv.new_timer()\n'
    text += 'stays:start(0, 100, function() end)\nprint("ready")\nio.stdout:flush()\nuv.run()'
    with subprocess.Popen(
        [lua, "-e", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(lua)
    ) as process:
        assert terminated(process) == (143, "")
    assert fields(server, lock_name) == {}


# ------------------------------------------------------------------------------------------------------------ tasks --

TASK_HOLDERS = {
    "async with": "async def main():\n"
    "    async with redlatch.aio.release_on_sigterm() as handled, redlatch.aio.connect(url) as client:\n"
    "        assert handled\n"
    "        try:\n            async with client.lock(name): await stay()\n"
    "        finally: say('left', False)\n",
    "leader": "async def main():\n"
    "    async with redlatch.aio.release_on_sigterm(), redlatch.aio.connect(url) as client:\n"
    "        async with client.elect(name, on_gain=lambda: say('ready'), on_loss=lambda: say('left', False)):\n"
    "            await sleep(60)\n",
    "client outside": "async def main():\n"
    "    async with redlatch.aio.connect(url) as client, redlatch.aio.release_on_sigterm():\n"
    "        await client.lock(name).acquire()\n"
    "        try: await stay()\n"
    "        finally: say('left', False)\n",
}


@pytest.mark.parametrize("holder", TASK_HOLDERS)
@pytest.mark.parametrize("loop", ["asyncio", "uvloop", "trio"])
def test_what_tasks_hold_is_released(
    server: RedisServer, lock_name: str, start: Start, loop: str, holder: str
) -> None:
    process = start(TASKS + TASK_HOLDERS[holder] + "run(main)", server.url, lock_name, loop)
    assert terminated(process) == (143, "left False\n")
    assert fields(server, lock_name) == {}


@pytest.mark.parametrize("loop", ["asyncio", "uvloop", "trio"])
def test_a_task_that_waits_queues_no_longer(
    server: RedisServer, client: redlatch.Client, lock_name: str, start: Start, loop: str
) -> None:
    text = "async def main():\n    async with redlatch.aio.release_on_sigterm(), redlatch.aio.connect(url) as client:\n"
    text += "        say('ready')\n        await client.lock(name).acquire()\nrun(main)"
    with client.lock(lock_name) as held:
        process = start(TASKS + text, server.url, lock_name, loop)
        wait_until(lambda: subscribers(server, lock_name) == 1)
        assert terminated(process) == (143, "")
        assert list(fields(server, lock_name)) == [held.owner.encode()]


@pytest.mark.parametrize("loop", ["asyncio", "uvloop", "trio"])
def test_behind_the_block_of_a_task_the_earlier_handler_is_back(
    server: RedisServer, lock_name: str, start: Start, loop: str
) -> None:
    text = "def own(number, frame): say('own')\n"
    text += "async def main():\n    async with redlatch.aio.release_on_sigterm(): pass\n"
    text += "    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL\n"
    text += "    signal.signal(signal.SIGTERM, own)\n"
    text += "    async with redlatch.aio.release_on_sigterm() as handled: assert handled is False\n"
    text += "    assert signal.getsignal(signal.SIGTERM) is own\n"
    text += "    signal.signal(signal.SIGTERM, signal.SIG_DFL)\n    assert redlatch.release_on_sigterm()\n"
    text += "    async with redlatch.aio.release_on_sigterm() as handled: assert handled is True\n"
    text += "    assert redlatch.release_on_sigterm()\nrun(main)\nsay('good')"
    assert end_of(start(TASKS + text, server.url, lock_name, loop)) == (0, "good\n")


@pytest.mark.parametrize("loop", ["asyncio", "trio"])
def test_an_error_on_the_way_out_is_not_hidden(server: RedisServer, lock_name: str, start: Start, loop: str) -> None:
    text = "async def main():\n    async with redlatch.aio.release_on_sigterm():\n"
    text += "        try: await stay()\n        finally: raise KeyError('out')\n"
    text += "try: run(main)\nexcept KeyError: say('KeyError')\n"
    assert terminated(start(TASKS + text, server.url, lock_name, loop)) == (0, "KeyError\n")
