# SPDX-License-Identifier: Apache-2.0
"""Calls for the command `redlatch`: releases and extensions by owner id, commands to the server or a node, and whether
the next step of a scan needs a round trip."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, Iterator, List, Tuple

import pytest
import redlatch
from redlatch._ffi import ffi, lib, text
from support import Proxy, RedisServer, wait_until
from support.cluster import whole_cluster
from support.wire import remaining_ms

KINDS: Dict[str, Callable[[redlatch.Client, str], Any]] = {
    "mutex": lambda client, name: client.lock(name),
    "fenced": lambda client, name: client.fenced_lock(name),
    "fair": lambda client, name: client.fair_lock(name),
    "spin": lambda client, name: client.spin_lock(name),
    "read": lambda client, name: client.read_write_lock(name).read,
    "write": lambda client, name: client.read_write_lock(name).write,
    "plain": lambda client, name: client.plain_lock(name),
}


@pytest.fixture
def clients(server: RedisServer) -> Iterator[Tuple[redlatch.Client, redlatch.Client]]:
    """The owner's client and another one. To the library they are two processes."""
    with redlatch.connect(server.url) as one, redlatch.connect(server.url) as other:
        yield one, other


def release(lock: Any, owner: bytes) -> Tuple[int, int]:
    """Returns the status and whether there was such a hold."""
    done = ffi.new("int32_t *", -7)
    return lib.redlatch_lock_release_owner(lock._handle, owner, done), done[0]


def extend(lock: Any, owner: bytes, lease_ms: int) -> Tuple[int, int]:
    """Extends; returns the same."""
    done = ffi.new("int32_t *", -7)
    return lib.redlatch_lock_extend_owner(lock._handle, owner, lease_ms, done), done[0]


