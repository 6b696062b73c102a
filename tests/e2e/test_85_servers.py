# SPDX-License-Identifier: Apache-2.0
"""Servers that refuse, are full, are still loading, or are no Redis: each gets its own status within the timeout."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, Optional, Tuple

import access_rules
import pytest
import redis
import redlatch
from support import (
    ErrorReply,
    GarbageServer,
    HttpServer,
    Proxy,
    RedisServer,
    ScriptedServer,
    SilentServer,
    SynBlackHole,
    closed_port,
    wait_until,
)

MakeServer = Callable[..., RedisServer]


# A generous bound on calls that fail at once, or after a timeout of less than a second that the test sets. Calls that
# wait for anything else have more time.
SOON = 3.0
# For clients whose server is gone.
CLOSE_SOON = redlatch.Tuning(close_timeout=0.2)


@contextmanager
def fails(
    status: str, within: float = SOON, *, after: float = 0.0, kind: Any = redlatch.ServerError, words: str = ""
) -> Iterator[None]:
    """The block must raise an error of this status, not later than `within` seconds and not before `after`."""
    start = time.monotonic()
    with pytest.raises(redlatch.RedlatchError) as caught:
        yield
    took = time.monotonic() - start
    assert caught.value.status_name == status, repr(caught.value)
    assert isinstance(caught.value, kind) and words in str(caught.value)
    assert after <= took < within, f"it took {took:.3f} s"


def check_every_way(lock: redlatch.Lock, status: str, *, waits: bool, kind: Any = redlatch.ServerError) -> None:
    """A non-blocking acquire fails at once. A waiting one fails at its timeout if `waits`, or else at once."""
    with fails(status, kind=kind):
        lock.acquire(blocking=False)
    with fails(status, after=0.5 if waits else 0.0, kind=kind):
        lock.acquire(timeout=0.5 if waits else 30)
    assert not lock.owned()


# ---------------------------------------------------------------------------------------------------- the keyspace --


@pytest.mark.parametrize("kind", ["string", "list", "set", "zset", "stream"])
def test_a_key_of_another_type_stays_as_it_was(server: RedisServer, lock_name: str, kind: str) -> None:
    witness = server.client()
    made = {
        "string": lambda: witness.set(lock_name, "x"),
        "list": lambda: witness.rpush(lock_name, "x"),
        "set": lambda: witness.sadd(lock_name, "x"),
        "zset": lambda: witness.zadd(lock_name, {"x": 1}),
        "stream": lambda: witness.xadd(lock_name, {"x": 1}),
    }
    made[kind]()
    before = witness.dump(lock_name)
    with redlatch.connect(server.url) as client:
        lock = client.lock(lock_name)
        check_every_way(lock, "wrong_type", waits=False)
        for call in (lock.state, lock.force_release):
            with fails("wrong_type"):
                call()
    assert witness.dump(lock_name) == before and witness.pttl(lock_name) == -1


def test_the_words_of_an_error_without_a_status_of_its_own(proxy: Proxy, lock_name: str) -> None:
    """The error text contains what the server replied."""
    with redlatch.connect(proxy.url) as client:
        words = "ERR Wrong number of args for a command script: f00, on @user_script:20."
        fault = proxy.answer(ErrorReply(words), "EVALSHA")
        with fails("server", words=f"the server returned an error ({words})"):
            client.lock(lock_name).acquire(timeout=30)
    assert fault.hit


def test_a_key_of_another_type_put_instead_of_a_held_lock(server: RedisServer, lock_name: str) -> None:
    witness = server.client()
    with redlatch.connect(server.url, watchdog_lease=0.6) as client:
        lock = client.lock(lock_name)
        lock.acquire()
        witness.set(lock_name, "x")
        with pytest.raises(redlatch.LockLostError):
            lock.release()
        witness.delete(lock_name)
        lock.acquire()
        hold = lock.held()
        assert hold is not None
        witness.set(lock_name, "x")
        assert hold.lost_event.wait(10.0)
    assert witness.get(lock_name) == b"x"


# ---------------------------------------------------------------------------------------------- servers that refuse --


def test_read_only_replica(make_server: MakeServer, lock_name: str) -> None:
    server = make_server(repl_diskless_sync_delay=0)
    replica = make_server(replicaof=["127.0.0.1", str(server.port)])
    wait_until(lambda: replica.admin.info("replication")["master_link_status"] == "up", 20.0)
    with redlatch.connect(replica.url) as client:
        check_every_way(client.lock(lock_name), "read_only", waits=True)
        assert not client.lock(lock_name).state().locked
    assert not server.client().exists(lock_name)


def test_out_of_memory(make_server: MakeServer, lock_name: str) -> None:
    server = make_server(maxmemory_policy="noeviction")
    with redlatch.connect(server.url, watchdog_lease=1.5) as client:
        held, other = client.lock(lock_name + ":held"), client.lock(lock_name)
        other.acquire()
        other.release()
        held.acquire()
        server.admin.config_set("maxmemory", "1")
        check_every_way(other, "server_out_of_memory", waits=True)
        renewals = client.stats()["renewals"]
        wait_until(lambda: client.stats()["renewals"] >= renewals + 2)
        assert held.owned() and held.state().locked, "what is held is renewed"
        held.release()
        assert not server.admin.exists(lock_name + ":held"), "and released"
        server.admin.config_set("maxmemory", "0")
        with other:
            pass


def test_loading(server: RedisServer, make_server: MakeServer, lock_name: str) -> None:
    if server.version < (7, 0, 0):
        pytest.skip("the server replies to nobody while it loads so little")
    server = make_server(key_load_delay=100, loading_process_events_interval_bytes=1_024)
    with redlatch.connect(server.url) as client:
        lock = client.lock(lock_name)
        lock.acquire()
        lock.release()
        server.admin.execute_command("DEBUG", "POPULATE", "12000")
        server.restart(keep_data=True, wait_ready=False)
        with fails("loading"):
            lock.acquire(blocking=False)
        with fails("loading", after=0.3):
            lock.acquire(timeout=0.3)
        with redlatch.connect(server.url) as another:  # the greeting is allowed while the server loads
            with fails("loading"):
                another.lock(lock_name).acquire(blocking=False)
        assert lock.acquire(timeout=30), "who waits gets the lock when the server has loaded"
        lock.release()


@pytest.fixture
def busy_server(make_server: MakeServer) -> RedisServer:
    """A server that soon replies BUSY while a script runs."""
    return make_server(busy_reply_threshold=50) if RedisServer.live[0].version >= (7, 0, 0) else make_server(
        lua_time_limit=50
    )


def is_busy(server: RedisServer) -> bool:
    """Returns whether the server refuses commands because a script runs too long."""
    try:
        server.admin.ping()
    except redis.RedisError:
        return True
    return False


def test_busy_with_a_script(server: RedisServer, busy_server: RedisServer, lock_name: str) -> None:
    with redlatch.connect(busy_server.url) as client:
        lock = client.lock(lock_name)
        lock.acquire()
        lock.release()

        def keep_busy() -> None:
            try:
                busy_server.client(socket_timeout=30).eval("while true do end", 0)
            except Exception:
                return

        endless = threading.Thread(target=keep_busy)
        endless.start()
        wait_until(lambda: is_busy(busy_server), message="the script to have run for too long")
        check_every_way(lock, "server_busy", waits=True)
        with fails("server_busy"):
            redlatch.connect(busy_server.url)
        obtained = threading.Event()

        def wait() -> None:
            with lock:
                obtained.set()

        waiter = threading.Thread(target=wait)
        waiter.start()
        assert not obtained.wait(0.3)
        busy_server.client().script_kill()
        assert obtained.wait(10), "who waits gets the lock when the script has ended"
        endless.join()
        waiter.join()


@pytest.mark.parametrize("url", ["redis://", "redis://:wrong@", "redis://nobody:wrong@", "redis://nobody@"])
def test_authentication(make_server: MakeServer, lock_name: str, url: str) -> None:
    server = make_server(requirepass="right")
    address = f"{url}127.0.0.1:{server.port}/0"
    with fails("authentication"):
        redlatch.connect(address)
    with redlatch.connect(address, lazy=True) as client:
        check_every_way(client.lock(lock_name), "authentication", waits=False)
        with fails("authentication"):
            client.lock(lock_name).acquire()  # has no timeout, and fails at once, since waiting will not help
    with redlatch.connect(address, username="default", password="right") as client:
        with client.lock(lock_name):
            pass


def test_password_withdrawn_later(make_server: MakeServer, lock_name: str) -> None:
    server = make_server()
    with redlatch.connect(server.url, tuning=CLOSE_SOON) as client:
        lock = client.lock(lock_name)
        with lock:
            pass
        server.admin.config_set("requirepass", "new")
        server.admin.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        check_every_way(lock, "authentication", waits=False)


RULES = {
    "no scripts": "~* &* +@all -@scripting",
    "no such keys": "~other:* &* +@all",
    "keys read only": "%R~* &* +@all",
    "no publishing": "~* resetchannels +@all",
    "no pexpire": "~* &* +@all -pexpire",
    "nothing": "~* &* -@all +auth +hello",
}


@pytest.mark.parametrize("rule", list(RULES))
def test_no_permission(server: RedisServer, lock_name: str, rule: str) -> None:
    if server.version < {"no publishing": (6, 2, 0), "keys read only": (7, 0, 0)}.get(rule, (6, 0, 0)):
        pytest.skip("the server has no such rules")
    user = "user" + str(list(RULES).index(rule))
    words = [word for word in RULES[rule].split() if word != "&*" or server.version >= (6, 2, 0)]
    server.admin.execute_command("ACL", "SETUSER", user, "reset", "on", ">word", *words)
    try:
        with redlatch.connect(server.url, username=user, password="word") as client:
            lock = client.lock(lock_name)
            if rule == "no publishing":
                lock.acquire()
                try:
                    lock.release()
                except redlatch.ServerError as error:
                    assert error.status_name == "no_permission"
                wait_until(lambda: not server.client().exists(lock_name))
            else:
                check_every_way(lock, "no_permission", waits=False)
        wait_until(lambda: not server.client().exists(lock_name))
    finally:
        server.admin.execute_command("ACL", "DELUSER", user)


@pytest.mark.parametrize("spared", [(), ("memory|usage", "hrandfield"), ("strlen", "get", "lrange", "llen")])
def test_to_list_is_allowed_with_less(server: RedisServer, lock_name: str, spared: Tuple[str, ...]) -> None:
    rows = [access_rules.RULES[row] for row in ("mutex, spin lock", access_rules.RECHECKS)]
    needed = [*access_rules.EVERYBODY, *(command for row in rows for command in row.commands())]
    allowed = [f"+{command}" for command in needed if command not in spared]
    server.set_user("frugal", "word", "-@all", *allowed)
    try:
        with redlatch.connect(server.url, username="frugal", password="word") as client:
            lock = client.lock(lock_name)
            with lock, lock as held:
                lock.extend(20)
                now = lock.state()
                assert now.owner == held.owner and now.locked and now.ttl > 10
                assert [report.name for report in client.scan()] == [lock_name]
                assert client.inspect(lock_name).detected_kind == "mutex" and not client.wait_free(lock_name, 0)
                other = threading.Thread(target=lambda: lock.acquire(timeout=10) and lock.release())
                other.start()
                wait_until(lambda: client.stats()["waiters"] == 1)
            other.join(10)
            assert client.stats()["acquired"] == 3 and client.wait_free(lock_name)
            lock.acquire()
            assert lock.force_release()
    finally:
        server.admin.execute_command("ACL", "DELUSER", "frugal")


def test_without_subscriptions_waiters_poll(server: RedisServer, lock_name: str) -> None:
    server.set_user("deaf", "word", "+@all", "-subscribe")
    try:
        with redlatch.connect(server.url) as other, redlatch.connect(
            server.url, username="deaf", password="word"
        ) as client:
            theirs = other.lock(lock_name)
            theirs.acquire()
            start = time.monotonic()
            threading.Timer(0.5, server.client().delete, (lock_name,)).start()
            with client.lock(lock_name):
                assert 0.5 <= time.monotonic() - start < 4.0, "sooner than who listens would look"
            with pytest.raises(redlatch.LockLostError):
                theirs.release()
    finally:
        server.admin.execute_command("ACL", "DELUSER", "deaf")


def test_too_many_clients(make_server: MakeServer, lock_name: str) -> None:
    server = make_server(maxclients=4)
    crowd = [server.client(single_connection_client=True) for _ in range(4)]
    for one in crowd:
        one.ping()
    with fails("too_many_clients"):
        redlatch.connect(server.url)
    with redlatch.connect(server.url, lazy=True) as client:
        lock = client.lock(lock_name)
        check_every_way(lock, "too_many_clients", waits=True)
        for one in crowd:
            one.close()
            one.connection_pool.disconnect()
        assert lock.acquire(timeout=20), "there is room now"
        lock.release()


def test_too_few_replicas(make_server: MakeServer, lock_name: str) -> None:
    server = make_server(min_replicas_to_write=1)
    if server.version < (7, 0, 0):
        pytest.skip("the server lets scripts write all the same")
    with redlatch.connect(server.url) as client:
        check_every_way(client.lock(lock_name), "not_writable", waits=True)
        server.admin.config_set("min-replicas-to-write", "0")
        with client.lock(lock_name):
            pass


@pytest.mark.parametrize("side", ["mutex", "write"])
def test_a_multi_lock_is_released_when_there_are_replicas_again(
    make_server: MakeServer, lock_name: str, side: str
) -> None:
    """Its script returns the error of the command that the server refused."""
    server = make_server()
    with redlatch.connect(server.url) as client:
        first = client.lock(lock_name) if side == "mutex" else client.read_write_lock(lock_name).write
        lock = redlatch.multi_lock(first, client.lock(lock_name + "2"))
        assert lock.acquire()
        server.admin.config_set("min-replicas-to-write", "1")
        again = threading.Timer(0.5, server.admin.config_set, ("min-replicas-to-write", "0"))
        again.start()
        lock.release()
        again.join()
        assert server.admin.exists(lock_name, lock_name + "2") == 0


# Calls that are sent again after a transient error. Each is the first call of its client: nothing has given the client
# a reason to start its background thread yet.
FIRST_CALLS: Dict[str, Callable[[redlatch.Client, str], Any]] = {
    "lock": lambda client, name: client.lock(name).acquire(),
    "multi_lock": lambda client, name: redlatch.multi_lock(client.lock(name), client.lock(name + "2")).acquire(),
    "acquire": lambda client, name: client.semaphore(name + ":3").acquire(),
    "try_set_permits": lambda client, name: client.semaphore(name).try_set_permits(2),
    "add_permits": lambda client, name: client.semaphore(name).add_permits(2),
    "release": lambda client, name: client.semaphore(name).release(),
    "release_if_exists": lambda client, name: client.semaphore(name + ":3").release_if_exists(),
    "drain": lambda client, name: client.semaphore(name + ":3").drain(),
    "delete": lambda client, name: client.semaphore(name + ":3").delete(),
    "try_set_count": lambda client, name: client.latch(name).try_set_count(2),
    "count_down": lambda client, name: client.latch(name + ":3").count_down(),
    "delete_latch": lambda client, name: client.latch(name + ":3").delete(),
    "acquire_permit": lambda client, name: client.permit_semaphore(name + ":3").acquire(),
    "release_permit": lambda client, name: client.permit_semaphore(name + ":of").release("61" * 16),
    "extend_permit": lambda client, name: client.permit_semaphore(name + ":of").extend("61" * 16, 50),
    "set_permits": lambda client, name: client.permit_semaphore(name).set_permits(2),
    "delete_permits": lambda client, name: client.permit_semaphore(name + ":3").delete(),
}


@pytest.mark.parametrize("first_call", FIRST_CALLS.values(), ids=FIRST_CALLS.keys())
def test_the_first_call_of_a_client_is_made_again(
    server: RedisServer, proxy: Proxy, lock_name: str, first_call: Callable[[redlatch.Client, str], Any]
) -> None:
    server.admin.set(lock_name + ":3", 3)
    server.admin.set(lock_name + ":of", 1)
    server.admin.zadd("{" + lock_name + ":of}:timeout", {b"a" * 16: 4_000_000_000_000})
    fault = proxy.answer(ErrorReply("NOREPLICAS Not enough good replicas to write."), "EVALSHA")
    with redlatch.connect(proxy.url, command_timeout=3) as client:
        first_call(client, lock_name)
    assert fault.hit


@pytest.mark.parametrize(
    ("reply", "status", "waits"),
    [
        ("MISCONF Redis is configured to save RDB snapshots, but it is not able to", "not_writable", True),
        ("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", "not_writable", True),
        ("LOADING Redis is loading the dataset in memory", "loading", True),
        ("BUSY Redis is busy running a script.", "server_busy", True),
        ("OOM command not allowed when used memory > 'maxmemory'.", "server_out_of_memory", True),
        ("READONLY You can't write against a read only replica.", "read_only", True),
        ("NOAUTH Authentication required.", "authentication", False),
        ("NOPERM this user has no permissions to run the 'evalsha' command", "no_permission", False),
        ("ERR unknown command `EVALSHA`, with args beginning with: ", "no_permission", False),
        ("ERR something else altogether", "server", False),
        ("", "server", False),
    ],
)
def test_error_replies(
    server: RedisServer, proxy: Proxy, lock_name: str, reply: str, status: str, waits: bool
) -> None:
    with redlatch.connect(proxy.url, command_timeout=1) as client:
        lock = client.lock(lock_name)
        with lock:
            pass
        fault = proxy.answer(ErrorReply(reply), "EVALSHA", times=None)
        check_every_way(lock, status, waits=waits)
        with fails(status):
            lock.state()
        fault.release()
        with lock:
            pass
    wait_until(lambda: not server.client().exists(lock_name))


# --------------------------------------------------------------------------------------- servers that are no Redis --


@pytest.mark.parametrize(
    "garbage",
    [
        None,
        b"\x00",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"220 mail ESMTP\r\n",
        b"*1\r\n$-5\r\n",
        b"*-7\r\n",
        b"\r\n\r\n",
        b"\x15\x03\x01\x00\x02\x02\x46",
    ],
    ids=repr,
)
def test_garbage(lock_name: str, garbage: Optional[bytes]) -> None:
    with (GarbageServer() if garbage is None else GarbageServer(garbage)) as other:
        with fails("protocol", kind=redlatch.UnreachableError):
            redlatch.connect(other.url)
        with redlatch.connect(other.url, lazy=True) as client:
            lock = client.lock(lock_name)
            with fails("protocol", kind=redlatch.UnreachableError):
                lock.acquire(blocking=False)
            with fails("protocol", kind=redlatch.UnreachableError):
                lock.acquire(timeout=0.3)


def test_a_web_server(lock_name: str) -> None:
    with HttpServer() as other:
        with fails("protocol", kind=redlatch.UnreachableError):
            redlatch.connect(other.url)
        with redlatch.connect(other.url, lazy=True) as client:
            with fails("protocol", kind=redlatch.UnreachableError):
                client.lock(lock_name).acquire(blocking=False)


@pytest.mark.parametrize("begin", [b"", b"$99999999999999\r\n", b"+", b"*3\r\n"], ids=repr)
def test_silence(lock_name: str, begin: bytes) -> None:
    """The server sends nothing, or a reply without an end."""
    with (GarbageServer(begin) if begin else SilentServer()) as other:
        words = f"127.0.0.1:{other.port}: connected, but no reply"
        with fails("no_reply", after=0.3, kind=redlatch.UnreachableError, words=words):
            redlatch.connect(other.url, connect_timeout=0.3)
        # No command about the lock was sent, so the status is not the ambiguous no_reply.
        with redlatch.connect(other.url, lazy=True, connect_timeout=0.3, tuning=CLOSE_SOON) as client:
            with fails("unreachable", after=0.25, kind=redlatch.UnreachableError):
                client.lock(lock_name).acquire(blocking=False)
        with redlatch.connect(other.url, lazy=True, command_timeout=0.3, tuning=CLOSE_SOON) as client:
            with fails("unreachable", after=0.25, kind=redlatch.UnreachableError):
                client.lock(lock_name).acquire(blocking=False)


def test_no_answer_to_the_first_packet(lock_name: str) -> None:
    with SynBlackHole() as hole:
        with fails("unreachable", after=0.3, kind=redlatch.UnreachableError):
            redlatch.connect(hole.url, connect_timeout=0.3)
        with redlatch.connect(hole.url, lazy=True, tuning=CLOSE_SOON) as client:
            with fails("unreachable", after=0.3, kind=redlatch.UnreachableError):
                client.lock(lock_name).acquire(timeout=0.3)


def test_nobody_there(lock_name: str) -> None:
    with closed_port() as port:
        with fails("unreachable", kind=redlatch.UnreachableError):
            redlatch.connect(f"redis://127.0.0.1:{port}/0")
    with fails("unreachable", 9.0, kind=redlatch.UnreachableError):
        redlatch.connect("redis://no-such-host.invalid/0", connect_timeout=5)
    with fails("unreachable", kind=redlatch.UnreachableError):
        redlatch.connect("unix:///no/such/socket")


def test_the_server_falls_silent(server: RedisServer, lock_name: str) -> None:
    with redlatch.connect(server.url, command_timeout=0.8, tuning=CLOSE_SOON) as client:
        lock = client.lock(lock_name)
        with lock:
            pass
        server.sigstop()
        try:
            with fails("no_reply", after=0.3, kind=redlatch.UnreachableError):
                lock.acquire(blocking=False)
            with fails("no_reply", after=0.3, kind=redlatch.UnreachableError):
                lock.acquire(timeout=0.3)
            with fails("no_reply", after=0.3, kind=redlatch.UnreachableError):
                lock.state()
        finally:
            server.sigcont()
        wait_until(lambda: not server.client().exists(lock_name))
        with lock:
            pass


def test_wrong_database(server: RedisServer) -> None:
    with fails("server"):
        redlatch.connect(server.url, database=999)


def test_all_is_well_with_a_scripted_server() -> None:
    """The control for the tests above. A server that knows neither CLIENT nor INFO is good enough."""
    words = {"CLIENT": ErrorReply("ERR unknown command"), "INFO": ErrorReply("NOPERM no"), "EVALSHA": None}
    with ScriptedServer(by_word=words) as scripted, redlatch.connect(scripted.url, tuning=CLOSE_SOON) as client:
        lock = client.lock("x")
        assert lock.acquire(blocking=False) and lock.owned()
