# SPDX-License-Identifier: Apache-2.0
"""Error texts say what a key holds instead of a lock of that kind, and who holds a lock whose wait timed out, in the
words and units of each language."""

from __future__ import annotations

import os
import subprocess
from contextlib import ExitStack
from typing import Any, Callable, Dict, List, Tuple

import pytest
import redlatch
from hosts import Host
from redlatch._ffi import FOREVER, RENEWED, ffi, lib, new_record, text
from support import Proxy, RedisServer
from support.shell import program

WORD = b"0123456789abcdef0123456789abcdef"  # like the token of a redis-py lock


def words_of(call: Callable[[], Any], error: Any = redlatch.ServerError) -> str:
    """Returns the message of the exception that a call raises."""
    with pytest.raises(error) as raised:
        call()
    return str(raised.value)


def run_command(server: RedisServer, *arguments: str) -> Tuple[int, str]:
    """Returns the exit status and the standard error of the command."""
    done = subprocess.run([program(), "run", "-u", server.url, *arguments, "--", "true"], capture_output=True,
                          text=True, timeout=60, check=False)
    return done.returncode, done.stderr


def open_for(server: RedisServer, language: int) -> Any:
    """Opens a client whose error texts are for a language."""
    options = new_record("redlatch_client_options")
    assert lib.redlatch_client_options_init(options, ffi.sizeof("redlatch_client_options")) == 0
    options.language = language
    out = ffi.new("redlatch_client **")
    assert lib.redlatch_client_open(server.url.encode(), options, out) == 0
    return ffi.gc(out[0], lib.redlatch_client_free)


THERE: Dict[str, Tuple[Callable[[redlatch.Client, RedisServer, str], Any], str, List[str]]] = {
    "plain": (lambda client, server, name: server.admin.set(name, WORD, px=60_000), "a plain lock",
              ["REDLATCH_PLAIN", "plain_lock", "plain_lock", "--kind plain"]),
    "group": (lambda client, server, name: client.group_lock(name, ["a"]).acquire(), "a group lock",
              ["redlatch_group_lock_new", "group_lock", "group_lock", ""]),
    "number": (lambda client, server, name: server.admin.set(name, 3), "a number, as of a semaphore or a latch",
               ["redlatch_semaphore_new or redlatch_latch_new", "semaphore or latch", "semaphore or latch",
                "--kind semaphore"]),
}


@pytest.mark.parametrize("there", THERE)
@pytest.mark.parametrize("language", range(4))
def test_each_language_names_what_fits(
    client: redlatch.Client, server: RedisServer, lock_name: str, there: str, language: int
) -> None:
    put, what, use = THERE[there]
    put(client, server, lock_name)
    handle, name, out = open_for(server, language), lock_name.encode(), ffi.new("redlatch_lock **")
    assert lib.redlatch_lock_new(handle, lib.REDLATCH_MUTEX, name, len(name), ffi.NULL, out) == 0
    lock = ffi.gc(out[0], lib.redlatch_lock_free)
    for _ in range(20):  # on a busy machine the explanation may come too late for an error text
        assert lib.redlatch_lock_try_acquire(lock) == lib.REDLATCH_WRONG_TYPE
        words = text(lib.redlatch_last_error())
        if "this is" in words:
            break
    assert words.endswith(f": this is {what}, not a mutex" + (f"; use {use[language]}" if use[language] else ""))


def test_python_and_the_command(client: redlatch.Client, server: RedisServer, lock_name: str) -> None:
    server.admin.set(lock_name, WORD, px=60_000)
    assert words_of(lambda: client.lock(lock_name).acquire(False)).endswith("; use plain_lock")
    assert words_of(client.semaphore(lock_name).available).endswith("not a semaphore; use plain_lock")
    assert words_of(lambda: client.latch(lock_name).wait(timeout=0)).endswith("not a latch; use plain_lock")
    status, complaint = run_command(server, lock_name)
    assert status == 65 and "this is a plain lock, not a mutex; use --kind plain" in complaint
    assert server.admin.get(lock_name) == WORD


