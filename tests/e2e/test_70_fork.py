# SPDX-License-Identifier: Apache-2.0
"""Forked children, all start methods of multiprocessing, pre-fork servers; handles freed in any order and at exit."""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import socket
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Callable, List, Optional

import pytest
import redlatch
from forks import Child, in_child, refused
from scenes import play, scenes_of
from support import Monitor, Proxy, RedisServer, wait_until

# How many children a parent under load forks. The stage `forks` sets 200.
CHILDREN = int(os.environ.get("REDLATCH_TEST_CHILDREN", "12"))
AT_ONCE = 8  # how many of them live at the same time
# The lock of a parent, for the functions that its pool of processes runs.
INHERITED: Optional[redlatch.Lock] = None


@pytest.mark.parametrize("scene", scenes_of("scenes_fork"))
def test_fork_in_c(server: RedisServer, lock_name: str, scene: str) -> None:
    play("scenes_fork", scene, server.url, lock_name)


# ------------------------------------------------------------------------------------------- a child that inherits --


def test_child_is_notified_and_writes_nothing(server: RedisServer, proxy: Proxy, lock_name: str) -> None:
    client = redlatch.connect(proxy.url, after_fork="refuse")
    lock = client.lock(lock_name, lease=60)
    other = client.lock(lock_name + ":other")
    with lock as hold:
        event = hold.lost_event
        sent = len(proxy.commands())

        def live() -> None:
            calls: List[Callable[[], object]] = [
                lock.acquire,
                lambda: other.acquire(blocking=False),
                lock.release,
                lock.state,
                lock.owned,
                lock.hold_count,
                lock.held,
                lock.force_release,
                lambda: lock.extend(1),
                lambda: client.lock("x"),
                client.stats,
                hold.remaining,
                hold.release,
                lambda: hold.lost_event,
                lock.__enter__,
            ]
            for call in calls:
                with pytest.raises(redlatch.ForkedError, match="parent") as caught:
                    call()
                assert caught.value.status_name == "forked" and not caught.value.retryable
            client.close()
            client.close()
            gc.collect()

        in_child(live)
        in_child(lambda: None)
        assert len(proxy.commands()) == sent, "the children have sent something"
        assert lock.owned() and not hold.lost and not event.is_set()
        assert server.client().exists(lock_name)
        with other:
            pass
    client.close()
    assert not server.client().exists(lock_name)


def test_the_parents_lock_is_renewed_on(server: RedisServer, lock_name: str) -> None:
    with redlatch.connect(server.url, watchdog_lease=2) as client:
        with client.lock(lock_name) as hold:
            for _ in range(3):
                in_child(client.close)
            renewals = client.stats()["renewals"]
            wait_until(lambda: client.stats()["renewals"] >= renewals + 3)
            assert server.client().exists(lock_name) and not hold.lost


def test_a_with_block_left_in_a_child_raises_and_leaves_the_parents_lock(
    server: RedisServer, lock_name: str
) -> None:
    with redlatch.connect(server.url) as client:
        lock = client.lock(lock_name)
        lock.__enter__()

        def live() -> None:
            with pytest.raises(redlatch.ForkedError):
                lock.__exit__(None, None, None)
            with pytest.raises(KeyError):  # the body's exception is not hidden
                try:
                    raise KeyError("body")
                except KeyError as error:
                    lock.__exit__(KeyError, error, None)
                    raise

        in_child(live)
        assert lock.owned() and server.client().exists(lock_name)
        lock.release()


def test_fork_while_threads_wait_and_hold(server: RedisServer, lock_name: str) -> None:
    enough = threading.Event()
    with redlatch.connect(server.url) as client:

        def compete() -> None:
            while not enough.is_set():
                with client.lock(lock_name) as hold:
                    assert hold.count == 1

        threads = [threading.Thread(target=compete) for _ in range(4)]
        for thread in threads:
            thread.start()

        def live() -> None:
            client.close()
            with redlatch.connect(server.url) as own:
                with own.lock(lock_name + ":child"):
                    pass

        for _ in range(10):
            in_child(live)
        enough.set()
        for thread in threads:
            thread.join(10)
    assert not server.client().exists(lock_name)


# ------------------------------------------------------------------------------------------------- a child that uses --


