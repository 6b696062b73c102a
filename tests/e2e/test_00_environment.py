# SPDX-License-Identifier: Apache-2.0
"""Tests of the test environment: the server, the monitor, the Redisson-shaped peer, broken servers, the leak check."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable, List

import pytest
import redis
import support.server
from support import (
    Command,
    ErrorReply,
    GarbageServer,
    HttpServer,
    Monitor,
    NotHeld,
    RawClient,
    RedisServer,
    RedissonShapedPeer,
    ScriptedServer,
    SilentServer,
    SynBlackHole,
    closed_port,
    free_port,
    wait_until,
)
from support.ports import listening_socket

HERE = Path(__file__).parent
MakeServer = Callable[..., RedisServer]
MakePeer = Callable[..., RedissonShapedPeer]


# ----------------------------------------------------------------------------------------------------------- server --


def test_a_server_takes_options_and_says_where_it_is(make_server: MakeServer) -> None:
    server = make_server(
        requirepass="pass/word", maxclients=50, client_output_buffer_limit=("pubsub", "1mb", "1mb", "0")
    )
    for url in (server.url, server.unix_url):
        with redis.Redis.from_url(url, protocol=2) as client:
            assert client.ping()
    settings: Any = server.client().config_get("*")
    assert (settings["maxclients"], settings["appendonly"]) == ("50", "no")
    assert "pubsub 1048576 1048576 0" in settings["client-output-buffer-limit"]
    with RawClient(server.address) as stranger:
        assert stranger.call("PING").word == "NOAUTH"
    server.client().set("x", "1")
    assert server.client().debug_object("x"), "DEBUG is allowed"


@pytest.mark.parametrize("keep_data", [True, False])
def test_restart_keeps_the_port_and_the_data_on_request(fresh_server: RedisServer, keep_data: bool) -> None:
    client, port, pid = fresh_server.client(), fresh_server.port, fresh_server.pid
    client.set("n", "1")
    fresh_server.restart(keep_data=keep_data)
    assert fresh_server.port == port and fresh_server.pid != pid
    assert client.get("n") == (b"1" if keep_data else None)


def test_a_killed_server_has_what_its_append_only_file_holds(make_server: MakeServer) -> None:
    server = make_server(appendonly=True)
    client = server.client()
    client.set("n", "1")
    server.restart(keep_data=True, kill=True)
    assert client.get("n") == b"1"
    server.kill()
    assert not server.running
    with pytest.raises(redis.ConnectionError):
        client.ping()
    server.start()
    assert client.get("n") == b"1"


def test_a_stopped_process_accepts_and_answers_late(server: RedisServer) -> None:
    server.sigstop()
    with RawClient(server.address) as raw:
        raw.send("PING")
        with pytest.raises(TimeoutError):
            raw.read(0.1)
        server.sigcont()
        assert raw.read() == "PONG"


def test_a_taken_port_is_given_up(make_server: MakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = free_port()
    ports = iter([taken, free_port()])
    monkeypatch.setattr(support.server, "free_port", lambda: next(ports))
    with listening_socket(taken):
        server = make_server()
        assert server.port != taken and server.client().ping()


def test_a_server_that_cannot_start_says_why(make_server: MakeServer) -> None:
    before = list(RedisServer.live)
    with pytest.raises(RuntimeError, match="(?s)did not start.*no-such-option"):
        make_server(no_such_option="1")
    assert RedisServer.live == before


def test_a_server_does_not_outlive_its_process() -> None:
    program = """if True:
        import time
        from support import RedisServer
        server = RedisServer()
        print(server.pid, server.directory, flush=True)
        time.sleep(60)
    """
    with subprocess.Popen([sys.executable, "-c", program], cwd=HERE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid, directory = parent.stdout.readline().split()
        assert _runs(pid)
        parent.kill()
    wait_until(lambda: not _runs(pid), message="the kernel to kill the orphaned server")
    shutil.rmtree(directory)


def _runs(pid: str) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_clients_and_calls_are_counted(server: RedisServer) -> None:
    named = server.client(client_name="redlatch:host:1:uuid")
    other = server.client(client_name="other")
    named.ping()
    other.ping()
    assert [entry["name"] for entry in server.client_list("redlatch:")] == ["redlatch:host:1:uuid"]
    assert {entry["name"] for entry in server.client_list()} == {"redlatch:host:1:uuid", "other"}
    server.reset_commandstats()
    named.ping()
    assert server.commandstats()["ping"] == 1


def test_waiting_in_vain_says_for_what() -> None:
    started = time.monotonic()
    with pytest.raises(AssertionError, match=r"waited \d\.\d{3} s in vain for: the sky to fall \(last value: 0\)"):
        wait_until(lambda: 0, 0.03, "the sky to fall")
    assert 0.03 <= time.monotonic() - started < 4.0, "not as long as it waits unless told otherwise"
    answers = iter([0, None, "yes"])
    assert wait_until(lambda: next(answers)) == "yes"


# ---------------------------------------------------------------------------------------------------------- monitor --


def test_the_monitor_tells_script_calls_from_calls_in_scripts(server: RedisServer, monitor: Monitor) -> None:
    with RawClient(server.address) as first, RawClient(server.address) as second:
        mark = monitor.mark()
        first.call("EVAL", "redis.call('set', KEYS[1], ARGV[1]) return redis.call('get', KEYS[1])", 1, "k", "v")
        second.call("PING")
        seen = monitor.since(mark)
        assert seen.commands() == ["EVAL", "SET", "GET", "PING"]
        assert [entry.lua for entry in seen] == [False, True, True, False]
        assert seen[1].caller is seen[0] and seen[0].caller is None
        assert seen.top_level().commands() == monitor.top_level(mark).commands() == ["EVAL", "PING"]
        assert seen.by_client(first.port).commands() == ["EVAL", "SET", "GET"]
        assert seen.by_client(f"127.0.0.1:{second.port}").commands() == ["PING"]
        assert seen.by_command("set", "GET").commands() == ["SET", "GET"]
        assert abs(seen[0].time_us / 1e6 - time.time()) < 60 and seen[0].time_us <= seen[3].time_us


def test_the_monitor_decodes_every_byte(server: RedisServer, monitor: Monitor) -> None:
    value = bytes(range(256)) + b'\\x41 "quoted" \\" [0 lua] \r\n'
    with RawClient(server.address) as raw:
        raw.call("SET", b'\xff\n"', value)
        assert monitor.since()[-1].arguments == [b"SET", b'\xff\n"', value]


def test_sync_sees_commands_whose_reply_nobody_read(server: RedisServer, monitor: Monitor) -> None:
    with RawClient(server.address) as raw:
        assert raw.call("PING") == "PONG"
        for number in range(50):
            mark = monitor.mark()
            raw.send("SET", "n", number)
            assert monitor.since(mark).commands() == ["SET"]


def test_a_monitor_with_a_password_waits_and_ends_with_its_server(make_server: MakeServer) -> None:
    server = make_server(requirepass="secret")
    with Monitor(server) as monitor:
        with RawClient(server.address) as raw:
            raw.call("AUTH", "secret")
            raw.call("INCR", "n")
        assert monitor.wait_for(lambda entry: entry.command == "INCR").arguments == [b"INCR", b"n"]
        with pytest.raises(AssertionError, match=r"a certain command; last commands seen: .*b'INCR'"):
            monitor.wait_for(lambda entry: entry.command == "DECR", timeout=0.05)
        server.kill()
        with pytest.raises(AssertionError, match="ended"):
            monitor.wait_for(lambda entry: entry.command == "DECR")


# ------------------------------------------------------------------------------------------------------------- peer --


def test_peers_hold_wait_and_wake_as_redisson_does(monitor: Monitor, make_peer: MakePeer, lock_name: str) -> None:
    holder, waiter = make_peer(), make_peer()
    for script_loader in (holder, waiter):
        script_loader.lock("other")
        script_loader.unlock("other")
    name, channel = lock_name, f"redisson_lock__channel:{{{lock_name}}}"
    mark = monitor.mark()
    holder.lock(name)
    waiting = waiter.start_lock(name, thread=7)
    subscribed = monitor.wait_for(lambda entry: entry.command == "SUBSCRIBE", mark)
    monitor.wait_for(lambda entry: entry.command == "EVALSHA" and entry.time_us > subscribed.time_us, mark)
    assert holder.unlock(name)
    waiting.result(5)
    monitor.wait_for(lambda entry: entry.command == "UNSUBSCRIBE", mark)
    assert waiter.messages == [(channel.encode(), b"0")]
    assert (waiter.is_locked(name), waiter.hold_count(name, thread=7), waiter.hold_count(name)) == (True, 1, 0)

    wire = [
        _line(entry.arguments) for entry in monitor.top_level(mark) if entry.command not in ("CLIENT", "HGET", "EXISTS")
    ]
    acquire, release = wire[0].split()[1], next(line for line in wire if " 3 " in line).split()[1]
    latch = f"redisson_unlock_latch:{{{name}}}:"
    patterns = [
        f"EVALSHA {acquire} 1 {name} 30000 {holder.owner(1)}",
        f"EVALSHA {acquire} 1 {name} 30000 {waiter.owner(7)}",
        f"SUBSCRIBE {channel}",
        f"EVALSHA {acquire} 1 {name} 30000 {waiter.owner(7)}",
        f"EVALSHA {release} 3 {name} {channel} {latch}<id> 0 30000 {holder.owner(1)} PUBLISH <px>",
        f"EVALSHA {acquire} 1 {name} 30000 {waiter.owner(7)}",
        f"UNSUBSCRIBE {channel}",
    ]
    assert f"DEL {latch}<id>" in wire
    assert [line for line in wire if not line.startswith("DEL")] == patterns
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}:7", waiter.owner(7))


def _line(arguments: List[bytes]) -> str:
    text = b" ".join(arguments).decode()
    return re.sub(r"PUBLISH (1[6-9]\d{3}|20000)$", "PUBLISH <px>", re.sub(r":[0-9a-f]{32}\b", ":<id>", text))


def test_a_peer_reenters_and_only_its_owner_unlocks(
    server: RedisServer, peer: RedissonShapedPeer, lock_name: str
) -> None:
    peer.lock(lock_name, 5_000)
    assert peer.try_lock(lock_name, lease_ms=9_000) and 8_000 < peer.remaining_ms(lock_name) <= 9_000
    assert not peer.try_lock(lock_name, thread=2)
    with pytest.raises(NotHeld):
        peer.unlock(lock_name, thread=2)
    assert server.client().hgetall(lock_name) == {peer.owner().encode(): b"2"}
    assert [peer.unlock(lock_name), peer.unlock(lock_name)] == [False, True]
    assert server.client().keys() == [], "no latch and no lock is left"


def test_a_peer_waits_for_the_lease_or_for_its_own_time(
    peer: RedissonShapedPeer, make_peer: MakePeer, lock_name: str
) -> None:
    other = make_peer()
    assert not other.is_locked(lock_name), "it is connected"
    started = time.monotonic()
    peer.lock(lock_name, 1_000)
    assert not other.try_lock(lock_name, wait_ms=100)
    assert 0.1 <= time.monotonic() - started < 1.0
    assert other.try_lock(lock_name, wait_ms=5_000)
    assert 1.0 <= time.monotonic() - started < 5.0


def test_force_unlock_wakes(monitor: Monitor, peer: RedissonShapedPeer, make_peer: MakePeer, lock_name: str) -> None:
    peer.lock(lock_name)
    waiter = make_peer()
    waiting = waiter.start_lock(lock_name)
    monitor.wait_for(lambda entry: entry.command == "SUBSCRIBE")
    assert make_peer().force_unlock(lock_name)
    waiting.result(5)
    with pytest.raises(NotHeld):
        peer.unlock(lock_name)
    assert waiter.unlock(lock_name) and not waiter.force_unlock(lock_name)


def test_the_peers_watchdog_renews_what_has_no_lease(make_peer: MakePeer, lock_name: str) -> None:
    peer = make_peer(watchdog_ms=1_200)
    peer.lock(lock_name)
    peer.lock(f"{lock_name}:other")
    peer.lock(f"{lock_name}:leased", 500)
    peer.start_watchdog()
    wait_until(lambda: len(peer.renewals) >= 2, message="two renewals")
    assert peer.remaining_ms(lock_name) > 400 and not peer.is_locked(f"{lock_name}:leased")
    peer.force_unlock(lock_name)
    renewals = len(peer.renewals)
    wait_until(lambda: len(peer.renewals) >= renewals + 2, message="two renewals of the other")
    assert list(peer.renewals)[:2] == [[1, 1]] * 2 and peer.renewals[-1] == [1]


# --------------------------------------------------------------------------------------------------- broken servers --


def test_http_garbage_and_silence() -> None:
    with HttpServer() as http, RawClient(("127.0.0.1", http.port)) as raw:
        with pytest.raises(ValueError, match="no reply begins with b'H'"):
            raw.call("PING")
    with GarbageServer() as garbage, RawClient(("127.0.0.1", garbage.port)) as raw:
        with pytest.raises(ValueError, match="no reply begins with"):
            raw.call("PING")
    with SilentServer() as silent, RawClient(("127.0.0.1", silent.port)) as raw:
        with pytest.raises(TimeoutError):
            raw.call_within(0.05, "PING")
        wait_until(lambda: silent.accepted == 1)


def test_scripted_replies_are_what_redis_py_takes_them_for() -> None:
    loading = ErrorReply("LOADING Redis is loading the dataset in memory")
    with ScriptedServer([loading, "PONG"], by_word={"client": "OK", "get": None}) as scripted:
        client = redis.Redis.from_url(scripted.url, protocol=2, retry=None)
        with pytest.raises(redis.BusyLoadingError):
            client.ping()
        assert client.ping() and client.ping() and client.get("x") is None
        assert [command.word for command in scripted.commands if command.word != "CLIENT"] == ["PING"] * 3 + ["GET"]
        client.close()

    def size(command: Command) -> int:
        return len(command.arguments)

    with ScriptedServer(size) as scripted, RawClient(("127.0.0.1", scripted.port)) as raw:
        assert [raw.call("A"), raw.call("A", "B")] == [1, 2]
    with ScriptedServer.full() as full, RawClient(("127.0.0.1", full.port)) as raw:
        assert raw.read() == "ERR max number of clients reached"
        with pytest.raises((EOFError, ConnectionResetError)):
            raw.read()


def test_ports_that_refuse_and_ports_that_do_not_answer() -> None:
    with closed_port() as port, pytest.raises(ConnectionRefusedError):
        RawClient(("127.0.0.1", port))
    with SynBlackHole() as hole, socket.socket() as connection:
        connection.settimeout(0.2)
        with pytest.raises(socket.timeout):
            connection.connect(("127.0.0.1", hole.port))


def test_a_port_is_that_of_one_process_also_while_its_server_is_down() -> None:
    nobodys = 1_000 + os.getpid() % 9_000  # below the servers' ports; differs between concurrent runs of this test
    ask = f"from support.ports import claim; print(claim({free_port()}), claim({nobodys}))"
    here = Path(__file__).parent
    done = subprocess.run([sys.executable, "-c", ask], cwd=here, stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


# ------------------------------------------------------------------------------------------------------- leak check --

@pytest.mark.parametrize("text", ["x" * 200_000, b"x" * 200_000])
def test_a_test_of_a_long_argument_can_start_programs(text: object) -> None:
    """pytest puts the name of the running test into the environment of the programs that the test starts."""
    assert subprocess.run(["true"], check=False).returncode == 0


LEAKS = """
import socket, threading, pytest
kept = []