def test_of_several_names_the_one_that_is_wrong(servers: List[RedisServer]) -> None:
    names = [f"several:{i}" for i in range(9)]
    with ExitStack() as stack:
        first, second = (stack.enter_context(redlatch.connect(each.url)) for each in servers[:2])
        servers[0].admin.rpush(names[7], "x")
        several = redlatch.multi_lock(*(first.lock(name) for name in names))
        assert f'"{names[7]}": the key is a list, which is no known lock' in words_of(
            lambda: several.acquire(False))
        servers[1].admin.rpush(names[8], "x")
        both = redlatch.multi_lock(first.lock(names[0]), second.lock(names[8]))
        assert f'"{names[8]}": the key is a list' in words_of(lambda: both.acquire(False))


def test_a_key_beside_the_lock_is_not_called_another_kind(
    client: redlatch.Client, other: redlatch.Client, server: RedisServer, lock_name: str
) -> None:
    server.admin.set(f"redisson_lock_queue:{{{lock_name}}}", "x")
    with other.lock(lock_name):
        words = words_of(lambda: client.fair_lock(lock_name).acquire(timeout=1))
    assert "; use" not in words and "not a fair lock" not in words


def timed_out(lock: Any) -> str:
    """Returns the error text of entering a lock that another owner holds."""

    def enter() -> None:
        with lock:
            pass

    return words_of(enter, redlatch.LockTimeoutError)


def until_named(server: RedisServer, lock_of: Callable[[redlatch.Client], Any]) -> str:
    """Returns such an error text that names the holder's process. On a busy machine the explanation may come too late
    for one. Each attempt has a new client, because a client asks for holders' locations every 30 s at most."""
    for _ in range(20):
        with redlatch.connect(server.url) as fresh:
            words = timed_out(lock_of(fresh))
        if "process" in words:
            return words
    raise AssertionError(words)


def test_a_time_out_names_the_holder(
    client: redlatch.Client, other: redlatch.Client, server: RedisServer, lock_name: str
) -> None:
    with other.lock(lock_name) as held:
        words = until_named(server, lambda fresh: fresh.lock(lock_name, timeout=0.5))
        assert f"during the wait of 0.5 s, now by {held.owner} (process {os.getpid()} on " in words
        assert timed_out(client.lock(lock_name, timeout=0)).endswith(": held by another owner"), "a try asks nothing"
        scripts = client.stats()["scripts"]
        assert not client.lock(lock_name).acquire(timeout=0)
        assert client.stats()["scripts"] == scripts + 1

        def several(fresh: redlatch.Client) -> Any:
            return redlatch.multi_lock(fresh.lock(f"{lock_name}:2"), fresh.lock(lock_name), timeout=0.5)

        assert f'"{lock_name}": held' in until_named(server, several)
        status, complaint = run_command(server, "-w", "0.5", "--verbose", lock_name)
        assert status == 1 and f"is held by {held.owner}" in complaint


def test_a_short_wait_for_a_server_that_does_not_answer_blames_nobody(
    client: redlatch.Client, server: RedisServer, lock_name: str
) -> None:
    client.lock(lock_name).acquire()
    client.lock(lock_name).release()
    server.sigstop()
    try:
        words = timed_out(client.lock(lock_name, timeout=0.05))
    finally:
        server.sigcont()
    assert words.endswith(": no reply from the server during the wait of 0.05 s")


def test_in_c_in_milliseconds(other: redlatch.Client, server: RedisServer, lock_name: str) -> None:
    handle, name, out = open_for(server, lib.REDLATCH_LANGUAGE_C), lock_name.encode(), ffi.new("redlatch_lock **")
    assert lib.redlatch_lock_new(handle, lib.REDLATCH_MUTEX, name, len(name), ffi.NULL, out) == 0
    lock = ffi.gc(out[0], lib.redlatch_lock_free)
    with other.lock(lock_name):
        assert lib.redlatch_lock_acquire(lock, 60) == lib.REDLATCH_TIMEOUT
    assert "during the wait of 60 ms" in text(lib.redlatch_last_error())


def test_events_name_the_holder_too(other: redlatch.Client, server: RedisServer, lock_name: str) -> None:
    number = ffi.new("uint64_t *")
    assert lib.redlatch_owner_new(number) == 0
    with ExitStack() as stack:
        with other.lock(lock_name) as held:
            for tag in range(20):
                client = stack.enter_context(redlatch.connect(server.url))
                host, lock = Host(client), client.lock(lock_name)
                assert lib.redlatch_lock_start_acquire(lock._handle, number[0], RENEWED, 500, tag) == 0
                event = host.event()
                assert (event.tag, event.status) == (tag, lib.REDLATCH_TIMEOUT)
                assert "during the wait of 0.5 s" in text(event.message)
                if f"now by {held.owner} (process {os.getpid()} on " in text(event.message):
                    break
            else:
                raise AssertionError(text(event.message))
            assert lib.redlatch_lock_start_acquire(lock._handle, number[0], RENEWED, FOREVER, 99) == 0
        assert host.event().status == 0  # explanations leave nothing behind
        assert lib.redlatch_lock_release_as(lock._handle, number[0]) == 0