def test_a_child_uses_what_it_inherited(server: RedisServer, proxy: Proxy, lock_name: str) -> None:
    """The child opens its own connections. The proxy sees no further byte on those of the parent."""
    with redlatch.connect(proxy.url) as client:
        lock, other = client.lock(lock_name), client.lock(f"{lock_name}:other")
        both = redlatch.multi_lock(client.lock(f"{lock_name}:a"), client.lock(f"{lock_name}:b"))
        slots = client.permit_semaphore(f"{lock_name}:slots", limit=3)
        permit = slots.acquire()
        assert permit and both.acquire()
        with lock as hold:
            uuid = client.uuid
            sent = {connection: len(proxy.commands(connection)) for connection in proxy.connections}

            def live() -> None:
                assert client.uuid != uuid
                refused(
                    {
                        "release": lock.release,
                        "extend": lambda: lock.extend(5),
                        "held": lock.held,
                        "check": hold.check,
                        "remaining": hold.remaining,
                        "release of the hold": hold.release,
                        "multi lock": both.release,
                        "permit": permit.release,
                        "permit by its id": lambda: slots.release(permit.id),
                    }
                )
                assert not lock.acquire(timeout=0) and not both.acquire(timeout=0)
                for _ in range(3):
                    with other as mine:
                        assert mine.owner.startswith(client.uuid) and not mine.lost
                with slots:
                    assert slots.acquired() == 2
                assert client.stats()["held"] == 0
                client.close()

            in_child(live)
            assert {connection: len(proxy.commands(connection)) for connection in sent} == sent
            hold.check()
        permit.release()
        both.release()
        assert client.uuid == uuid and client.stats()["reconnects"] == 0
    assert not server.client().exists(lock_name)


def test_a_hold_of_the_parent_is_never_taken_for_one_of_the_child(server: RedisServer, lock_name: str) -> None:
    with redlatch.connect(server.url) as client:
        lock = client.lock(lock_name)
        lock.acquire()
        hold = lock.held()
        assert hold is not None

        def live() -> None:
            lock.force_release()
            with lock as mine:
                refused({"check": hold.check, "release": hold.release})
                assert mine.count == 1
            refused({"check": hold.check, "release of the hold": hold.release})
            with pytest.raises(redlatch.NotOwnedError):
                lock.release()

        in_child(live)
        with pytest.raises(redlatch.LockLostError):
            lock.release()


def test_a_child_is_notified_of_its_losses(server: RedisServer, lock_name: str) -> None:
    """The child starts the threads that the parent had."""
    called: List[str] = []
    with redlatch.connect(server.url, watchdog_lease=0.3) as client:
        lock = client.lock(lock_name, on_lost=lambda hold: called.append(str(hold.lost_reason)))
        with lock:
            pass

        def live() -> None:
            assert lock.acquire()
            client.lock(lock_name).force_release()
            wait_until(lambda: called == ["missing"])

        in_child(live)
        assert not called


