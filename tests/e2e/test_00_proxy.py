# SPDX-License-Identifier: Apache-2.0
"""Tests of the proxy: its faults do what they say, as seen by redis-py, by a raw connection, and by the server."""

from __future__ import annotations

import socket
import time
from typing import Callable, Iterator, List

import pytest
import redis
from stalls import Stalls
from support import Command, ErrorReply, Outcome, Proxy, RawClient, RedisServer, Script, containing, wait_until

SHORT = 0.15
COUNT_TEXT = "return redis.call('incr', KEYS[1])"
COUNT = Script("count", COUNT_TEXT)


@pytest.fixture
def client(server: RedisServer, proxy: Proxy) -> redis.Redis:
    """redis-py through the proxy."""
    return server.client(port=proxy.port)


@pytest.fixture
def witness(server: RedisServer) -> redis.Redis:
    """redis-py directly at the server."""
    return server.client()


@pytest.fixture
def raw(proxy: Proxy) -> Iterator[RawClient]:
    """A raw connection through the proxy."""
    with RawClient(proxy.address) as connection:
        yield connection


# --------------------------------------------------------------------------------------------------- command faults --


def test_cut_before_keeps_the_command_from_the_server(
    proxy: Proxy, client: redis.Redis, witness: redis.Redis
) -> None:
    fault = proxy.cut_before("INCRBY")
    with pytest.raises(redis.ConnectionError, match="104"):
        client.incr("n")
    assert str(fault.wait_hit().command) == "INCRBY n 1"
    assert witness.get("n") is None
    assert client.incr("n") == 1, "the fault strikes once"


def test_cut_after_lets_the_command_run(proxy: Proxy, client: redis.Redis, witness: redis.Redis) -> None:
    fault = proxy.cut_after("INCRBY")
    with pytest.raises(redis.ConnectionError, match="104"):
        client.incr("n")
    assert fault.wait_outcome().value == 1
    assert witness.get("n") == b"1"


def test_cut_inside_leaves_half_a_command(proxy: Proxy, raw: RawClient, witness: redis.Redis) -> None:
    fault = proxy.cut_inside("INCR")
    raw.send("INCR", "n")
    with pytest.raises(ConnectionResetError):
        raw.read()
    wait_until(lambda: not fault.wait_hit().connection.server_open, message="the server's end of the cut connection")
    assert witness.get("n") is None


def test_hold_delivers_on_release(proxy: Proxy, raw: RawClient, witness: redis.Redis) -> None:
    fault = proxy.hold("INCR")
    raw.send("INCR", "n")
    raw.send("PING")
    fault.wait_hit()
    with pytest.raises(TimeoutError):
        raw.read(SHORT)
    assert witness.get("n") is None and fault.outcome is None
    fault.release()
    assert [raw.read(), raw.read(), fault.wait_outcome().value] == [1, "PONG", 1]


@pytest.mark.parametrize("leave", [RawClient.close, RawClient.reset])
def test_hold_delivers_after_the_client_has_gone(
    proxy: Proxy, raw: RawClient, witness: redis.Redis, leave: Callable[[RawClient], None]
) -> None:
    fault = proxy.hold("INCR")
    assert raw.call("PING") == "PONG"  # the proxy has its connection to the server
    raw.send("INCR", "n")
    connection = fault.wait_hit().connection
    leave(raw)
    wait_until(lambda: not connection.client_open, message="the proxy to see the client go")
    assert connection.server_open and witness.get("n") is None
    fault.release()
    assert fault.wait_outcome().value == 1
    assert witness.get("n") == b"1"
    wait_until(lambda: not connection.server_open, message="the server's side to be closed after the delivery")


def test_hold_delivers_after_its_client_was_cut(proxy: Proxy, raw: RawClient) -> None:
    fault = proxy.hold("INCR")
    raw.send("INCR", "n")
    fault.wait_hit().connection.cut_client()
    with pytest.raises(ConnectionResetError):
        raw.read()
    fault.release()
    assert fault.wait_outcome().value == 1


def test_held_commands_of_a_killed_connection(proxy: Proxy, raw: RawClient, witness: redis.Redis) -> None:
    duplicate = proxy.duplicate("INCR")
    hold = proxy.hold("APPEND")
    number = raw.call("CLIENT", "ID")
    assert raw.call("INCR", "n") == 1
    raw.send("APPEND", "text", "x")
    hold.wait_hit()
    assert witness.client_kill_filter(_id=number) == 1
    with pytest.raises(EOFError):
        raw.read()
    hold.release()
    duplicate.release()
    assert hold.wait_outcome().kind == duplicate.wait_outcome().kind == "eof"
    assert witness.get("n") == b"1" and witness.get("text") is None


