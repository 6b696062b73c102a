# SPDX-License-Identifier: Apache-2.0
"""Fair locks: the order of the server queue, the lifetime of positions, and which waiter is woken."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
import uuid
from contextlib import contextmanager
from functools import partial
from typing import Any, Callable, Dict, Iterator, List, Tuple

import pytest
import redlatch
from steps import Call
from support import Monitor, RedisServer, wait_until
from support.wire import channel, fields, load_scripts, scripts, sent_by
from waiters import SOON, Waiting

RECHECK = 5.0
FOREIGN_TIMEOUT_MS = 300_000


def queue_key(name: str) -> str:
    """Returns the key of the list of waiters."""
    return f"redisson_lock_queue:{{{name}}}"


def timeout_key(name: str) -> str:
    """Returns the key of the sorted set of their scores."""
    return f"redisson_lock_timeout:{{{name}}}"


def queue(server: RedisServer, name: str) -> List[str]:
    """Returns the waiters' owner ids, the head first."""
    found: Any = server.admin.lrange(queue_key(name), 0, -1)
    return [owner.decode() for owner in found]


def scores(server: RedisServer, name: str) -> List[float]:
    """Returns in how many ms each waiter may be removed from the head at the earliest, in the order of the queue."""
    seconds, microseconds = server.admin.time()
    now = seconds * 1000 + microseconds // 1000
    found: Any = [server.admin.zscore(timeout_key(name), owner) for owner in queue(server, name)]
    return [score - now for score in found]


def put_foreign_waiter(server: RedisServer, name: str, timeout_ms: int) -> str:
    """Queue a waiter of Redisson that does nothing. Returns its owner id."""
    owner = f"{uuid.uuid4()}:1"
    seconds, _ = server.admin.time()
    server.admin.rpush(queue_key(name), owner)
    server.admin.zadd(timeout_key(name), {owner: seconds * 1000 + timeout_ms})
    return owner


def queued(server: RedisServer, name: str, count: int) -> None:
    """Wait until `count` waiters are queued. The timeout includes the start of a process."""
    wait_until(lambda: len(queue(server, name)) == count, 20.0, f"{count} waiters in the queue of {name}")


Connect = Callable[..., redlatch.Client]


@pytest.fixture
def connect(server: RedisServer) -> Iterator[Connect]:
    """Opens clients for one test. The server has all scripts."""
    load_scripts(server)
    opened: List[redlatch.Client] = []

    def make(**options: Any) -> redlatch.Client:
        opened.append(redlatch.connect(server.url, **options))
        return opened[-1]

    yield make
    while opened:
        opened.pop().close()


@pytest.fixture
def client(connect: Connect) -> redlatch.Client:
    """A client."""
    return connect()


def start_waiters(
    server: RedisServer, name: str, clients: List[redlatch.Client], count: int, already: int = 0
) -> Tuple[List[Waiting], List[int]]:
    """Let `count` waiters queue one after the other, from each client in turn. Returns them, and a list to which the
    number of each is added when it is granted the lock."""
    taken: List[int] = []
    waits = []
    for number in range(count):
        lock = clients[number % len(clients)].fair_lock(name)
        waits.append(Waiting(lock, before_release=lambda number=number: taken.append(number)))
        queued(server, name, already + number + 1)
    return waits, taken


def test_waiters_of_several_clients_are_served_in_order(
    server: RedisServer, connect: Connect, lock_name: str
) -> None:
    clients = [connect() for _ in range(3)]
    holder = clients[0].fair_lock(lock_name)
    holder.acquire()
    waits, taken = start_waiters(server, lock_name, clients, 12)
    assert holder.state().waiters == 12 and holder.hold_count() == 1
    assert [owner[:36] for owner in queue(server, lock_name)] == [clients[i % 3].uuid for i in range(12)]
    holder.release()
    assert all(waiting.result() for waiting in waits)
    assert taken == list(range(12))
    assert server.admin.exists(lock_name, queue_key(lock_name), timeout_key(lock_name)) == 0