class Counter:
    """A number in a file. If two processes raise it at the same time, one increment is lost."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._path.write_text("0", encoding="ascii")

    def raise_it(self) -> None:
        """Reads and writes without a lock."""
        self._path.write_text(str(self.value + 1), encoding="ascii")

    @property
    def value(self) -> int:
        """The number."""
        return int(self._path.read_text(encoding="ascii"))


def test_children_of_a_parent_under_load(
    server: RedisServer, proxy: Proxy, lock_name: str, tmp_path: Path
) -> None:
    """The parent holds, waits and renews, so its threads may be anywhere when it forks. All processes exclude each
    other, and no child writes on a connection of the parent."""
    enough = threading.Event()
    failed: List[BaseException] = []
    raised: List[None] = []  # by the parent
    with redlatch.connect(proxy.url, watchdog_lease=2) as client:
        held = client.lock(lock_name + ":held")
        locks = {client.lock(lock_name): Counter(tmp_path / "shared"),
                 client.fair_lock(lock_name + ":fair"): Counter(tmp_path / "fair")}  # fmt: skip

        def compete(lock: redlatch.Lock, counter: Counter) -> None:
            try:
                while not enough.is_set():
                    with lock as hold:
                        hold.check()
                        counter.raise_it()
                        raised.append(None)
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=compete, args=each) for each in [*locks.items()] * 2]
        with held as hold:
            for thread in threads:
                thread.start()
            wait_until(lambda: len(raised) > 20)

            def live() -> str:
                for lock, counter in locks.items():
                    with lock as mine:
                        mine.check()
                        counter.raise_it()
                assert not held.acquire(timeout=0)
                refused({"check": hold.check})
                uuid = client.uuid
                client.close()
                return uuid

            uuids = {client.uuid}
            parents = {each for each in proxy.connections if each.client_open}
            for first in range(0, CHILDREN, AT_ONCE):
                children = [Child(live, 60) for _ in range(first, min(first + AT_ONCE, CHILDREN))]
                theirs = {child.end() for child in children}
                written = b" ".join(command.raw for each in parents for command in proxy.commands(each))
                assert [uuid for uuid in {*theirs, client.uuid} if uuid.encode() in written] == [client.uuid]
                uuids |= theirs
            enough.set()
            for thread in threads:
                thread.join(20)
            hold.check()
        assert not failed and client.stats()["reconnects"] == 0
    assert len(uuids) == CHILDREN + 1
    assert sum(counter.value for counter in locks.values()) == len(raised) + len(locks) * CHILDREN
    assert not server.client().exists(lock_name, lock_name + ":held", lock_name + ":fair")


def increment(path: str, rounds: int) -> None:
    """Does what count_up does, with the lock INHERITED, which the parent opened."""
    assert INHERITED is not None
    for _ in range(rounds):
        with INHERITED:
            with open(path, encoding="utf-8") as file:
                number = int(file.read())
            with open(path, "w", encoding="utf-8") as file:
                file.write(str(number + 1))


def test_a_pool_of_processes_uses_the_lock_of_its_parent(server: RedisServer, lock_name: str, tmp_path: Any) -> None:
    global INHERITED
    path = tmp_path / "count"
    path.write_text("0")
    with redlatch.connect(server.url) as client:
        INHERITED = client.lock(lock_name)
        with INHERITED:
            pass
        context = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(4, mp_context=context) as pool:
            for done in [pool.submit(increment, str(path), 20) for _ in range(8)]:
                done.result(30)
        with INHERITED:
            INHERITED.held()
    INHERITED = None
    assert path.read_text() == "160"


# ------------------------------------------------------------------------------------------------- multiprocessing --


def count_up(url: str, name: str, path: str, rounds: int) -> None:
    """Raises a number under the lock. Without the lock, increments would be lost."""
    with redlatch.connect(url) as client:
        for _ in range(rounds):
            with client.lock(name):
                with open(path, encoding="utf-8") as file:
                    number = int(file.read())
                with open(path, "w", encoding="utf-8") as file:
                    file.write(str(number + 1))


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(server: RedisServer, lock_name: str, method: Any, tmp_path: Any) -> None:
    path = tmp_path / "count"
    path.write_text("0")
    context = multiprocessing.get_context(method)
    with redlatch.connect(server.url) as client:
        held = client.lock(lock_name + ":held")
        with held:
            processes = [
                context.Process(target=count_up, args=(server.url, lock_name, str(path), 50)) for _ in range(4)
            ]
            for process in processes:
                process.start()
            for process in processes:
                process.join(60)
            assert [process.exitcode for process in processes] == [0] * 4
            assert held.owned() and server.client().exists(lock_name + ":held")
    assert path.read_text() == "200"


def test_clients_and_locks_do_not_travel(server: RedisServer, lock_name: str) -> None:
    with redlatch.connect(server.url) as client:
        with multiprocessing.get_context("fork").Pool(1) as pool:
            for thing in (client, client.lock(lock_name)):
                with pytest.raises(TypeError, match="each process"):
                    pool.apply(repr, (thing,))


# A master opens a client and holds a lock. Each forked worker opens a client of its own and answers requests.
PREFORK = """
import json, os, socket, sys, threading
import redlatch
url, name, workers = sys.argv[1], sys.argv[2], int(sys.argv[3])
master = redlatch.connect(url)
leader = master.lock(name + ":leader")
leader.acquire()
listener = socket.create_server(("127.0.0.1", 0))
def serve(client):
    while True:
        with listener.accept()[0] as connection:
            request = connection.recv(100)
            with client.lock(name) as hold:
                answer = {"pid": os.getpid(), "uuid": client.uuid, "owner": hold.owner}
            connection.sendall(json.dumps(answer).encode())
            if request == b"end":
                client.close()
                return
children = []
for number in range(workers):
    child = os.fork()
    if child == 0:
        serve(redlatch.connect(url))
        sys.exit(0)  # the parent's client is finalized in here, too
    children.append(child)
