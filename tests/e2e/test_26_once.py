# SPDX-License-Identifier: Apache-2.0
"""`once`, a job that runs at most once in a period, and `locked`, a function whose arguments name its lock."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
from datetime import timedelta
from typing import Any, Callable, Iterator, List, Optional, Tuple

import pytest
import redlatch
from redlatch._ffi import ffi, lib
from support import Monitor, Proxy, RedisServer, RedissonShapedPeer, wait_until
from support.wire import fields, remaining_ms, scripts

SOON = 10.0


@pytest.fixture
def clients(server: RedisServer) -> Iterator[Tuple[redlatch.Client, redlatch.Client]]:
    """Two clients. To the library they are two processes."""
    with redlatch.connect(server.url) as one, redlatch.connect(server.url) as other:
        yield one, other


def job_of(client: redlatch.Client, name: str, runs: List[str], **options: Any) -> Callable[[str], Optional[str]]:
    """Returns a job that records who runs it."""

    @client.once(name, **options)
    def job(who: str) -> str:
        """Says who."""
        runs.append(who)
        return f"{who} ran"

    return job


# ------------------------------------------------------------------------------------------------------------- once --


def test_one_of_two_runs_and_the_lock_stays_for_at_least(
    server: RedisServer, clients: Tuple[redlatch.Client, redlatch.Client], lock_name: str, monitor: Monitor
) -> None:
    runs: List[str] = []
    one, other = (job_of(each, lock_name, runs, at_least=60, at_most=600) for each in clients)
    assert one("one") == "one ran"
    assert 59_000 < remaining_ms(server, lock_name) <= 60_000
    assert one("one again") is None and other("other") is None
    assert runs == ["one"]
    assert job_of.__name__ != one.__name__ == "job" and one.__doc__ == "Says who."
    clients[0].close()  # close releases holds, but this hold was left
    assert other("other") is None
    assert 0 < remaining_ms(server, lock_name) <= 60_000
    assert "release" not in scripts(monitor.since())


def test_the_next_period(server: RedisServer, clients: Tuple[redlatch.Client, redlatch.Client], lock_name: str) -> None:
    runs: List[str] = []
    one, other = (job_of(each, lock_name, runs, at_least=0.2, at_most=60) for each in clients)
    assert one("one") == "one ran"
    wait_until(lambda: other("other") is not None, SOON, "the end of at_least")
    assert runs == ["one", "other"]
    assert clients[0].stats()["lost"] == clients[0].stats()["held"] == 0


def test_without_at_least_it_is_released(
    server: RedisServer, clients: Tuple[redlatch.Client, redlatch.Client], lock_name: str
) -> None:
    runs: List[str] = []
    one, other = (job_of(each, lock_name, runs, at_most=timedelta(minutes=1)) for each in clients)
    assert (one("one"), other("other"), one("one")) == ("one ran", "other ran", "one ran")
    assert fields(server, lock_name) == {}


def test_a_job_that_takes_longer_than_at_least_releases(
    server: RedisServer, clients: Tuple[redlatch.Client, redlatch.Client], lock_name: str
) -> None:
    with clients[0].once(lock_name, at_least=0.05, at_most=60) as hold:
        assert hold is not None
        wait_until(lambda: hold.remaining() < 59.3, SOON, "at_least to pass")
    assert fields(server, lock_name) == {}


def test_it_is_not_renewed_and_its_loss_is_raised(
    server: RedisServer, clients: Tuple[redlatch.Client, redlatch.Client], lock_name: str
) -> None:
    runs: List[str] = []
    other = job_of(clients[1], lock_name, runs, at_most=60)
    with pytest.raises(redlatch.LockLostError) as caught, clients[0].once(lock_name, at_most=0.3) as hold:
        assert hold is not None and hold.lost_event.wait(SOON)
        wait_until(lambda: other("other") is not None, SOON, "the other one's turn")
    assert caught.value.reason == "expired" and caught.value.lock_name == lock_name
    with clients[0].once(lock_name + "-log", at_least=0.2, at_most=0.2, on_lost="log") as hold:
        assert hold is not None and hold.lost_event.wait(SOON)
    assert hold._lock._standing(hold._number).state == lib.REDLATCH_NOT_HELD
    lost: List[redlatch.Hold] = []
    with pytest.raises(redlatch.LockLostError), clients[0].once(lock_name + "-call", at_most=0.2, on_lost=lost.append):
        wait_until(lambda: len(lost) == 1, SOON, "the call")
    assert clients[0].stats()["held"] == 0


@pytest.mark.parametrize("late_ms", [0, 200])
def test_what_was_left_is_no_loss(
    proxy: Proxy, server: RedisServer, lock_name: str, caplog: pytest.LogCaptureFixture, late_ms: int
) -> None:
    """Also not if at_least is over before the reply that the lock stays locked for that time."""
    lost: List[redlatch.Hold] = []
    with redlatch.connect(proxy.url) as one, redlatch.connect(server.url) as other:
        with caplog.at_level(logging.WARNING, "redlatch"):
            with one.once(lock_name, at_least=0.15, at_most=60, on_lost=lost.append) as hold:
                assert hold is not None
                slow = proxy.delay(late_ms, direction="to_client")
            slow.release()
            assert not hold.lost and hold.count == 0
            assert other.lock(lock_name).acquire(timeout=SOON)
            after = one.lock(lock_name + "-after", lease=0.5)
            assert after.acquire()  # losses are reported in order, and this one comes last
            wait_until(lambda: caplog.records != [], SOON, "that loss")
            with pytest.raises(redlatch.LockLostError):
                after.release()
        assert one.stats()["held"] == 0
    assert lost == [] and [f"{lock_name}-after" in record.getMessage() for record in caplog.records] == [True]


def test_a_job_that_raises_keeps_at_least(
    server: RedisServer, clients: Tuple[redlatch.Client, redlatch.Client], lock_name: str
) -> None:
    with pytest.raises(KeyError), clients[0].once(lock_name, at_least=60, at_most=600):
        raise KeyError("of the job")
    assert 59_000 < remaining_ms(server, lock_name) <= 60_000


def test_a_job_within_itself_is_skipped(clients: Tuple[redlatch.Client, redlatch.Client], lock_name: str) -> None:
    once = clients[0].once(lock_name, at_most=60)
    with once as outer, once as inner:
        assert outer is not None and inner is None
        found: List[Optional[redlatch.Hold]] = []

        def elsewhere() -> None:
            with once as hold:
                found.append(hold)

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert found == [None] and outer.count == 1
    with once as again:
        assert again is not None


def test_a_process_that_dies_keeps_at_most(server: RedisServer, lock_name: str) -> None:
    program = f"""