def command(client: redlatch.Client, *words: str, capacity: int = 1000) -> Tuple[int, bytes, int]:
    """Returns a command's status, as much of its reply as there is room for, and the size of the whole reply."""
    kept = [ffi.new("char[]", word.encode()) for word in words]
    buffer, size = ffi.new("char[]", b"-" * capacity), ffi.new("size_t *", 77)
    arguments = ffi.new("char *[]", kept)
    status = lib.redlatch_client_command(client._handle, ffi.NULL, arguments, len(kept), buffer, capacity, size)
    return status, ffi.string(buffer), size[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tagged", [False, True])
def test_each_kind(
    server: RedisServer, clients: Tuple[redlatch.Client, redlatch.Client], lock_name: str, kind: str, tagged: bool
) -> None:
    name = f"{{{lock_name}}}:x" if tagged else lock_name
    mine, theirs = (KINDS[kind](client, name) for client in clients)
    assert mine.acquire()
    owner = mine.held().owner.encode()
    before = server.admin.dump(name)
    for nobody in (b"x", owner + b"1", clients[1].uuid.encode() + b":1"):
        assert release(theirs, nobody) == (0, 0) and extend(theirs, nobody, 5000) == (0, 0)
    assert server.admin.dump(name) == before
    assert extend(theirs, owner, 90_000) == (0, 1) and 80_000 < remaining_ms(server, name) <= 90_000
    assert extend(theirs, owner, 5_000) == (0, 1) and remaining_ms(server, name) <= 5_000
    assert release(theirs, owner) == (0, 1) and server.admin.exists(name) == 0
    assert release(theirs, owner) == (0, 0) and extend(theirs, owner, 5000) == (0, 0)
    with pytest.raises(redlatch.LockLostError):
        mine.release()


def test_bad_input(clients: Tuple[redlatch.Client, redlatch.Client], lock_name: str) -> None:
    lock = clients[0].lock(lock_name)
    invalid = lib.REDLATCH_INVALID
    assert release(lock, b"") == (invalid, -7) and "owner is empty" in text(lib.redlatch_last_error())
    assert lib.redlatch_lock_release_owner(lock._handle, ffi.NULL, ffi.NULL) == invalid
    assert "owner is NULL: expected an owner id" in text(lib.redlatch_last_error())
    for lease_ms in (0, -1, 1 << 60):
        assert extend(lock, b"x", lease_ms) == (invalid, -7)
        assert f"lease_ms is {lease_ms}" in text(lib.redlatch_last_error())
    assert lib.redlatch_lock_release_owner(ffi.NULL, b"x", ffi.NULL) == lib.REDLATCH_BAD_HANDLE
    several = [clients[0].group_lock(lock_name, ["a"]), redlatch.multi_lock(lock, clients[0].lock(lock_name + "2"))]
    for unfit in several:
        assert release(unfit, b"x") == (lib.REDLATCH_UNSUPPORTED, -7)
        assert "expected a lock of one name" in text(lib.redlatch_last_error())
    assert lib.redlatch_lock_release_owner(lock._handle, b"x", ffi.NULL) == 0, "the result may be left out"


def test_keys_that_are_no_locks(
    server: RedisServer, clients: Tuple[redlatch.Client, redlatch.Client], lock_name: str
) -> None:
    server.admin.rpush(lock_name, "x")
    lock = clients[0].lock(lock_name)
    assert release(lock, b"x") == (lib.REDLATCH_WRONG_TYPE, -7)
    assert f'release "{lock_name}"' in text(lib.redlatch_last_error())
    assert extend(lock, b"x", 5000) == (lib.REDLATCH_WRONG_TYPE, -7)
    assert f'extend "{lock_name}"' in text(lib.redlatch_last_error())
    assert server.admin.lrange(lock_name, 0, -1) == [b"x"]


def test_a_reply_that_is_lost(server: RedisServer, lock_name: str) -> None:
    """The repeated release finds no hold, and cannot know whether its first copy or a loss ended it, so it returns
    NO_REPLY. An extension can be repeated without doubt."""
    with redlatch.connect(server.url) as holder, Proxy(server.address) as proxy, redlatch.connect(proxy.url) as client:
        lock = holder.lock(lock_name)
        lock.acquire()
        owner = lock.held().owner.encode()
        cut = proxy.cut_after(b"pexpire")
        assert extend(client.lock(lock_name), owner, 60_000) == (0, 1) and cut.hit
        cut = proxy.cut_after(b"hdel")
        assert release(client.lock(lock_name), owner) == (lib.REDLATCH_NO_REPLY, -7) and cut.hit
        assert "the connection broke before the reply" in text(lib.redlatch_last_error())
        assert server.admin.exists(lock_name) == 0


# ------------------------------------------------------------------------------------------ commands of the server --


def test_replies_of_every_form(server: RedisServer, clients: Tuple[redlatch.Client, redlatch.Client]) -> None:
    client = clients[0]
    server.admin.set("number", "12")
    assert command(client, "PING") == (0, b"PONG", 4)
    assert command(client, "INCR", "number") == (0, b"13", 2)
    assert command(client, "GET", "nothing") == (0, b"", 0)
    assert command(client, "MGET", "number", "nothing") == (0, b"13\n\n", 4)
    assert command(client, "ECHO", "x" * 50, capacity=11) == (0, b"x" * 10, 50)
    assert command(client, "ECHO", "x", capacity=1) == (0, b"", 1)
    assert command(client, "EVAL", "return {1, 'two', -3}", "0") == (0, b"1\ntwo\n-3\n", 9)
    nested = "return {1, {'two', {}, {3, {4}}}, {redis.error_reply('ERR five')}, 6}"
    assert command(client, "EVAL", nested, "0") == (0, b"1\ntwo\n3\n4\nERR five\n6\n", 21)
    many = "local reply = {{}} for i = 1, 2000 do reply[1][i] = i end return reply"
    assert command(client, "EVAL", many, "0")[:2] == (0, b"".join(b"%d\n" % number for number in range(1, 101)))
    assert command(client, "PING") == (0, b"PONG", 4) and client.stats()["reconnects"] == 0


def test_errors_leave_the_buffer(server: RedisServer, clients: Tuple[redlatch.Client, redlatch.Client]) -> None:
    client = clients[0]
    status, left, size = command(client, "GET")
    assert (status, left, size) == (lib.REDLATCH_SERVER, b"-" * 1000, 77)
    assert 'command "GET": the server returned an error (ERR wrong number' in text(lib.redlatch_last_error())
    assert command(client, "NOSUCH")[0] == lib.REDLATCH_NO_PERMISSION, "as one that a service has disabled"
    words = ffi.new("char *[]", [ffi.new("char[]", b"PING")] * 17)
    buffer = ffi.new("char[10]")
    for count in (0, 17):
        arguments = (ffi.NULL, words, count, buffer, 10, ffi.NULL)
        assert lib.redlatch_client_command(client._handle, *arguments) == lib.REDLATCH_INVALID
        assert f"count is {count}: expected 1 to 16 arguments" in text(lib.redlatch_last_error())
    for wrong in ((ffi.NULL, 1, buffer, 10), (words, 1, ffi.NULL, 10), (words, 1, buffer, 0)):
        assert lib.redlatch_client_command(client._handle, ffi.NULL, *wrong, ffi.NULL) == lib.REDLATCH_INVALID
    with_null = ffi.new("char *[]", [words[0], ffi.NULL])
    arguments = (ffi.NULL, with_null, 2, buffer, 10, ffi.NULL)
    assert lib.redlatch_client_command(client._handle, *arguments) == lib.REDLATCH_INVALID
    assert "arguments[1] is NULL" in text(lib.redlatch_last_error())


def test_a_reply_that_is_too_long(server: RedisServer, lock_name: str) -> None:
    """The call fails with the first connection. Other threads' commands are not held up by further attempts."""
    words = "local reply = {} for i = 1, 20 do reply[i] = string.rep('x', 1000000) end return reply"
    with redlatch.connect(server.url) as client, ThreadPoolExecutor(1) as pool:
        lock = client.lock(lock_name)
        too_long = pool.submit(command, client, "EVAL", words, "0")
        while not too_long.done():
            assert lock.acquire(timeout=0)
            lock.release()
        assert too_long.result() == (lib.REDLATCH_PROTOCOL, b"-" * 1000, 77)
        assert client.stats()["reconnects"] <= 1


def nodes(client: redlatch.Client, capacity: int = 1000) -> Tuple[int, str, int]:
    """Returns the status, as much of the addresses as there is room for, and the size of all."""
    buffer, size = ffi.new("char[]", capacity), ffi.new("size_t *", 77)
    status = lib.redlatch_client_nodes(client._handle, buffer, capacity, size)
    return status, text(buffer), size[0]


def test_the_nodes_of_a_client(server: RedisServer) -> None:
    """A single server is known before anything is sent. Commands go to it, whichever node they name."""
    with redlatch.connect(server.url, lazy=True) as client:
        assert nodes(client) == (0, f"127.0.0.1:{server.port}\n", len(f"127.0.0.1:{server.port}\n"))
        assert nodes(client, 5)[:2] == (0, "127.") and client.stats()["round_trips"] == 0
        assert lib.redlatch_client_nodes(client._handle, ffi.NULL, 5, ffi.NULL) == lib.REDLATCH_INVALID
        ping, pong = ffi.new("char[]", b"PING"), ffi.new("char[10]")
        words = ffi.new("char *[]", [ping])
        assert lib.redlatch_client_command(client._handle, b"elsewhere", words, 1, pong, 10, ffi.NULL) == 0
        assert client.inspect("nothing").node == f"127.0.0.1:{server.port}"
    with redlatch.connect(server.unix_url) as client:
        assert nodes(client)[1] == f"{server.unix_url.partition('://')[2].partition('?')[0]}\n"
        assert client.inspect("nothing").node == nodes(client)[1].strip()


def test_the_nodes_of_a_cluster() -> None:
    """The nodes are known before anything is sent. In a cluster a command has to name one of them."""
    with whole_cluster() as server, redlatch.connect(server.url, lazy=True) as client:
        assert nodes(client)[:2] == (0, f"127.0.0.1:{server.port}\n")
        ping, pong = ffi.new("char[]", b"PING"), ffi.new("char[10]")
        words = ffi.new("char *[]", [ping])
        address = f"127.0.0.1:{server.port}".encode()
        assert lib.redlatch_client_command(client._handle, address, words, 1, pong, 10, ffi.NULL) == 0
        arguments = (b"127.0.0.1:1", words, 1, pong, 10, ffi.NULL)
        assert lib.redlatch_client_command(client._handle, *arguments) == lib.REDLATCH_INVALID
        assert 'node is "127.0.0.1:1"' in text(lib.redlatch_last_error())
        assert client.inspect("nothing").node == address.decode()


def test_a_closed_client_and_a_child(server: RedisServer, lock_name: str) -> None:
    client = redlatch.connect(server.url, after_fork="refuse")
    lock = client.lock(lock_name)
    child = os.fork()
    if child == 0:
        forked = lib.REDLATCH_FORKED
        os._exit(0 if command(client, "PING")[0] == forked and release(lock, b"x")[0] == forked else 1)
    assert os.waitpid(child, 0)[1] == 0
    client.close()
    assert command(client, "PING")[0] == lib.REDLATCH_CLOSED and release(lock, b"x")[0] == lib.REDLATCH_CLOSED


# ------------------------------------------------------------------------------------------------------------- scans --


def test_a_scan_says_whether_it_goes_on_by_itself(server: RedisServer, lock_name: str) -> None:
    with redlatch.connect(server.url) as client:
        locks = [client.lock(f"{lock_name}:{number}") for number in range(3)]
        for lock in locks:
            assert lock.acquire()
        out = ffi.new("redlatch_scan **")
        assert lib.redlatch_scan_new(client._handle, b"*", 1, out) == 0
        scan, report, sent = out[0], ffi.new("redlatch_report **"), []
        assert lib.redlatch_scan_is_ready(scan) == 0, "nothing was asked for yet"
        ready: List[int] = []
        while True:
            ready.append(lib.redlatch_scan_is_ready(scan))
            before = client.stats()["round_trips"]
            assert lib.redlatch_scan_next(scan, report) == 0
            sent.append(client.stats()["round_trips"] - before)
            if report[0] == ffi.NULL:
                break
            lib.redlatch_report_free(report[0])
        assert ready == [0, 1, 1, 0] and sent[0] >= 1 and sent[1:3] == [0, 0], "the script may be new to the server"
        lib.redlatch_scan_free(scan)
        assert lib.redlatch_scan_is_ready(ffi.NULL) == 0
        wait_until(lambda: server.admin.dbsize() == 3)