print(listener.getsockname()[1], flush=True)
statuses = [os.waitpid(child, 0)[1] for child in children]
print(json.dumps({"statuses": statuses, "leader": leader.owned(), "uuid": master.uuid}), flush=True)
leader.release()
master.close()
"""


def test_prefork_server(server: RedisServer, lock_name: str) -> None:
    workers = 4
    process = subprocess.Popen(
        [sys.executable, "-c", PREFORK, server.url, lock_name, str(workers)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    port = int(process.stdout.readline())

    def request(text: bytes) -> Any:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(text)
            return json.loads(connection.recv(10_000))

    answers = [request(b"go") for _ in range(50)]
    answers += [request(b"end") for _ in range(workers)]
    uuids = {answer["pid"]: answer["uuid"] for answer in answers}
    assert len(uuids) == len(set(uuids.values())) == workers
    assert len({answer["owner"] for answer in answers}) == len(answers), "no wire id is used twice"
    end = json.loads(process.stdout.readline())
    assert end["statuses"] == [0] * workers and end["leader"] is True
    assert end["uuid"] not in uuids.values()
    assert process.wait(10) == 0
    assert not server.client().exists(lock_name, lock_name + ":leader")
    wait_until(lambda: not server.client_list("redlatch:"))


# ----------------------------------------------------------------------------------------------------- the very end --


def run_script(text: str, *arguments: str, timeout: float = 30) -> str:
    """Returns a Python program's output. The program must end with status 0 and an empty stderr."""
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "ignore::ResourceWarning", "-c", textwrap.dedent(text), *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def waiting_daemon(wait: str) -> str:
    """Returns a program that ends while a daemon thread waits."""
    return (
        f"lock.acquire()\ndef work():\n    {wait}\n"
        "import threading; threading.Thread(target=work, daemon=True).start()\n"
        "while client.stats()['waiters'] < 1: time.sleep(0.001)"
    )


BUSY = "import threading\nfor _ in range(3): threading.Thread(target=work, daemon=True).start()\ntime.sleep(0.2)"

ENDINGS = {
    "just ends": "lock.acquire()",
    "everything global": "a, b = client.lock(name + ':a'), client.lock(name + ':b', owner='handle')\n"
    "a.acquire(); b.acquire(); lock.acquire()",
    "lock outlives client": "lock.acquire()\ndel client",
    "client outlives lock": "lock.acquire()\nhold = lock.held()\ndel lock, hold",
    "in a cycle": "lock.acquire()\ncycle = [client, lock]\ncycle.append(cycle)\ndel client, lock",
    "collected": "lock.acquire()\ncycle = [client, lock]\ncycle.append(cycle)\ndel client, lock, cycle\n"
    "import gc; gc.collect()",
    "closed before": "lock.acquire()\nclient.close()",
    "event watched": "lock.acquire()\nevent = lock.held().lost_event",
    "inside with": "lock.__enter__()\nsys.exit(0)",
    "waiting daemon": waiting_daemon("client.lock(name).acquire()"),
    "waiting daemon, with": waiting_daemon("with client.lock(name): pass"),
    "waiting daemon, semaphore": waiting_daemon("client.semaphore(name + ':semaphore').acquire()"),
    "waiting daemon, permit": waiting_daemon("client.permit_semaphore(name + ':permits').acquire()"),
    "waiting daemon, latch": "client.latch(name + ':latch').try_set_count(1)\n"
    + waiting_daemon("client.latch(name + ':latch').wait()")
    + "\nimport atexit; atexit.register(lambda: redlatch.connect(url).latch(name + ':latch').delete())",
    "waiting daemon, until free": waiting_daemon("client.wait_free(name)"),
    "daemon that goes on after errors": "def work():\n    import logging\n    while True:\n        try:\n"
    "            with client.lock(name): pass\n        except Exception: logging.exception('failed')\n" + BUSY,
    "busy daemon": "def work():\n    while True:\n        with client.lock(name): pass\n" + BUSY,
    "daemon inside with": "def work():\n    with lock: held.set(); time.sleep(100)\n"
    "import threading\nheld = threading.Event()\nthreading.Thread(target=work, daemon=True).start()\nheld.wait()",
    "atexit uses it": "lock.acquire()\nimport atexit\natexit.register(lambda: lock.release())",
    "after a fork": "lock.acquire()\nif os.fork() == 0: sys.exit(0)\nassert os.wait()[1] == 0\nassert lock.owned()",
}


