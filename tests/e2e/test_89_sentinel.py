# SPDX-License-Identifier: Apache-2.0
"""Clients that find their master through sentinels."""

from __future__ import annotations

import re
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Iterator, List

import pytest
import redlatch
from support import Proxy, ScriptedServer, closed_port, wait_until
from support.sentinels import SERVICE, Sentinel, Watched
from waiters import Waiting

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(name="watched", scope="module")
def watched_fixture() -> Iterator[Watched]:
    """Servers and sentinels that the tests of this module share. Any of the servers may be the master."""
    with Watched() as watched:
        yield watched


def test_acquire_and_release(watched: Watched, lock_name: str) -> None:
    """The lock is on the master that the sentinels announce."""
    with redlatch.connect(watched.url()) as client:
        with client.lock(lock_name, timeout=5):
            assert watched.master.admin.exists(lock_name)
        assert not watched.master.admin.exists(lock_name)


def test_a_master_that_does_not_answer(watched: Watched, lock_name: str) -> None:
    """The error names the address and the service, which is what the URL has."""
    with redlatch.connect(watched.url(), command_timeout=0.3) as client:
        client.lock(lock_name).state()
        master = watched.master
        expected = rf'did not answer in time \(127.0.0.1:{master.port}, the master of "{SERVICE}"\)'
        master.admin.execute_command("CLIENT", "PAUSE", 60_000, "WRITE")  # sentinels do not take this for a failure
        try:
            with pytest.raises(redlatch.UnreachableError, match=expected):
                client.lock(lock_name).acquire(timeout=0)
        finally:
            master.admin.execute_command("CLIENT", "UNPAUSE")


def in_use(proxy: Proxy) -> int:
    """Returns how many connections the proxy has open."""
    return sum(connection.client_open for connection in list(proxy.links))


def test_announced_addresses_are_translated(watched: Watched, lock_name: str) -> None:
    """Each server is reached at another port than the one it is announced with, before and after a failover."""
    with ExitStack() as stack:
        proxies = {one.port: stack.enter_context(Proxy(one.address)) for one in watched.servers}
        pairs = ",".join(f"127.0.0.1:{port}=localhost:{proxy.port}" for port, proxy in proxies.items())
        client = stack.enter_context(redlatch.connect(watched.url(query=f"?address_map={pairs}"), watchdog_lease=3.0))
        with client.lock(lock_name, timeout=5) as held:
            wait_until(watched.in_step)
            old = watched.master
            assert in_use(proxies[old.port]) > 0
            master = watched.failover()
            before = client.stats()["renewals"]
            wait_until(lambda: client.stats()["renewals"] > before + 1, 10.0)
            assert not held.lost and in_use(proxies[master.port]) > 0
            wait_until(lambda: in_use(proxies[old.port]) == 0, 5.0)
        wait_until(watched.in_step, 30.0)


def test_a_map_that_is_none() -> None:
    """The error shows the value and what was expected."""
    with pytest.raises(redlatch.InvalidArgumentError, match='address_map "10.0.0.1:x=h": expected announced'):
        redlatch.connect(f"redis+sentinel://h/{SERVICE}?address_map=10.0.0.1:x=h")
    with pytest.raises(redlatch.InvalidArgumentError, match='URL option "address_map"'):
        redlatch.connect("redis://h?address_map=a=b")


def test_a_hold_survives_an_orderly_failover(watched: Watched, lock_name: str) -> None:
    """A replicated hold is renewed and released on the new master."""
    with redlatch.connect(watched.url(), watchdog_lease=3.0) as client:
        with client.lock(lock_name, timeout=5) as held:
            wait_until(watched.in_step)
            master = watched.failover()
            before = client.stats()["renewals"]
            wait_until(lambda: client.stats()["renewals"] > before + 1, 10.0)
            assert not held.lost
            assert master.admin.pttl(lock_name) > 0
        assert not master.admin.exists(lock_name)