def test_in_one_process_the_lock_is_handed_over_in_one_script(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, lock_name: str
) -> None:
    holder = client.fair_lock(lock_name)
    holder.acquire()
    waits, taken = start_waiters(server, lock_name, [client], 20)
    mark = monitor.mark()
    holder.release()
    assert all(waiting.result() for waiting in waits)
    assert taken == list(range(20))
    assert client.stats()["hand_overs"] == 20
    assert scripts(sent_by(monitor.since(mark), server, client)) == ["hand_over_fair"] * 20 + ["release_fair"]


def test_positions_scores_and_heartbeats(server: RedisServer, connect: Connect, lock_name: str) -> None:
    client = connect(watchdog_lease=20)
    holder = client.fair_lock(lock_name)
    holder.acquire()
    server.admin.delete(timeout_key(lock_name))
    waits, _ = start_waiters(server, lock_name, [client], 2)
    patient = Waiting(client.fair_lock(lock_name), timeout=1000.0)
    queued(server, lock_name, 3)
    first, second, third = scores(server, lock_name)
    assert 300_000 < first <= 20_000 + FOREIGN_TIMEOUT_MS
    assert second - first >= FOREIGN_TIMEOUT_MS - 1
    assert third - second >= 1_000_000 - 10_000
    assert server.admin.pttl(queue_key(lock_name)) == server.admin.pttl(timeout_key(lock_name)) == -1
    assert 0 < server.admin.pttl(f"redlatch_waiting:{{{lock_name}}}:{client.uuid}") <= 30_000
    # Redisson's MultiLock may set a TTL on the queue. The next waiter removes it, so it ends no positions.
    server.admin.pexpire(queue_key(lock_name), 60_000)
    server.admin.pexpire(timeout_key(lock_name), 60_000)
    assert connect().fair_lock(lock_name).acquire(timeout=0.5) is False
    queued(server, lock_name, 3)
    assert server.admin.pttl(queue_key(lock_name)) == server.admin.pttl(timeout_key(lock_name)) == -1
    holder.release()
    assert all(waiting.result() for waiting in [*waits, patient])


def test_the_last_waiter_takes_the_sign_of_life_away(
    server: RedisServer, connect: Connect, lock_name: str
) -> None:
    holder, waiter = connect(), connect()
    for timeout in (0.5, 10.0):
        with holder.fair_lock(lock_name, owner="handle"):
            lock = waiter.fair_lock(lock_name, owner="handle")
            waiting = Call(partial(lock.acquire, timeout=timeout))
            if timeout > 1:
                wait_until(lambda: server.admin.exists(f"redlatch_waiting:{{{lock_name}}}:{waiter.uuid}"))
            else:
                assert waiting.result() is False
                wait_until(lambda: list(server.admin.keys()) == [lock_name.encode()], message="its place to be left")
        if timeout > 1:
            assert waiting.result() is True
            assert list(server.admin.keys()) == [lock_name.encode()]
            lock.release()


def test_leaving_shifts_nobody(server: RedisServer, connect: Connect, lock_name: str) -> None:
    """Waiters leave by timeout, by a non-blocking acquire, and by the close of their client. The positions and scores
    of the others stay."""
    client, leaving = connect(), connect()
    holder = client.fair_lock(lock_name)
    holder.acquire()
    first, _ = start_waiters(server, lock_name, [client], 1)
    gone = [Waiting(leaving.fair_lock(lock_name)) for _ in range(3)]
    queued(server, lock_name, 4)
    last, _ = start_waiters(server, lock_name, [client], 1, already=4)
    before = server.admin.zscore(timeout_key(lock_name), queue(server, lock_name)[-1])
    assert leaving.fair_lock(lock_name).acquire(timeout=0.5) is False
    assert leaving.fair_lock(lock_name).acquire(blocking=False) is False
    queued(server, lock_name, 5)
    leaving.close()
    queued(server, lock_name, 2)
    assert server.admin.zscore(timeout_key(lock_name), queue(server, lock_name)[-1]) == before
    assert server.admin.zcard(timeout_key(lock_name)) == 2
    for waiting in gone:
        with pytest.raises(redlatch.RedlatchError):
            waiting.result()
    holder.release()
    assert first[0].result() and last[0].result()