@pytest.mark.parametrize("ending", list(ENDINGS))
def test_interpreter_exit(server: RedisServer, lock_name: str, ending: str) -> None:
    script = "import os, sys, time, redlatch\nurl, name = sys.argv[1:]\nclient = redlatch.connect(url)\n"
    script += "lock = client.lock(name)\nprint(time.monotonic(), flush=True)\n" + ENDINGS[ending]
    ready = float(run_script(script, server.url, lock_name))
    assert time.monotonic() - ready < 5
    wait_until(lambda: not server.client_list("redlatch:"))
    left = [key for key in server.client().keys("*") if key.startswith(lock_name.encode())]
    assert not left, f"{left} are still held after the program has ended"


def test_a_thread_that_the_program_waits_for_is_notified(server: RedisServer, lock_name: str) -> None:
    """A thread that is no daemon gets the exception even after the main thread has ended."""
    script = """
        import sys, threading, time, redlatch
        url, name = sys.argv[1:]
        def work(lock):
            while threading.main_thread().is_alive():
                time.sleep(0.001)
            try:
                lock.acquire()
            except redlatch.ClosedError:
                print("told", flush=True)
        with redlatch.connect(url) as client:
            threading.Thread(target=work, args=(client.lock(name),)).start()
    """
    assert run_script(script, server.url, lock_name) == "told\n"


LATE = """
class Late:
    def __init__(self, *things):
        self.things = things
    def __del__(self):
        for call in calls:
            try:
                call(*self.things)
            except BaseException as error:
                print(type(error).__name__, "|", error)
calls = [lambda client, lock, *_: lock.acquire(), lambda client, lock, *_: lock.release(),
         lambda client, lock, *_: lock.state().locked, lambda client, *_: client.lock("x"),
         lambda client, lock, semaphore: semaphore.acquire(), lambda client, lock, semaphore: semaphore.available()]
semaphore = client.semaphore(name)
"""


@pytest.mark.parametrize(
    "ending",
    ["late = Late(client, lock, semaphore)", "cycle = [Late(client, lock, semaphore)]\ncycle.append(cycle)"],
    ids=["a global", "in a cycle"],
)
@pytest.mark.parametrize("collected", [False, True], ids=["at the end", "collected"])
def test_use_by_a_finaliser(server: RedisServer, lock_name: str, ending: str, collected: bool) -> None:
    """A handle that Python has freed, or that is used while Python ends, is closed. Errors name Python's objects."""
    script = "import sys, redlatch\nurl, name = sys.argv[1:]\nclient = redlatch.connect(url)\nlock = client.lock(name)"
    script += LATE + ending
    if collected:
        script += "\nimport gc\ndel client, lock, semaphore\n" + ("del cycle\n" if "cycle" in ending else "")
        script += "gc.collect()\n"
    notified = [line.split(" | ") for line in run_script(script, server.url, lock_name).splitlines()]
    assert len(notified) == 6 or collected
    for error, message in notified:
        assert error == "ClosedError", message
        assert "redlatch_" not in message and "freed" not in message, message


def test_handles_are_freed_in_any_order(server: RedisServer, lock_name: str) -> None:
    for order in range(24):
        client = redlatch.connect(server.url)
        lock = client.lock(lock_name)
        by_handle = client.lock(lock_name + ":handle", owner="handle")
        lock.acquire()
        by_handle.acquire()
        things: List[Any] = [client, lock, by_handle, lock.held()]
        del client, lock, by_handle
        rest = order
        for left in (4, 3, 2, 1):
            things.pop(rest % left)
            rest //= left
            gc.collect()
        wait_until(lambda: not server.client().exists(lock_name, lock_name + ":handle"))
    wait_until(lambda: not server.client_list("redlatch:"))


def test_handles_are_freed_while_others_use_the_client(
    server: RedisServer, monitor: Monitor, lock_name: str
) -> None:
    with redlatch.connect(server.url) as client:
        failed: List[BaseException] = []

        def churn(number: int) -> None:
            try:
                for step in range(200):
                    with client.lock(f"{lock_name}:{step % 3}"):
                        client.lock(f"{lock_name}:{number}:{step}")
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=churn, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert not failed
        assert client.stats()["held"] == 0
