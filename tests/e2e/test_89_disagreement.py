# SPDX-License-Identifier: Apache-2.0
"""Sentinels that disagree, masters that pause, replicas that lag: each with a bounded outcome."""

from __future__ import annotations

import threading
from typing import Callable, Iterator, List

import pytest
import redlatch
from support import RedisServer, ScriptedServer, closed_port, wait_until
from support.sentinels import SERVICE, Watched

MakeServer = Callable[..., RedisServer]


@pytest.fixture(name="watched", scope="module")
def watched_fixture() -> Iterator[Watched]:
    """Servers and sentinels that the tests of this module share."""
    with Watched() as watched:
        yield watched


def test_one_sentinel_announces_who_is_gone(watched: Watched, lock_name: str) -> None:
    """As one that a partition left behind: the next one is asked."""
    with closed_port() as port, ScriptedServer(by_word={"SENTINEL": ["127.0.0.1", str(port)]}) as behind:
        hosts = f"127.0.0.1:{behind.port},{watched.sentinels[0].address}"
        with redlatch.connect(f"redis+sentinel://{hosts}/{SERVICE}") as client, client.lock(lock_name, timeout=5):
            assert watched.master.admin.exists(lock_name)
        with pytest.raises(redlatch.UnreachableError, match=f"127.0.0.1:{port}: Connection refused"):
            redlatch.connect(f"redis+sentinel://127.0.0.1:{behind.port}/{SERVICE}")


def test_a_listener_at_one_who_announces_another(watched: Watched, lock_name: str) -> None:
    """What it says starts a search, which the others answer: the client stays, and does not search for ever."""
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
    """CLIENT PAUSE: a call that does not wait ends in its time and says why; one that waits goes on afterwards."""
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
    """FAILOVER pauses the master's writes, waits for the replica, and promotes it: a hold goes along."""
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


def test_a_replica_that_lagged_is_promoted(make_server: MakeServer, lock_name: str) -> None:
    """What it has not seen is lost at once, and what it has seen is kept."""
    master = make_server(repl_diskless_sync_delay=0)
    replica = make_server(replicaof=["127.0.0.1", str(master.port)], repl_diskless_sync_delay=0)
    wait_until(lambda: replica.admin.info("replication")["master_link_status"] == "up", 20.0)
    url = f"redis+replicas://127.0.0.1:{master.port},127.0.0.1:{replica.port}"
    with redlatch.connect(url, watchdog_lease=60.0) as client:
        seen, unseen = client.lock(f"{lock_name}:seen"), client.lock(f"{lock_name}:unseen")
        seen.acquire()
        wait_until(lambda: bool(replica.admin.exists(f"{lock_name}:seen")))
        replica.sigstop()
        master.admin.execute_command("CLIENT", "KILL", "TYPE", "replica")
        unseen.acquire()
        hold = unseen.held()
        assert hold is not None
        master.kill()
        replica.sigcont()
        replica.admin.replicaof("NO", "ONE")
        wait_until(lambda: hold.lost, 20.0)
        with pytest.raises(redlatch.LockLostError):
            unseen.release()
        seen.release()