def test_a_parked_waiter_is_silent_until_it_is_called(
    server: RedisServer, connect: Connect, monitor: Monitor, lock_name: str
) -> None:
    ours, others = connect(), connect()
    holder = others.fair_lock(lock_name)
    holder.acquire()
    waiting = Waiting(ours.fair_lock(lock_name), keep=True)
    own_channel = f"{channel(lock_name)}:{ours.uuid}:1"
    wait_until(lambda: server.admin.pubsub_numsub(own_channel)[0][1] == 1)
    wait_until(lambda: scripts(sent_by(monitor.since(0), server, ours)) == ["acquire_fair"] * 2)
    mark = monitor.mark()
    time.sleep(1.5)  # nothing may be sent in this time
    assert scripts(sent_by(monitor.since(mark), server, ours)) == []
    released_at = time.monotonic()
    holder.release()
    assert waiting.result() is True
    assert waiting.ended_at - released_at < SOON
    assert scripts(sent_by(monitor.since(mark), server, ours)) == ["acquire_fair"]
    waiting.leave()


def test_channels_and_connections_do_not_grow_with_the_waiters(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    holder = client.fair_lock(lock_name)
    holder.acquire()
    waits, taken = start_waiters(server, lock_name, [client], 60)
    wait_until(lambda: client.stats()["subscriptions"] == 4)
    assert client.stats()["connections"] <= 7
    assert len(server.admin.pubsub_channels(f"{channel(lock_name)}:*")) == 4
    holder.release()
    assert all(waiting.result() for waiting in waits)
    assert taken == list(range(60))
    wait_until(
        lambda: client.stats()["subscriptions"] == 0 and not server.admin.pubsub_channels(f"{channel(lock_name)}:*"),
        10.0,
        "the channels of those that left to be left",
    )


# A process with threads that wait. Its main thread holds the lock before them, waits behind them, or does neither.
WAITERS_OF_A_PROCESS = """
import signal, sys, threading, redlatch
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs begin with SIGINT ignored
url, name, deadline, count, main = sys.argv[1:]
client = redlatch.connect(url, fair_timeout=float(deadline), watchdog_lease=1)
lock = client.fair_lock(name)
if main == "holds":
    lock.acquire()
for _ in range(int(count)):
    threading.Thread(target=client.fair_lock(name).acquire, daemon=True).start()
try:
    if main == "waits":
        lock.acquire()
except KeyboardInterrupt:
    print("cancelled", flush=True)
sys.stdin.read()
"""


@contextmanager
def waiting_process(
    server: RedisServer, name: str, timeout: float, count: int, main: str
) -> Iterator[subprocess.Popen[str]]:
    """Starts that program, and kills it in the end."""
    words = [server.url, name, str(timeout), str(count), main]
    arguments = [sys.executable, "-c", WAITERS_OF_A_PROCESS, *words]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("main", ["neither", "holds"])
def test_fifty_positions_of_a_dead_process_go_together(
    server: RedisServer, connect: Connect, lock_name: str, main: str
) -> None:
    """As the manual says, the next live waiter is granted the lock within one timeout and one recheck after it became
    free, not within fifty timeouts. If the dead process holds the lock, too, it becomes free after its lease of 1 s."""
    timeout = 1.5
    client = connect(fair_timeout=timeout)
    holder = client.fair_lock(lock_name)
    if main == "neither":
        holder.acquire()
    with waiting_process(server, lock_name, timeout, 50, main) as process:
        queued(server, lock_name, 50)
        waiting = Waiting(client.fair_lock(lock_name))
        queued(server, lock_name, 51)
        process.kill()
        process.wait()
        killed_at = time.monotonic()
        if main == "neither":
            holder.release()
        assert waiting.result(timeout=timeout + 3 * RECHECK) is True
        assert waiting.ended_at - killed_at < (1.0 if main == "holds" else 0.0) + timeout + RECHECK + SOON
    assert queue(server, lock_name) == []


def last_of(server: RedisServer, name: str, known: List[str]) -> str:
    """Wait until a new owner id is at the end of the queue, and return it."""
    found: List[str] = []

    def there_is_another() -> bool:
        found[:] = queue(server, name)[-1:]
        return bool(found) and found[0] not in known

    wait_until(there_is_another, 20.0, "another waiter in the queue")
    return found[0]


def test_who_leaves_from_the_middle_shifts_nobody(server: RedisServer, connect: Connect, lock_name: str) -> None:
    """Waiters leave by timeout, by cancellation and by death. The positions and scores of the others stay, and they are
    granted in their order."""
    clients = [connect(), connect()]
    holder = clients[0].fair_lock(lock_name)
    holder.acquire()
    taken: List[int] = []
    places: List[str] = []
    staying: List[Waiting] = []

    def one_more() -> None:
        lock, number = clients[len(staying) % 2].fair_lock(lock_name), len(staying)
        staying.append(Waiting(lock, before_release=lambda: taken.append(number)))
        places.append(last_of(server, lock_name, places))

    one_more()
    with waiting_process(server, lock_name, 30, 0, "waits") as dying:
        places.append(last_of(server, lock_name, places))
        one_more()
        with waiting_process(server, lock_name, 30, 0, "waits") as cancelled:
            places.append(last_of(server, lock_name, places))
            one_more()
            impatient = Waiting(clients[0].fair_lock(lock_name), timeout=1.2)
            places.append(last_of(server, lock_name, places))
            one_more()
            before = {owner: server.admin.zscore(timeout_key(lock_name), owner) for owner in places}
            cancelled.send_signal(signal.SIGINT)
            assert cancelled.stdout is not None and cancelled.stdout.readline() == "cancelled\n"
            assert impatient.result() is False
            wait_until(lambda: len(queue(server, lock_name)) <= 5, message="two of them to be gone")
        dying.kill()
        dying.wait()
    left = [places[0], places[1], places[2], places[4], places[6]]
    assert queue(server, lock_name) == left
    assert {owner: server.admin.zscore(timeout_key(lock_name), owner) for owner in left} == {
        owner: before[owner] for owner in left
    }
    assert server.admin.delete(f"redlatch_waiting:{{{lock_name}}}:{places[1][:36]}") == 1  # as if its TTL had ended
    holder.release()
    assert all(waiting.result() for waiting in staying) and taken == [0, 1, 2, 3]
    assert server.admin.exists(lock_name, queue_key(lock_name), timeout_key(lock_name)) == 0


def test_a_live_waiter_keeps_its_position_however_long_it_waits(
    server: RedisServer, connect: Connect, lock_name: str
) -> None:
    """A waiter keeps its position beyond the timeout, even if Redisson's clients have lowered its score."""
    client = connect(fair_timeout=0.6)
    holder = client.fair_lock(lock_name)
    holder.acquire()
    waits, taken = start_waiters(server, lock_name, [client], 6)
    places = queue(server, lock_name)
    for owner in places:
        server.admin.zincrby(timeout_key(lock_name), -10_000_000_000, owner)
        server.admin.zadd(timeout_key(lock_name), {owner: time.time() * 1000 + 1000})
    time.sleep(2.0)  # more than three time-outs
    assert queue(server, lock_name) == places
    assert min(scores(server, lock_name)) > FOREIGN_TIMEOUT_MS - 5_000
    holder.release()
    assert all(waiting.result() for waiting in waits)
    assert taken == list(range(6))


def test_who_has_lost_its_position_is_not_passed_over_by_its_own_process(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    """A release in the process of a waiter is a hand-over to it. If the waiter is not queued, the lock is released, and
    the waiter rechecks at once instead of waiting to be woken."""
    lock = client.fair_lock(lock_name)
    assert lock.acquire()
    waiter = Waiting(client.fair_lock(lock_name), 30.0)
    queued(server, lock_name, 1)
    server.admin.delete(queue_key(lock_name), timeout_key(lock_name))
    released_at = time.monotonic()
    lock.release()
    assert waiter.result() is True and waiter.ended_at - released_at < SOON


def test_heads_that_are_gone_are_taken_off(server: RedisServer, client: redlatch.Client, lock_name: str) -> None:
    """Heads are removed that have no score (W-8), whose score has passed, or whose client has no heartbeat."""
    lock = client.fair_lock(lock_name)
    server.admin.rpush(queue_key(lock_name), f"{uuid.uuid4()}:1", f"{uuid.uuid4()}:2")
    put_foreign_waiter(server, lock_name, -2000)
    dead = str(uuid.uuid4())
    dead_of_ours = f"{dead[:14]}8{dead[15:]}:7"
    server.admin.rpush(queue_key(lock_name), dead_of_ours)
    server.admin.zadd(timeout_key(lock_name), {dead_of_ours: time.time() * 1000 + 10_000_000})
    assert lock.acquire(blocking=False) is True
    assert server.admin.exists(queue_key(lock_name), timeout_key(lock_name)) == 0
    lock.release()


def everything(server: RedisServer) -> Dict[bytes, Any]:
    """Returns all keys of the server with their content."""
    names = server.admin.keys()
    return {name: server.admin.dump(name) for name in names}


def test_a_waiter_that_cannot_have_its_heartbeat_disturbs_nobody(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    """The heartbeat's key holds foreign data. The acquire fails before the script removes or wakes a head."""
    server.admin.rpush(f"redlatch_waiting:{{{lock_name}}}:{client.uuid}", "x")
    put_foreign_waiter(server, lock_name, -2000)
    put_foreign_waiter(server, lock_name, 10_000_000)
    before = everything(server)
    with pytest.raises(redlatch.ServerError) as caught:
        client.fair_lock(lock_name).acquire(timeout=5)
    assert caught.value.status_name == "wrong_type"
    assert everything(server) == before


def test_a_head_is_called_and_stamped_when_the_lock_becomes_free_and_not_before(
    server: RedisServer, connect: Connect, lock_name: str
) -> None:
    client = connect(fair_timeout=2)
    holder = client.fair_lock(lock_name)
    holder.acquire()
    put_foreign_waiter(server, lock_name, 10_000_000)
    waiting = Waiting(client.fair_lock(lock_name))
    queued(server, lock_name, 2)
    assert scores(server, lock_name)[0] > 9_000_000
    with server.client().pubsub(ignore_subscribe_messages=True) as listening:
        listening.subscribe(f"{channel(lock_name)}:{queue(server, lock_name)[0]}")
        wait_until(lambda: len(server.admin.pubsub_channels(f"{channel(lock_name)}:*")) == 2)
        holder.release()
        message: Any = None

        def received() -> bool:
            nonlocal message
            message = message or listening.get_message(timeout=0.1)
            return message is not None

        wait_until(received)
        assert message["data"] == b"0"
    assert FOREIGN_TIMEOUT_MS - 5_000 < scores(server, lock_name)[0] <= FOREIGN_TIMEOUT_MS
    assert not waiting.done and server.admin.exists(lock_name) == 0
    # The head's time ends. The waiter behind it knows that time from the last reply, or rechecks.
    server.admin.zadd(timeout_key(lock_name), {queue(server, lock_name)[0]: time.time() * 1000})
    assert waiting.result(timeout=RECHECK + SOON) is True


def test_a_free_lock_behind_a_silent_head_is_not_polled_all_the_time(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, lock_name: str
) -> None:
    """W-7: a waiter of Redisson would poll without pause."""
    head = put_foreign_waiter(server, lock_name, 10_000_000)
    waiting = Waiting(client.fair_lock(lock_name))
    queued(server, lock_name, 2)
    mark = monitor.mark()
    time.sleep(1.0)
    assert len(scripts(sent_by(monitor.since(mark), server, client))) <= 2
    server.admin.lrem(queue_key(lock_name), 0, head)
    server.admin.zrem(timeout_key(lock_name), head)
    assert waiting.result(timeout=RECHECK + SOON) is True


def test_force_release_calls_the_head(server: RedisServer, connect: Connect, lock_name: str) -> None:
    client, other = connect(), connect()
    holder = client.fair_lock(lock_name)
    holder.acquire()
    waiting = Waiting(other.fair_lock(lock_name), keep=True)
    queued(server, lock_name, 1)
    wait_until(lambda: other.stats()["subscriptions"] == 1)
    forced_at = time.monotonic()
    assert client.fair_lock(lock_name).force_release() is True
    assert waiting.result() is True
    assert waiting.ended_at - forced_at < SOON
    with pytest.raises(redlatch.LockLostError):
        holder.release()
    waiting.leave()
    assert client.fair_lock(lock_name).force_release() is False


def test_positions_that_are_lost_are_taken_anew(server: RedisServer, connect: Connect, lock_name: str) -> None:
    """The waiters queue again after somebody has deleted the list, or the list and the scores."""
    client = connect(fair_timeout=0.9)
    holder = client.fair_lock(lock_name)
    holder.acquire()
    waits, taken = start_waiters(server, lock_name, [client], 5)
    places = queue(server, lock_name)
    for half in ((), (timeout_key(lock_name),)):
        server.admin.delete(queue_key(lock_name), *half)
        wait_until(
            lambda: sorted(queue(server, lock_name)) == sorted(places), message="everybody to stand in the queue again"
        )
    order = [places.index(owner) for owner in queue(server, lock_name)]
    holder.release()
    assert all(waiting.result() for waiting in waits)
    assert taken == order


@pytest.mark.parametrize("which", ["name", "queue", "timeouts"])
def test_keys_of_another_type_stay_as_they_are(
    server: RedisServer, client: redlatch.Client, lock_name: str, which: str
) -> None:
    key = {"name": lock_name, "queue": queue_key(lock_name), "timeouts": timeout_key(lock_name)}[which]
    lock = client.fair_lock(lock_name)
    server.admin.set(key, "precious")
    for blocking in (True, False):
        with pytest.raises(redlatch.ServerError) as raised:
            lock.acquire(blocking=blocking)
        assert raised.value.status == "wrong_type" or "type" in str(raised.value)
    assert server.admin.get(key) == b"precious"
    others = [name for name in server.admin.keys("*") if name != key.encode()]
    assert others == []


def test_a_queue_of_another_type_keeps_nobody_from_releasing(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    lock = client.fair_lock(lock_name)
    lock.acquire()
    server.admin.set(queue_key(lock_name), "precious")
    lock.release()
    assert fields(server, lock_name) == {} and server.admin.get(queue_key(lock_name)) == b"precious"


def test_a_lock_that_is_not_reentrant(client: redlatch.Client, lock_name: str) -> None:
    lock = client.fair_lock(lock_name, reentrant=False)
    assert lock.acquire()
    for timeout in (None, 0.1):
        with pytest.raises(redlatch.AlreadyHeldError):
            lock.acquire(timeout=timeout)
    with pytest.raises(redlatch.AlreadyHeldError):
        client.fair_lock(lock_name, reentrant=False).acquire()
    assert lock.state().waiters == 0
    lock.release()
    assert not lock.state().locked


def test_many_threads_take_turns_and_nobody_meets_anybody(connect: Connect, lock_name: str) -> None:
    clients = [connect() for _ in range(3)]
    inside: List[int] = []
    turns: List[int] = []

    def take_turns(number: int) -> None:
        lock = clients[number % 3].fair_lock(lock_name)
        for _ in range(30):
            with lock:
                inside.append(number)
                assert inside == [number]
                turns.append(number)
                inside.clear()

    threads = [threading.Thread(target=take_turns, args=(number,)) for number in range(9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    assert sorted(turns) == sorted(list(range(9)) * 30)
    assert sum(client.stats()["lost"] for client in clients) == 0