def test_a_move_is_logged(watched: Watched, lock_name: str, caplog: pytest.LogCaptureFixture) -> None:
    """Python logs a failover as a warning with both addresses."""
    wait_until(watched.in_step, 30.0)
    old = watched.master
    with redlatch.connect(watched.url()) as client, client.lock(lock_name, timeout=5):
        new = watched.failover()
        expected = f"the client moved from 127.0.0.1:{old.port} to 127.0.0.1:{new.port}"
        wait_until(lambda: expected in [record.getMessage() for record in caplog.records], 10.0)
        assert [record.levelname for record in caplog.records if record.name == "redlatch"] == ["WARNING"]


def test_a_hold_that_was_not_replicated_is_lost_at_once(lock_name: str) -> None:
    """It is lost long before its lease of 60 s ends. A waiter gets the lock on the new master."""
    with Watched() as watched, redlatch.connect(watched.url(), watchdog_lease=60.0) as client:
        with client.lock(f"{lock_name}:warm", timeout=5):
            pass
        old = watched.master
        for replica in watched.servers[1:]:  # what is written from now on is on the master alone
            replica.sigstop()
        old.admin.execute_command("CLIENT", "KILL", "TYPE", "replica")
        held = client.lock(lock_name, owner="handle")
        held.acquire()
        waiting = Waiting(client.lock(lock_name, owner="handle"), 60.0)
        wait_until(lambda: client.stats()["waiters"] == 1)
        old.kill()
        for replica in watched.servers[1:]:
            replica.sigcont()
        master = watched.wait_for_new_master(old)
        moved_at = time.monotonic()
        hold = held.held()
        assert hold is not None
        wait_until(lambda: hold.lost, 10.0)
        assert waiting.result(10.0) is True
        assert time.monotonic() - moved_at < 5.0
        with pytest.raises(redlatch.LockLostError):
            held.release()
        assert not master.admin.exists(lock_name)


def test_waiters_go_on_after_the_master_was_killed(lock_name: str) -> None:
    """Threads contend all the time. After the failover all of them go on within seconds."""
    with Watched() as watched, redlatch.connect(watched.url(), watchdog_lease=3.0) as client:
        over = threading.Event()
        turns = [0] * 4
        unexpected: List[BaseException] = []

        def work(number: int) -> None:
            while not over.is_set():
                try:
                    with client.lock(lock_name, timeout=30):
                        turns[number] += 1
                except (redlatch.LockLostError, redlatch.UnreachableError, redlatch.NoReplyError):
                    continue
                except BaseException as error:
                    unexpected.append(error)
                    return

        threads = [threading.Thread(target=work, args=(number,)) for number in range(len(turns))]
        for thread in threads:
            thread.start()
        wait_until(lambda: min(turns) >= 20 or unexpected, 20.0)
        old = watched.master
        old.kill()
        watched.wait_for_new_master(old)
        moved_at = time.monotonic()
        before = list(turns)
        wait_until(lambda: all(now > then + 5 for now, then in zip(turns, before)) or unexpected, 20.0)
        took = time.monotonic() - moved_at
        over.set()
        for thread in threads:
            thread.join(10.0)
        assert not unexpected
        assert took < 6.0, took


def test_callers_that_do_not_wait_get_retryable_errors(lock_name: str) -> None:
    """They get them while there is no master, and only then."""
    with Watched() as watched, redlatch.connect(watched.url()) as client:
        lock = client.lock(lock_name)
        assert lock.acquire(blocking=False)
        lock.release()
        old = watched.master
        for sentinel in watched.sentinels[1:]:  # without a majority nobody is promoted
            sentinel.kill()
        old.kill()
        with pytest.raises(redlatch.RedlatchError) as caught:
            lock.acquire(blocking=False)
        assert caught.value.retryable
        for sentinel in watched.sentinels[1:]:
            sentinel.start()
        watched.wait_for_new_master(old)
        wait_until(lambda: acquires(lock), 10.0)
        lock.release()


def acquires(lock: redlatch.Lock) -> bool:
    """Returns whether the lock is acquired without waiting."""
    try:
        return lock.acquire(blocking=False)
    except redlatch.UnreachableError:
        return False


def test_a_sentinel_that_is_down(watched: Watched, lock_name: str) -> None:
    """The client asks the next sentinel of the URL."""
    with closed_port() as port:
        url = f"redis+sentinel://127.0.0.1:{port},{watched.sentinels[0].address}/{SERVICE}"
        with redlatch.connect(url) as client, client.lock(lock_name, timeout=5):
            assert watched.master.admin.exists(lock_name)