def test_descriptor():
    kept.append(socket.socket())

def test_thread():
    end = threading.Event()
    kept.append(end)
    threading.Thread(target=end.wait, args=(5,), daemon=True).start()

def test_connection(module_server):
    client = module_server.client(client_name="redlatch:host:1:x", socket_timeout=None)
    client.ping()

def test_key(server):
    server.client().hset("lock", "owner:1", "1")

@pytest.mark.leaves_keys_without_ttl
def test_key_on_purpose(server):
    server.client().hset("lock", "owner:1", "1")

def test_clean(server, proxy, monitor, peer, lock_name):
    peer.lock(lock_name)
    server.client().set("string", "1")
"""


def test_leaks_are_found_if_requested(tmp_path: Path) -> None:
    (tmp_path / "test_leaks.py").write_text(LEAKS, encoding="utf-8")
    options = ["-p", "conftest", "-p", "no:cacheprovider", "-p", "no:randomly", "-rA", "--leak-check"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--rootdir", str(tmp_path), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(HERE), "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    found = {name: kind for kind, name in re.findall(r"^(PASSED|ERROR) \S*::(\w+)", run.stdout, re.MULTILINE)}
    assert run.returncode == 1, run.stdout
    assert found == {
        "test_descriptor": "ERROR",
        "test_thread": "ERROR",
        "test_connection": "ERROR",
        "test_key": "ERROR",
        "test_key_on_purpose": "PASSED",
        "test_clean": "PASSED",
    }, run.stdout