def test_events_of_locks_on_several_servers_name_the_holder_too(servers: List[RedisServer], lock_name: str) -> None:
    name = lock_name[-12:]  # error texts cut long names
    number = ffi.new("uint64_t *")
    assert lib.redlatch_owner_new(number) == 0
    with ExitStack() as stack:
        held = stack.enter_context(stack.enter_context(redlatch.connect(servers[1].url)).lock(name))
        for tag in range(20):
            first, second = (stack.enter_context(redlatch.connect(server.url)) for server in servers[:2])
            host, lock = Host(first), redlatch.multi_lock(first.lock(f"{name}:2"), second.lock(name))
            assert lib.redlatch_lock_start_acquire(lock._handle, number[0], RENEWED, 500, tag) == 0
            event = host.event()
            assert (event.tag, event.status) == (tag, lib.REDLATCH_TIMEOUT)
            words = text(event.message)
            assert words.startswith(f'acquire "{name}": held by another owner during the wait of 0.5 s')
            assert words.endswith(f", on 127.0.0.1:{servers[1].port}")
            if f"now by {held.owner} (process {os.getpid()} on " in words:
                break
        else:
            raise AssertionError(words)


def test_events_of_locks_on_several_servers_name_the_kind_too(servers: List[RedisServer], lock_name: str) -> None:
    name = lock_name[-12:]  # error texts cut long names
    number = ffi.new("uint64_t *")
    assert lib.redlatch_owner_new(number) == 0
    servers[1].admin.rpush(name, "x")
    with redlatch.connect(servers[0].url) as first, redlatch.connect(servers[1].url) as second:
        host, lock = Host(first), redlatch.multi_lock(first.lock(name), second.lock(name))
        for tag in range(20):
            assert lib.redlatch_lock_start_acquire(lock._handle, number[0], RENEWED, 500, tag) == 0
            event = host.event()
            assert (event.tag, event.status) == (tag, lib.REDLATCH_WRONG_TYPE)
            words = text(event.message)
            if f'"{name}": the key is a list' in words:
                break
        else:
            raise AssertionError(words)


def test_a_client_list_that_is_too_long_costs_the_process_alone(
    other: redlatch.Client, server: RedisServer, lock_name: str
) -> None:
    name = lock_name[-12:]
    with other.lock(name) as held, Proxy(server.address) as proxy, redlatch.connect(proxy.url) as client:
        proxy.answer(b"id=7 addr=127.0.0.1:7 name=x\n" * 1_000_000, "CLIENT LIST", times=None)
        for _ in range(20):  # on a busy machine the first explanation may come too late for an error text
            words = timed_out(client.lock(name, timeout=1))
            if f"now by {held.owner}" in words:
                break
        assert words.endswith(f"now by {held.owner}")
        report = client.inspect(name)
        assert report.parties[0].owner == held.owner and report.parties[0].pid is None
        assert client.stats()["reconnects"] == 0


def test_readers_are_counted(
    client: redlatch.Client, other: redlatch.Client, server: RedisServer, lock_name: str
) -> None:
    with other.read_write_lock(lock_name).read, client.read_write_lock(lock_name).read:
        words = until_named(server, lambda fresh: fresh.read_write_lock(lock_name, timeout=0.5).write)
        assert words.endswith(" and 1 more")


def test_a_server_that_is_frozen_delays_nobody_by_much(
    fresh_server: RedisServer, lock_name: str
) -> None:
    """The wait ends in time, and the error text lacks the holder."""
    with redlatch.connect(fresh_server.url) as first, redlatch.connect(fresh_server.url) as second:
        first.lock(lock_name).acquire()
        lock = second.lock(lock_name, timeout=1)
        timed_out(lock)
        fresh_server.sigstop()
        try:
            words = words_of(lock.__enter__, redlatch.RedlatchError)
        finally:
            fresh_server.sigcont()
        assert "process" not in words