def test_a_service_that_nobody_knows(watched: Watched) -> None:
    """The error names the service."""
    url = watched.url().replace(SERVICE, "nobody")
    with pytest.raises(redlatch.InvalidArgumentError, match='service "nobody": unknown to the sentinel 127'):
        redlatch.connect(url)


def test_no_sentinel_at_all() -> None:
    """The error is retryable and says which one was not reached."""
    with closed_port() as port, pytest.raises(redlatch.UnreachableError, match=f"127.0.0.1:{port}: .*refused"):
        redlatch.connect(f"redis+sentinel://127.0.0.1:{port}/{SERVICE}")


def test_sentinels_with_a_password(lock_name: str) -> None:
    """The password is an option of the URL. Without it the error is that of the sentinel."""
    with Watched(sentinels=1, password="S3CR3T") as watched:
        with redlatch.connect(watched.url(query="?sentinel_password=S3CR3T")) as client:
            with client.lock(lock_name, timeout=5):
                assert watched.master.admin.exists(lock_name)
        with pytest.raises(redlatch.AuthenticationError) as caught:
            redlatch.connect(watched.url())
        assert "NOAUTH" in str(caught.value)
        with pytest.raises(redlatch.AuthenticationError) as caught:
            redlatch.connect(watched.url(query="?sentinel_password=WR0NG"))
        assert "WR0NG" not in str(caught.value)
        url = watched.url(query="?sentinel_password=WR0NG")
        with redlatch.connect(url, sentinel_password="S3CR3T") as client:  # the option wins
            assert client.lock(lock_name).acquire(timeout=0)


def listens(sentinel: Sentinel) -> bool:
    """Returns whether a connection of the page's user is subscribed."""
    lines = str(sentinel.call("CLIENT", "LIST")).splitlines()
    return any("user=watcher" in line and "sub=1 " in line for line in lines)


def test_a_user_with_the_rights_of_the_page(lock_name: str) -> None:
    """The user has just the rights of docs/how-to/access-rules.md. The sentinels deny only the commands that the page
    says they may deny, and the client notices failovers."""
    page = (ROOT / "docs" / "how-to" / "access-rules.md").read_text(encoding="utf-8")
    found = re.search(r"ACL SETUSER watcher (on '>secret' [^`]*)", page)
    assert found
    rules = found[1].replace("\\\n", " ").replace("'", "")
    with Watched(lines=[f"user watcher {' '.join(rules.split())}"]) as watched:
        login = "sentinel_username=watcher&sentinel_password=secret"
        with redlatch.connect(watched.url(query=f"?{login}"), watchdog_lease=3.0) as client:
            with client.lock(lock_name, timeout=5) as held:
                wait_until(lambda: any(listens(each) for each in watched.sentinels), 5.0)
                wait_until(watched.in_step)
                master = watched.failover()
                before = client.stats()["renewals"]
                wait_until(lambda: client.stats()["renewals"] > before + 1, 10.0)
                assert not held.lost and master.admin.exists(lock_name)
        assert not master.admin.exists(lock_name)
        denied = {entry[entry.index("object") + 1] for each in watched.sentinels for entry in each.call("ACL", "LOG")}
        assert denied <= {"info", "client|setname"}


def test_a_sentinel_that_announces_a_replica(watched: Watched, lock_name: str) -> None:
    """The client does not believe it and asks the next one."""
    # For some seconds after a failover the old master still takes itself for a master.
    replica = next(one for one in watched.servers if one.admin.info("replication")["role"] == "slave")
    announced = ["127.0.0.1", str(replica.port)]
    with ScriptedServer(by_word={"SENTINEL": announced}) as liar:
        url = f"redis+sentinel://127.0.0.1:{liar.port},{watched.sentinels[0].address}/{SERVICE}"
        with redlatch.connect(url) as client, client.lock(lock_name, timeout=5):
            assert watched.master.admin.exists(lock_name)
        with pytest.raises(redlatch.UnreachableError, match=f"127.0.0.1:{replica.port} is a replica"):
            redlatch.connect(f"redis+sentinel://127.0.0.1:{liar.port}/{SERVICE}")