def test_duplicate_arrives_later_unseen(proxy: Proxy, raw: RawClient, witness: redis.Redis) -> None:
    fault = proxy.duplicate("INCR")
    assert raw.call("INCR", "n") == 1
    assert raw.call("PING") == "PONG"
    assert witness.get("n") == b"1"
    fault.release()
    assert fault.wait_outcome().value == 2
    assert raw.call("GET", "n") == b"2", "replies are still in step"


def test_duplicate_arrives_after_the_client_has_gone(proxy: Proxy, raw: RawClient, witness: redis.Redis) -> None:
    fault = proxy.duplicate("INCR")
    assert raw.call("INCR", "n") == 1
    raw.close()
    wait_until(lambda: not fault.wait_hit().connection.client_open, message="the proxy to see the client go")
    fault.release()
    assert fault.wait_outcome().value == 2
    assert witness.get("n") == b"2"


def test_scripted_answers_replace_the_servers_in_turn(proxy: Proxy, raw: RawClient) -> None:
    proxy.answer(ErrorReply("BUSY Redis is busy running a script."), "INCR", nth=2)
    for _ in range(3):
        raw.send("INCR", "n")
    assert [raw.read(), raw.read(), raw.read()] == [1, "BUSY Redis is busy running a script.", 2]


# ----------------------------------------------------------------------------------------------------- reply faults --


def test_swallow_reply_lasts_until_cut(proxy: Proxy, raw: RawClient, witness: redis.Redis) -> None:
    fault = proxy.swallow_reply("INCR")
    raw.send("INCR", "n")
    assert fault.wait_outcome().value == 1
    raw.send("INCR", "n")
    with pytest.raises(TimeoutError):
        raw.read(SHORT)
    wait_until(lambda: witness.get("n") == b"2", message="commands still to reach the server")
    proxy.resume()
    with pytest.raises(TimeoutError):
        raw.call_within(SHORT, "PING")
    proxy.cut_all()
    with pytest.raises(ConnectionResetError):
        raw.read()


def test_redis_py_loses_a_reply(server: RedisServer, proxy: Proxy, client: redis.Redis) -> None:
    fault = proxy.swallow_reply("INCRBY")
    with pytest.raises(redis.TimeoutError):
        server.client(port=proxy.port, socket_timeout=1.0).incr("n")
    assert fault.wait_outcome().value == 1
    assert client.incr("n") == 2


def test_hold_reply_keeps_it_until_released(proxy: Proxy, raw: RawClient, witness: redis.Redis) -> None:
    fault = proxy.hold_reply("INCR")
    raw.send("INCR", "n")
    raw.send("PING")
    fault.wait_hit()
    with pytest.raises(TimeoutError):
        raw.read(SHORT)
    assert witness.get("n") == b"1"
    fault.release()
    assert [raw.read(), raw.read()] == [1, "PONG"]


def test_scripts_are_found_by_hash_and_by_text(proxy: Proxy, raw: RawClient, witness: redis.Redis) -> None:
    fault = proxy.cut_after(COUNT)
    assert raw.call("EVAL", "return 1", 0) == 1
    assert raw.call("EVALSHA", COUNT.sha1, 1, "n").word == "NOSCRIPT"
    assert not fault.hit
    with pytest.raises(ConnectionResetError):
        raw.call("EVAL", COUNT_TEXT, 1, "n")
    assert fault.wait_outcome().value == 1
    with RawClient(proxy.address) as second:
        again = proxy.cut_after(COUNT, on_reply=lambda reply: reply == 3)
        assert second.call("EVALSHA", COUNT.sha1.upper(), 1, "n") == 2
        with pytest.raises(ConnectionResetError):
            second.call("EVALSHA", COUNT.sha1, 1, "n")
        assert again.wait_outcome().value == 3


def test_which_commands_are_struck(proxy: Proxy, raw: RawClient) -> None:
    with RawClient(proxy.address) as other:
        assert other.call("PING") == raw.call("PING") == "PONG"
        fault = proxy.answer("struck", "CLIENT GETNAME", nth=2, times=2, connection=proxy.connection_from(raw.port))
        names = [raw.call("CLIENT", "GETNAME") for _ in range(4)]
        assert names == [None, "struck", "struck", None]
        assert other.call("CLIENT", "GETNAME") is None and raw.call("CLIENT", "ID") > 0
        assert fault.wait_hit(count=2).connection.client_port == raw.port
    part = proxy.answer("part", b"\xff\x00", times=None)
    assert [raw.call("ECHO", b"a\xff\x00b"), raw.call("ECHO", "c"), raw.call("ECHO", b"\xff\x00")] == [
        "part",
        b"c",
        "part",
    ]
    part.release()
    assert raw.call("ECHO", b"\xff\x00") == b"\xff\x00"
    proxy.answer("get", containing("secret", "GET"))
    assert [raw.call("EXISTS", "secret"), raw.call("GET", "a-secret")] == [0, "get"]


