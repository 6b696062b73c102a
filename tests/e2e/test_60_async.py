# SPDX-License-Identifier: Apache-2.0
"""Asynchronous calls, hosts that do not poll, cancelling and closing, by C programs; Ctrl-C and closing in Python."""

from __future__ import annotations

import os
import random
import select
import signal
import subprocess
import sys
import threading
import time
from typing import Callable, Iterator, List

import pytest
import redlatch
from scenes import play, scenes_of
from stalls import Stalls
from support import Monitor, RedisServer, free_port, wait_until
from waiters import SOON

MakeServer = Callable[..., RedisServer]


# ------------------------------------------------------------------------------------------------------- C scenes --


@pytest.mark.parametrize("scene", scenes_of("scenes_async"))
def test_host_that_polls(server: RedisServer, lock_name: str, scene: str) -> None:
    play("scenes_async", scene, server.url, lock_name)


@pytest.mark.parametrize("scene", scenes_of("scenes_host"))
def test_host_beside_others(server: RedisServer, lock_name: str, scene: str) -> None:
    play("scenes_host", scene, server.url, lock_name)


@pytest.mark.parametrize("scene", scenes_of("scenes_answers"))
def test_answers(server: RedisServer, lock_name: str, scene: str) -> None:
    play("scenes_answers", scene, server.url, lock_name)


@pytest.mark.parametrize("scene", scenes_of("scenes_cancel"))
def test_cancelling(server: RedisServer, lock_name: str, scene: str) -> None:
    play("scenes_cancel", scene, server.url, lock_name)


@pytest.mark.parametrize("scene", scenes_of("scenes_close"))
def test_closing(server: RedisServer, lock_name: str, scene: str) -> None:
    play("scenes_close", scene, server.url, lock_name)


@pytest.mark.parametrize("scene", scenes_of("scenes_credentials"))
def test_changing_credentials(server: RedisServer, lock_name: str, scene: str) -> None:
    play("scenes_credentials", scene, server.url, lock_name)


# --------------------------------------------------------------------------------------------------------- Ctrl-C --

# A program that waits in its main thread, with a second waiter of the process behind it, and prints what happens. It
# prints times of the monotonic clock, which the test reads, too.
WAITING = """
import signal, sys, threading, time
import redlatch
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs begin with SIGINT ignored
url, name, form = sys.argv[1:]
client = redlatch.connect(url, lazy=form == "connecting")
lock = client.lock(name)
def wait_behind():
    with client.lock(name):
        print("second", time.monotonic(), flush=True)
behind = threading.Thread(target=wait_behind)
main = threading.get_ident()
def start_behind():
    while "redlatch" not in sys._current_frames()[main].f_code.co_filename:
        time.sleep(0.001)
    while form != "connecting" and client.stats()["waiters"] < 1:
        time.sleep(0.001)
    behind.start()
    while form != "connecting" and client.stats()["waiters"] < 2:
        time.sleep(0.001)
    print("waiting", flush=True)
starter = threading.Thread(target=start_behind)
starter.start()
try:
    if form == "with":
        with lock:
            print("obtained", flush=True)
    else:
        lock.acquire()
        print("obtained", flush=True)
except KeyboardInterrupt:
    print("interrupted", time.monotonic(), lock.owned(), flush=True)
starter.join()
behind.join()
print("end", client.stats()["held"], client.stats()["waiters"], flush=True)
client.close()
"""


@pytest.fixture
def start_script(request: pytest.FixtureRequest) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a Python program, and kills it at the end of the test."""
    started: List[subprocess.Popen[str]] = []

    def start(text: str, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", text, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def line_of(process: subprocess.Popen[str], word: str) -> List[str]:
    """Returns the words after the first in the process's next line. The first must be `word`."""
    assert process.stdout is not None and process.stderr is not None
    line = process.stdout.readline().split()
    assert line and line[0] == word, f"expected {word}, got {line}: {process.stderr.read() if not line else ''}"
    return line[1:]


