# SPDX-License-Identifier: Apache-2.0
"""Sentinels that disagree, masters that pause, replicas that lag: each with a bounded outcome."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from typing import Callable, Iterator, List

import pytest
import redlatch
from support import RedisServer, ScriptedServer, closed_port, wait_until
from support.lag import Lag
from support.sentinels import SERVICE, Watched

MakeServer = Callable[..., RedisServer]
LAG = 5.0


@pytest.fixture(name="watched", scope="module")
def watched_fixture() -> Iterator[Watched]:
    """Servers and sentinels that the tests of this module share."""
    with Watched() as watched:
        yield watched


def test_one_sentinel_announces_who_is_gone(watched: Watched, lock_name: str) -> None:
    """That sentinel is like one behind a partition. The client asks the next one."""
    with closed_port() as port, ScriptedServer(by_word={"SENTINEL": ["127.0.0.1", str(port)]}) as behind:
        hosts = f"127.0.0.1:{behind.port},{watched.sentinels[0].address}"
        with redlatch.connect(f"redis+sentinel://{hosts}/{SERVICE}") as client, client.lock(lock_name, timeout=5):
            assert watched.master.admin.exists(lock_name)
        with pytest.raises(redlatch.UnreachableError, match=f"127.0.0.1:{port}: Connection refused"):
            redlatch.connect(f"redis+sentinel://127.0.0.1:{behind.port}/{SERVICE}")


def test_a_listener_at_one_who_announces_another(watched: Watched, lock_name: str) -> None:
    """What it announces starts a search, which the others answer. The client stays, and does not search for ever."""
    replica = next(one for one in watched.servers if one.admin.info("replication")["role"] == "slave")
    announced = ["127.0.0.1", str(replica.port)]
    with ScriptedServer(by_word={"SENTINEL": announced, "SUBSCRIBE": ["subscribe", "+switch-master", 1]}) as liar:
        hosts = f"127.0.0.1:{liar.port},{watched.sentinels[0].address}"
        with redlatch.connect(f"redis+sentinel://{hosts}/{SERVICE}", watchdog_lease=0.9) as client:
            with client.lock(lock_name, timeout=5) as held:
                wait_until(lambda: any(command.word == "SUBSCRIBE" for command in liar.commands))
                before = client.stats()["renewals"]
                wait_until(lambda: client.stats()["renewals"] >= before + 10, 20.0)
                assert not held.lost and watched.master.admin.exists(lock_name)
                assert client.stats()["reconnects"] == 0
        assert sum(command.word == "SENTINEL" for command in liar.commands) < 20


def test_a_master_that_pauses(server: RedisServer, lock_name: str) -> None:
    """CLIENT PAUSE: a call that does not wait ends in its time with the reason. A waiting call goes on afterwards."""
    with redlatch.connect(server.url, command_timeout=0.5, watchdog_lease=60) as client:
        lock = client.lock(lock_name)
        lock.acquire()
        lock.release()
        server.admin.execute_command("CLIENT", "PAUSE", 60_000, "WRITE")
        try:
            with pytest.raises(redlatch.UnreachableError, match=rf"did not answer in time \(127.0.0.1:{server.port}\)"):
                lock.acquire(blocking=False)
            granted: List[bool] = []
            waiter = threading.Thread(target=lambda: granted.append(client.lock(lock_name).acquire(timeout=30)))
            waiter.start()
            wait_until(lambda: client.stats()["waiters"] == 1)
        finally:
            server.admin.execute_command("CLIENT", "UNPAUSE")
        waiter.join(20)
        assert granted == [True]


def test_an_orderly_handover_by_the_server(make_server: MakeServer, lock_name: str) -> None:
    """FAILOVER pauses the master's writes, waits for the replica, and promotes it. A hold survives it."""
    master = make_server(repl_diskless_sync_delay=0)
    if master.version < (6, 2):
        pytest.skip("FAILOVER came with Redis 6.2")
    replica = make_server(replicaof=["127.0.0.1", str(master.port)], repl_diskless_sync_delay=0)
    wait_until(lambda: replica.admin.info("replication")["master_link_status"] == "up", 20.0)
    url = f"redis+replicas://127.0.0.1:{master.port},127.0.0.1:{replica.port}"
    with redlatch.connect(url, watchdog_lease=3.0) as client, client.lock(lock_name, timeout=5) as held:
        master.admin.execute_command("FAILOVER")
        with client.lock(f"{lock_name}:next", timeout=20):
            assert replica.admin.exists(f"{lock_name}:next")
        before = client.stats()["renewals"]
        wait_until(lambda: client.stats()["renewals"] > before, 10.0)
        assert not held.lost
    assert not replica.admin.exists(lock_name)


class Late:
    """A master and a replica. From now on the replica gets everything LAG seconds late."""

    def __init__(self, make_server: MakeServer, stack: ExitStack) -> None:
        self.master = make_server(repl_diskless_sync_delay=0)
        self.lag = stack.enter_context(Lag(self.master.address))
        self.replica = make_server(replicaof=["127.0.0.1", str(self.lag.port)], repl_diskless_sync_delay=0)
        wait_until(lambda: self.replica.admin.info("replication")["master_link_status"] == "up", 20.0)
        self.lag.seconds = LAG

    @property
    def url(self) -> str:
        """The URL of both servers."""
        return f"redis+replicas://127.0.0.1:{self.master.port},127.0.0.1:{self.replica.port}"


@pytest.fixture(name="late")
def late_fixture(make_server: MakeServer) -> Iterator[Late]:
    """A master and a replica with a lag between them."""
    with ExitStack() as stack:
        yield Late(make_server, stack)


def test_a_replica_that_lags_acknowledges_too_late(late: Late, lock_name: str) -> None:
    """An acquire that needs the replica fails in time with the reason, and leaves nothing. Without the lag it works."""
    with redlatch.connect(late.url, min_replicas=1, replica_timeout=0.4) as client:
        lock = client.lock(lock_name)
        began = time.monotonic()
        with pytest.raises(redlatch.NotReplicatedError, match="acknowledged by 0 of 1 replicas within 0.4 s"):
            lock.acquire(timeout=0)
        assert time.monotonic() - began < LAG / 2  # long before the replica has the lock
        wait_until(lambda: not late.master.admin.exists(lock_name), 2.0)
        assert late.replica.admin.info("replication")["master_link_status"] == "up"
        late.lag.seconds = 0.0
        assert lock.acquire(timeout=20)
        lock.release()


def test_a_replica_that_lags_is_promoted(late: Late, lock_name: str) -> None:
    """A hold of the last five seconds, which the replica has not received, is lost at once. An older hold is kept."""
    with redlatch.connect(late.url, watchdog_lease=60.0) as client:
        older, younger = client.lock(f"{lock_name}:older"), client.lock(f"{lock_name}:younger")
        older.acquire()
        began = time.monotonic()
        wait_until(lambda: bool(late.replica.admin.exists(f"{lock_name}:older")), 2 * LAG)
        assert time.monotonic() - began > LAG / 2
        younger.acquire()
        kept, hold = older.held(), younger.held()
        assert kept is not None and hold is not None
        late.master.kill()
        late.replica.admin.replicaof("NO", "ONE")
        began = time.monotonic()
        wait_until(lambda: hold.lost, 20.0)
        assert time.monotonic() - began < LAG
        with pytest.raises(redlatch.LockLostError):
            younger.release()
        assert not kept.lost
        older.release()