# ------------------------------------------------------------------------------------------------------- conditions --


def test_delay_takes_time_and_keeps_order(proxy: Proxy, raw: RawClient) -> None:
    fault = proxy.delay(20, jitter_ms=10)
    with Stalls() as stalls:
        started = time.monotonic()
        for number in range(20):
            raw.send("ECHO", number)
        assert [raw.read() for _ in range(20)] == [b"%d" % number for number in range(20)]
        assert 0.04 <= time.monotonic() - started < stalls.widen(1.0)
    assert fault.hit
    fault.release()
    wait_until(lambda: _round_trip(raw) < 0.04, message="a round trip shorter than any with the delay")


def _round_trip(raw: RawClient) -> float:
    started = time.monotonic()
    assert raw.call("PING") == "PONG"
    return time.monotonic() - started


def test_stall_to_server_delivers_late(proxy: Proxy, raw: RawClient, witness: redis.Redis) -> None:
    fault = proxy.stall("to_server")
    raw.send("INCR", "n")
    fault.wait_hit()
    with RawClient(proxy.address) as late, pytest.raises(TimeoutError):
        late.send("INCR", "n")
        late.read(SHORT)
    assert witness.get("n") is None
    fault.release()
    wait_until(lambda: witness.get("n") == b"2", message="the command of the connection that was closed meanwhile")


def test_stall_to_client_executes_at_once(proxy: Proxy, raw: RawClient, witness: redis.Redis) -> None:
    fault = proxy.stall("to_client")
    raw.send("INCR", "n")
    fault.wait_hit()
    assert witness.get("n") == b"1"
    with pytest.raises(TimeoutError):
        raw.read(SHORT)
    fault.release()
    assert raw.read() == 1


@pytest.mark.parametrize("direction, value", [("to_server", None), ("to_client", b"1"), ("both", None)])
def test_drop_loses_one_direction_for_good(
    proxy: Proxy, raw: RawClient, witness: redis.Redis, direction: str, value: object
) -> None:
    fault = proxy.drop(direction)
    with pytest.raises(TimeoutError):
        raw.call_within(SHORT, "INCR", "n")
    fault.wait_hit()
    assert witness.get("n") == value
    fault.release()
    with pytest.raises(TimeoutError):
        raw.call_within(SHORT, "PING")
    with RawClient(proxy.address) as other:
        assert other.call("PING") == "PONG"


def test_split_sends_single_bytes(proxy: Proxy, raw: RawClient) -> None:
    fault, value = proxy.split(), bytes(range(256)) * 8
    assert raw.call("SET", "binary", value) == "OK" and raw.call("GET", "binary") == value and fault.hit
    proxy.split(gap_ms=1)
    wait_until(lambda: len(_pieces(proxy)) > 5, message="a receiver that is not too slow to see pieces")


def _pieces(proxy: Proxy) -> List[bytes]:
    with socket.create_connection(proxy.address, timeout=5.0) as connection:
        connection.sendall(b"ECHO abcdefghijklmn\r\n")
        pieces = [connection.recv(100)]
        while len(b"".join(pieces)) < 21:
            pieces.append(connection.recv(100))
    assert b"".join(pieces) == b"$14\r\nabcdefghijklmn\r\n"
    return pieces


def test_refuse_resets_new_connections_only(proxy: Proxy, raw: RawClient) -> None:
    assert raw.call("PING") == "PONG"
    fault = proxy.refuse()
    with pytest.raises(ConnectionResetError), RawClient(proxy.address) as refused:
        refused.call("PING")
    fault.wait_hit()
    assert raw.call("PING") == "PONG"
    fault.release()
    with RawClient(proxy.address) as welcome:
        assert welcome.call("PING") == "PONG"


def test_stop_listening_and_resume_on_the_same_port(proxy: Proxy, raw: RawClient) -> None:
    assert raw.call("PING") == "PONG"
    proxy.stop_listening()
    proxy.stall()
    with pytest.raises(ConnectionRefusedError):
        RawClient(proxy.address)
    proxy.resume()
    with RawClient(proxy.address) as again:
        assert again.call("PING") == raw.call("PING") == "PONG"


# ------------------------------------------------------------------------------------------------------ connections --