import redlatch, time
client = redlatch.connect({server.url!r})
with client.once({lock_name!r}, at_least=1, at_most=60):
    print("running", flush=True)
    time.sleep(100)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "running\n"
        os.kill(process.pid, signal.SIGKILL)
    assert 50_000 < remaining_ms(server, lock_name) <= 60_000


def test_an_end_that_the_server_does_not_hear(proxy: Proxy, server: RedisServer, lock_name: str) -> None:
    with redlatch.connect(proxy.url, command_timeout=0.3, unreachable_timeout=0.3) as client:
        with pytest.raises(redlatch.UnreachableError), client.once(lock_name, at_least=1, at_most=60) as hold:
            assert hold is not None
            proxy.refuse()
            proxy.cut_all()
        assert client.stats()["held"] == 0
    assert 50_000 < remaining_ms(server, lock_name) <= 60_000


def test_redisson_is_excluded(
    clients: Tuple[redlatch.Client, redlatch.Client], peer: RedissonShapedPeer, lock_name: str
) -> None:
    runs: List[str] = []
    one = job_of(clients[0], lock_name, runs, at_least=60, at_most=60)
    assert one("one") == "one ran"
    assert not peer.try_lock(lock_name)


def test_leaving_in_c(server: RedisServer, clients: Tuple[redlatch.Client, redlatch.Client], lock_name: str) -> None:
    lock = clients[0].lock(lock_name)
    assert lib.redlatch_lock_leave(lock._handle, 0) == lib.REDLATCH_NOT_OWNED
    with clients[1].lock(lock_name, timeout=SOON):
        assert not lock.acquire(blocking=False)
    for _ in range(2):  # leaving ends a hold with all its acquires, and its renewal
        assert lock.acquire()
    owner = lock._number()
    assert lib.redlatch_lock_leave(lock._handle, owner) == lib.REDLATCH_OK
    assert lock.held() is None and clients[0].stats()["held"] == 0
    assert list(fields(server, lock_name).values()) == [b"2"]
    assert not lock.acquire(blocking=False)
    both = redlatch.multi_lock(clients[0].lock(lock_name + "1"), clients[0].lock(lock_name + "2"))
    with both:
        assert lib.redlatch_lock_leave(both._handle, owner) == lib.REDLATCH_UNSUPPORTED
        assert "expected a lock of one name" in ffi.string(lib.redlatch_last_error()).decode()


# ----------------------------------------------------------------------------------------------------------- locked --


def test_names_are_made_of_arguments(clients: Tuple[redlatch.Client, redlatch.Client], lock_name: str) -> None:
    client, other = clients

    class Order:
        id = 7

    @client.locked(lock_name + ":{user_id}:{order.id:03}:{kind}:{{tag}}:{extra}", timeout=5)
    def charge(user_id: int, *more: int, order: Any, kind: str = "card", **others: int) -> List[str]:
        """Charges."""
        return [str(report.name) for report in other.scan(lock_name + ":*")]

    assert charge(1, 2, order=Order, extra=5) == [f"{lock_name}:1:007:card:{{tag}}:5"]
    assert charge(user_id=9, order=Order, kind="bill", extra=5) == [f"{lock_name}:9:007:bill:{{tag}}:5"]
    assert charge.__name__ == "charge" and charge.__doc__ == "Charges."
    with pytest.raises(redlatch.InvalidArgumentError, match="this call of charge.. gives no name: KeyError: 'extra'"):
        charge(1, order=Order)
    with pytest.raises(TypeError, match=r"charge\(\): missing a required argument: 'user_id'"):
        charge(order=Order)  # type: ignore[call-arg]


def test_calls_with_the_same_arguments_exclude_each_other(
    clients: Tuple[redlatch.Client, redlatch.Client], lock_name: str
) -> None:
    one, other = clients

    @one.locked(lock_name + ":{number}", timeout=0)
    def down(number: int, nested: bool) -> int:
        return down(number, False) if nested else number

    assert down(1, True) == 1  # the thread is the owner, so the inner call re-enters
    with other.lock(f"{lock_name}:1"):
        assert down(2, False) == 2
        with pytest.raises(redlatch.LockTimeoutError) as caught:
            down(1, False)
    assert caught.value.lock_name == f"{lock_name}:1"