@pytest.mark.parametrize("form", ["with", "acquire"])
def test_control_c_ends_a_wait_and_leaves_nothing(
    server: RedisServer,
    monitor: Monitor,
    lock_name: str,
    form: str,
    start_script: Callable[..., subprocess.Popen[str]],
) -> None:
    with redlatch.connect(server.url) as client, Stalls() as stalls:
        lock = client.lock(lock_name)
        lock.acquire()
        process = start_script(WAITING, server.url, lock_name, form)
        line_of(process, "waiting")
        wait_until(lambda: server.client().pubsub_numsub(f"redisson_lock__channel:{{{lock_name}}}")[0][1] == 1)
        mark = monitor.mark()
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        at, owned = line_of(process, "interrupted")
        assert float(at) - sent < stalls.widen(0.4)
        assert owned == "False"
        assert server.client().hlen(lock_name) == 1, "only the holder's field is there"
        assert lock.owned()
        released = time.monotonic()
        lock.release()
        (second,) = line_of(process, "second")
        assert 0 <= float(second) - released < stalls.widen(SOON), "the one behind comes next, by the message"
        assert line_of(process, "end") == ["0", "0"]
        assert process.wait(10) == 0
        grants = [entry for entry in monitor.since(mark) if entry.lua and entry.command == "HSET"]
        assert len(grants) == 1, "the lock was granted to the second waiter alone"
        assert not server.client().exists(lock_name)


def test_control_c_ends_a_wait_for_a_server_that_is_down(
    start_script: Callable[..., subprocess.Popen[str]],
) -> None:
    process = start_script(
        WAITING.replace("behind.start()", "pass").replace("behind.join()", "pass"),
        f"redis://127.0.0.1:{free_port()}/0",
        "x",
        "connecting",
    )
    line_of(process, "waiting")
    time.sleep(0.8)
    assert process.poll() is None
    with Stalls() as stalls:
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        at, owned = line_of(process, "interrupted")
        assert float(at) - sent < stalls.widen(0.4) and owned == "False"
    assert line_of(process, "end") == ["0", "0"]
    assert process.wait(10) == 0


# A program that is interrupted at any moment of an acquire, also between the grant and the return. Only interrupts
# inside redlatch's code count, because after the return it is the caller who must release the lock.
INTERRUPTED_OFTEN = """
import signal, sys, threading, time
import redlatch
client = redlatch.connect(sys.argv[1])
lock = client.lock(sys.argv[2])
armed = inside = over = False
def interrupt(number, frame):
    global inside
    if armed:
        inside = "redlatch" in frame.f_code.co_filename
        raise KeyboardInterrupt
signal.signal(signal.SIGINT, interrupt)
def compete():
    while not over:
        with lock:
            time.sleep(0.0005)
competitor = threading.Thread(target=compete)
competitor.start()
print("begin", flush=True)
struck = wrong = rounds = 0
end = time.monotonic() + 2.5
while time.monotonic() < end or struck <= 50 or rounds <= 50:
    inside = False
    try:
        armed = True
        lock.acquire()
        armed = False
        rounds += 1
    except KeyboardInterrupt:
        armed = False
        struck += inside
        wrong += inside and lock.owned()
    if lock.owned():
        lock.release()
signal.signal(signal.SIGINT, signal.SIG_IGN)  # those that come until the end is heard of
over = True
competitor.join()
print("end", struck, wrong, rounds, client.stats()["held"], client.stats()["waiters"], flush=True)
"""


def test_control_c_at_any_moment_of_an_acquire_leaves_nothing(
    server: RedisServer, lock_name: str, start_script: Callable[..., subprocess.Popen[str]]
) -> None:
    process = start_script(INTERRUPTED_OFTEN, server.url, lock_name)
    line_of(process, "begin")
    assert process.stdout is not None
    # If acquires take long, one completes only in an occasional longer pause.
    while not select.select([process.stdout], [], [], random.choice((0.0004, 0.0013, 0.0013, 0.01)))[0]:
        os.kill(process.pid, signal.SIGINT)
    struck, wrong, rounds, held, waiters = map(int, line_of(process, "end"))
    assert struck > 50 and rounds > 50 and wrong == 0
    assert (held, waiters) == (0, 0)
    assert process.wait(10) == 0
    assert not server.client().exists(lock_name)


DRAINS = """
import signal, sys
import redlatch
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
with redlatch.connect(sys.argv[1]) as client:
    gate = client.semaphore(sys.argv[2])
    print("begin", flush=True)
    signal.sigwait({signal.SIGUSR1})
    try:
        gate.drain()
    except KeyboardInterrupt:
        print("interrupted", gate.available(), flush=True)
"""