def test_connections_are_known_by_both_ports(server: RedisServer, proxy: Proxy, raw: RawClient) -> None:
    assert raw.call("CLIENT", "SETNAME", "mine") == "OK"
    connection = proxy.connection_from(raw.port)
    assert [entry["addr"] for entry in server.client_list("mine")] == [f"127.0.0.1:{connection.server_port}"]
    assert [command.arguments for command in proxy.commands(connection)] == [[b"CLIENT", b"SETNAME", b"mine"]]
    connection.cut()
    with pytest.raises(ConnectionResetError):
        raw.read()
    wait_until(lambda: not proxy.connections and not server.client_list("mine"), message="the connection to be gone")


def test_subscribers_are_paired(proxy: Proxy, raw: RawClient, witness: redis.Redis) -> None:
    raw.send("SUBSCRIBE", "a", "b")
    assert [raw.read(), raw.read()] == [[b"subscribe", b"a", 1], [b"subscribe", b"b", 2]]
    witness.publish("a", "one")
    assert raw.read() == [b"message", b"a", b"one"]
    raw.send("UNSUBSCRIBE")
    assert sorted([raw.read()[1], raw.read()[1]]) == [b"a", b"b"]
    fault = proxy.cut_after("INCR")
    assert raw.call("ECHO", "x") == b"x"
    with pytest.raises(ConnectionResetError):
        raw.call("INCR", "n")
    assert fault.wait_outcome().value == 1


def test_the_confirmation_of_a_subscription_can_be_lost(proxy: Proxy, raw: RawClient, witness: redis.Redis) -> None:
    fault = proxy.swallow_reply("SUBSCRIBE")
    raw.send("SUBSCRIBE", "a")
    assert fault.wait_outcome().value == [b"subscribe", b"a", 1]
    assert witness.publish("a", "one") == 1
    with pytest.raises(TimeoutError):
        raw.read(SHORT)


def test_thousands_of_commands_and_large_ones(raw: RawClient) -> None:
    started = time.process_time()  # does not count the other work of the machine
    for number in range(2000):
        raw.send("ECHO", number)
    assert [raw.read() for _ in range(2000)] == [b"%d" % number for number in range(2000)]
    for _ in range(500):
        assert raw.call("PING") == "PONG"
    large = bytes(2_000_000)
    assert raw.call("SET", "large", large) == "OK" and raw.call("GET", "large") == large
    assert time.process_time() - started < 5.0


def test_resp3_and_inline_commands_and_half_closed_clients(proxy: Proxy, raw: RawClient) -> None:
    assert [b"proto", 3] in raw.call("HELLO", 3)
    raw.send_bytes(b"SET n 5\r\nINCR n\r\n")
    raw.finish_sending()
    assert [raw.read(), raw.read()] == ["OK", 6]
    with pytest.raises(EOFError):
        raw.read()


def test_a_unix_socket_as_target(server: RedisServer) -> None:
    with Proxy(server.unix_path) as proxy, RawClient(proxy.address) as raw:
        fault = proxy.cut_after("INCR")
        with pytest.raises(ConnectionResetError):
            raw.call("INCR", "n")
        assert fault.outcome == Outcome("reply", 1)


def test_a_predicate_that_raises_is_reported(server: RedisServer) -> None:
    def broken(command: Command) -> bool:
        raise KeyError("my mistake")

    with pytest.raises(RuntimeError, match="my mistake"), Proxy(server.address) as proxy:
        proxy.cut_before(broken)
        with RawClient(proxy.address) as raw, pytest.raises((EOFError, ConnectionError)):
            raw.call("PING")


def test_a_fault_that_never_strikes_says_so(proxy: Proxy, raw: RawClient) -> None:
    fault = proxy.cut_before("INCR")
    assert raw.call("PING") == "PONG"
    with pytest.raises(AssertionError, match=r"cut_before at 'INCR'.*struck 0 of 1.*'PING'"):
        fault.wait_hit(0.01)
    with pytest.raises(ValueError, match="'sideways'"):
        proxy.stall("sideways")


def test_connections_that_are_over_are_forgotten(server: RedisServer, proxy: Proxy, raw: RawClient) -> None:
    raw.send("PING")
    assert raw.read() == "PONG"
    with RawClient(proxy.address) as other:
        other.send("PING")
        assert other.read() == "PONG"
        proxy.forget_ended()
        assert len(proxy.links) == 2
        ended = [known for known in proxy.connections if known is not proxy.connections[0]]
    wait_until(lambda: not any(known.client_open or known.server_open for known in ended), message="both ends")
    proxy.forget_ended()
    assert list(proxy.links) == proxy.connections != []
    raw.send("PING")
    assert raw.read() == "PONG"