def test_control_c_during_a_drain_takes_no_permits(
    server: RedisServer, lock_name: str, start_script: Callable[..., subprocess.Popen[str]]
) -> None:
    """The signal comes while the server does not reply. The permits are taken then."""
    with redlatch.connect(server.url) as client:
        client.semaphore(lock_name).try_set_permits(5)
    process = start_script(DRAINS, server.url, lock_name)
    line_of(process, "begin")
    server.sigstop()
    try:
        process.send_signal(signal.SIGUSR1)
        time.sleep(0.2)  # into the call
        process.send_signal(signal.SIGINT)
    finally:
        server.sigcont()
    assert list(map(int, line_of(process, "interrupted"))) == [5]
    assert process.wait(10) == 0


# ------------------------------------------------------------------------------------------------ closing, lazy --


def test_close_tells_a_hundred_waiters(server: RedisServer, lock_name: str) -> None:
    with redlatch.connect(server.url) as other, Stalls() as stalls:
        other.lock(lock_name).acquire()
        client = redlatch.connect(server.url, tuning=redlatch.Tuning(close_timeout=10))
        errors: List[BaseException] = []

        def wait() -> None:
            try:
                client.lock(lock_name).acquire()
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=wait) for _ in range(100)]
        for thread in threads:
            thread.start()
        wait_until(lambda: client.stats()["waiters"] == 100)
        start = time.monotonic()
        client.close()
        assert time.monotonic() - start < stalls.widen(SOON)
        for thread in threads:
            thread.join(5)
        assert [type(error) for error in errors] == [redlatch.ClosedError] * 100
        client.close()
        with pytest.raises(redlatch.ClosedError):
            client.lock(lock_name)


@pytest.mark.parametrize("watching", [False, True])
def test_close_with_a_dead_server_takes_the_close_timeout(
    server: RedisServer, lock_name: str, watching: bool
) -> None:
    client = redlatch.connect(server.url, tuning=redlatch.Tuning(close_timeout=0.4))
    lock = client.lock(lock_name)
    lock.acquire()
    if watching:
        hold = lock.held()
        assert hold is not None and not hold.lost_event.is_set()
    server.sigstop()
    try:
        with Stalls() as stalls:
            start = time.monotonic()
            client.close()
            took = time.monotonic() - start
    finally:
        server.sigcont()
    assert 0.39 <= took < stalls.widen(0.8)


@pytest.mark.parametrize("release", [True, False])
def test_close_releases_what_is_held_by_default(
    server: RedisServer, lock_name: str, release: bool
) -> None:
    with redlatch.connect(server.url, release_on_close=release) as client:
        client.lock(lock_name).acquire()
    assert server.client().exists(lock_name) == (not release)
    server.client().delete(lock_name)


def test_close_does_not_wait_for_the_watching_thread(server: RedisServer, lock_name: str) -> None:
    client = redlatch.connect(server.url)
    with client.lock(lock_name) as hold:
        assert not hold.lost_event.is_set()
    with Stalls() as stalls:
        start = time.monotonic()
        client.close()
        assert time.monotonic() - start < stalls.widen(0.5)


def test_lazy_client_works_once_the_server_is_up(make_server: MakeServer, lock_name: str) -> None:
    server = make_server()
    server.stop()
    client = redlatch.connect(server.url, lazy=True)
    lock = client.lock(lock_name)
    start = time.monotonic()
    with pytest.raises(redlatch.UnreachableError) as caught:
        lock.acquire(blocking=False)
    assert time.monotonic() - start < 4.0, "it does not wait for the server, as the command time-out would let it"
    assert caught.value.retryable and not caught.value.ambiguous
    assert str(server.port) in str(caught.value)
    with pytest.raises(redlatch.UnreachableError):
        lock.acquire(timeout=0.2)
    obtained = threading.Event()

    def wait() -> None:
        with lock:
            obtained.set()

    thread = threading.Thread(target=wait)
    thread.start()
    assert not obtained.wait(0.3)
    server.start()
    assert obtained.wait(10.0), "who waits when the server comes up gets the lock"
    thread.join()
    with lock:
        assert lock.state().locked
    client.close()
