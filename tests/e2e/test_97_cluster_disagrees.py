# SPDX-License-Identifier: Apache-2.0
"""Nodes of a cluster that do not agree, or are late. They are fake nodes, since real ones disagree for a moment
only."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Callable, Iterator, List

import pytest
import redlatch
from redis.crc import key_slot
from support.fake_node import FakeNode, moved, slots
from support.faults import Command
from support.resp import ErrorReply, Value
from support.waiting import wait_until
from waiters import Waiting

SCRIPTS = ("EVALSHA", "EVAL")
# What a script replies for a lock that somebody else holds, in milliseconds, and for one that was free.
HELD, FREE = 60_000, None

Nodes = Callable[[Callable[[int, Command], Value]], List[FakeNode]]


@pytest.fixture(name="two_nodes")
def two_nodes_fixture() -> Iterator[Nodes]:
    """Returns a function that makes two nodes. `answer(0 or 1, command)` is the reply of the first or the second
    one."""
    with ExitStack() as stack:

        def make(answer: Callable[[int, Command], Value]) -> List[FakeNode]:
            return [
                stack.enter_context(FakeNode(lambda command: answer(0, command))),
                stack.enter_context(FakeNode(lambda command: answer(1, command))),
            ]

        yield make


@pytest.mark.parametrize("to_itself", [True, False])
def test_a_loop_of_moved(two_nodes: Nodes, lock_name: str, to_itself: bool) -> None:
    """Two nodes redirect to each other, or one to itself. A call ends in its time with the reason, or with NO_REPLY if
    a request has no reply at that time."""
    slot = key_slot(lock_name.encode())

    def answer(node: int, command: Command) -> Value:
        return slots(nodes[0]) if command.word == "CLUSTER" else moved(slot, nodes[node if to_itself else 1 - node])

    nodes = two_nodes(answer)
    with redlatch.connect(nodes[0].url) as client:
        lock = client.lock(lock_name)
        for timeout in (0, 1):
            started = time.monotonic()
            with pytest.raises((redlatch.ServerError, redlatch.UnreachableError)) as caught:
                lock.acquire(timeout=timeout)
            agrees = "the nodes do not agree who serves the slot" not in str(caught.value)
            assert caught.value.status_name == ("no_reply" if agrees else "not_writable")
            assert timeout <= time.monotonic() - started < timeout + 2
    assert sum(node.count(*SCRIPTS) for node in nodes) < 2000, "without pauses there are tens of thousands"


@pytest.mark.parametrize("how", ["to each other", "to itself", "not at all"])
def test_a_loop_of_moved_channels(two_nodes: Nodes, lock_name: str, how: str) -> None:
    """Only the channel is redirected, from node to node or to the same node, or its slot is not served at all. The
    client tries again and again, with pauses."""
    slot = key_slot(lock_name.encode())

    def answer(node: int, command: Command) -> Value:
        if command.word == "CLUSTER":
            return slots(nodes[node])
        if command.word in SCRIPTS:
            return HELD
        if how == "not at all":
            return ErrorReply("CLUSTERDOWN Hash slot not served")
        return moved(slot, nodes[node if how == "to itself" else 1 - node])

    nodes = two_nodes(answer)
    with redlatch.connect(nodes[0].url) as client:
        assert client.lock(lock_name).acquire(timeout=1) is False
    assert 4 <= sum(node.count("SSUBSCRIBE") for node in nodes) < 100


def test_a_topology_that_is_older_than_a_redirection(two_nodes: Nodes, lock_name: str) -> None:
    """A redirection comes after the topology was requested and before it is received. The redirection counts."""
    names = [f"{{{lock_name}{i}}}" for i in range(2)]
    tags = {key_slot(name[1:-1].encode()): name.encode() for name in names}
    late, never = threading.Event(), threading.Event()
    searches: List[Command] = []
    redirected: List[bytes] = []

    def answer(node: int, command: Command) -> Value:
        if command.word == "CLUSTER":
            searches.append(command)
            (late if len(searches) == 2 else never).wait(0 if len(searches) == 1 else 30)
            return slots(nodes[0])
        if command.word in SCRIPTS and node == 0:
            slot, tag = next((slot, tag) for slot, tag in tags.items() if tag in command.raw)
            redirected.append(tag)
            return moved(slot, nodes[1])
        return FREE if command.word in SCRIPTS else []

    nodes = two_nodes(answer)
    try:
        with redlatch.connect(nodes[0].url) as client:
            assert client.lock(names[0]).acquire(timeout=5)
            wait_until(lambda: len(searches) == 2)  # requested because the slot was found to have moved
            assert client.lock(names[1]).acquire(timeout=5)
            ended = nodes[0].ended
            late.set()
            wait_until(lambda: nodes[0].ended > ended)
            assert client.lock(f"{names[1]}:other").acquire(timeout=5)
            assert redirected.count(names[1].encode()) == 1
    finally:
        never.set()


def test_a_crowd_before_the_topology_is_known(two_nodes: Nodes, lock_name: str) -> None:
    """Many calls at a time wait for the topology, so a further connection would be opened for them. There is no node
    yet to which it could lead. Once the topology is known, the client does not ask for it again and again."""
    late = threading.Event()

    def answer(node: int, command: Command) -> Value:
        late.wait(30)
        return slots(nodes[node])

    nodes = two_nodes(answer)
    try:
        with redlatch.connect(nodes[0].url, lazy=True) as client:
            waiting = [Waiting(client.lock(f"{lock_name}:{i}"), timeout=0.5) for i in range(64)]
            for waiter in waiting:
                with pytest.raises(redlatch.RedlatchError):
                    waiter.result()
            ended = nodes[0].ended
            late.set()
            wait_until(lambda: nodes[0].ended > ended)
            time.sleep(0.5)
            assert nodes[0].count("CLUSTER") < 10, "one after the other there are hundreds"
    finally:
        late.set()


def test_two_nodes_that_claim_a_slot(two_nodes: Nodes, lock_name: str) -> None:
    """Each node says that it serves all slots, and grants locks. The client stays with the node that it reached first,
    however often it asks for the topology, and goes to the other one when that node is gone."""

    def answer(node: int, command: Command) -> Value:
        if command.word == "CLUSTER":
            return slots(nodes[node])
        return FREE if command.word in SCRIPTS else []

    nodes = two_nodes(answer)
    url = f"{nodes[0].url},127.0.0.1:{nodes[1].port}"
    with redlatch.connect(url, tuning=redlatch.Tuning(dns_interval=0.1)) as client:
        assert client.lock(lock_name).acquire(timeout=5)
        requests = nodes[0].count("CLUSTER")
        wait_until(lambda: nodes[0].count("CLUSTER") >= requests + 5)
        assert nodes[1].count("CLUSTER", *SCRIPTS) == 0
        assert nodes[0].count(*SCRIPTS) == 1 and client.stats()["lost"] == 0
        nodes[0].close()
        started = time.monotonic()
        assert client.lock(f"{lock_name}:next").acquire(timeout=5)
        assert time.monotonic() - started < 3 and nodes[1].count(*SCRIPTS) > 0


def test_a_node_that_claims_a_slot_and_redirects(two_nodes: Nodes, lock_name: str) -> None:
    """The node names itself in the topology, and redirects to another one, which claims the slot, too. Each command
    goes where the redirection leads, and the calls succeed."""
    slot = key_slot(lock_name.encode())

    def answer(node: int, command: Command) -> Value:
        if command.word == "CLUSTER":
            return slots(nodes[node])
        if command.word not in SCRIPTS:
            return []
        return moved(slot, nodes[1]) if node == 0 else FREE

    nodes = two_nodes(answer)
    with redlatch.connect(nodes[0].url) as client:
        for _ in range(5):
            lock = client.lock(lock_name, owner="handle")
            started = time.monotonic()
            assert lock.acquire(timeout=5)
            assert time.monotonic() - started < 3
    assert nodes[0].count("CLUSTER") < 100 and nodes[0].count(*SCRIPTS) < 100


def test_a_channel_is_left_while_its_connection_is_replaced(two_nodes: Nodes, lock_name: str) -> None:
    """The credentials change, so the subscriber gets a successor. The old subscriber was to leave a channel just
    before, and nobody answers that any more. The successor is subscribed to the channel, too, and leaves it."""
    moves, stays = (f"{lock_name}:{i}" for i in range(2))
    slot = key_slot(moves.encode())
    has_moved, may_replace = threading.Event(), threading.Event()
    stale_message: List[Value] = [b"message", f"redisson_lock__channel:{{{moves}}}".encode(), b"0"]

    def answer(node: int, command: Command) -> Value:
        if command.word == "CLUSTER":
            everything = slots(nodes[0])
            assert isinstance(everything, list)
            return [*everything, *([[slot, slot, [b"127.0.0.1", nodes[1].port]]] if has_moved.is_set() else [])]
        if command.word in SCRIPTS:
            redirects = node == 0 and has_moved.is_set() and moves.encode() in command.raw
            return moved(slot, nodes[1]) if redirects else HELD
        if command.word == "PING":
            may_replace.wait(30)
            return [b"pong", b""]
        if command.word == "SUBSCRIBE":
            return stale_message if b":late" in command.raw else [b"subscribe", command.arguments[1], 1]
        return "OK"

    nodes = two_nodes(answer)
    url = f"{nodes[0].url}?sharded_messages=off"
    try:
        with redlatch.connect(url, username="default", password="one") as client:
            waits = [Waiting(client.lock(name), 20.0) for name in (moves, stays)]
            wait_until(lambda: client.stats()["subscriptions"] == 2)
            client.set_credentials("default", "another")
            wait_until(lambda: nodes[0].count("PING") == 1)
            has_moved.set()
            assert client.lock(f"{{{moves}}}:other").acquire(timeout=0) is False
            wait_until(lambda: nodes[1].count("SUBSCRIBE") == 1)
            ended = nodes[0].ended
            may_replace.set()
            wait_until(lambda: nodes[0].ended > ended, 4.0, "the successor to take over")
            waits.append(Waiting(client.lock(f"{stays}:late"), 20.0))
            wait_until(lambda: nodes[0].count("UNSUBSCRIBE") == 1, 4.0, "the channel to be left")
            assert not any(wait.done for wait in waits)
    finally:
        may_replace.set()


def data_size() -> int:
    """Returns how many bytes of data this process has, whether it has touched them or not."""
    (line,) = (line for line in Path("/proc/self/status").read_text("utf-8").splitlines() if line.startswith("VmData"))
    return 1024 * int(line.split()[1])


def test_nodes_that_come_back_at_other_addresses_take_no_memory(two_nodes: Nodes, lock_name: str) -> None:
    """Each topology has two hundred masters at new addresses. A client has room for the masters of two topologies."""
    masters, sizes = 200, []

    def answer(node: int, command: Command) -> Value:
        if command.word == "CLUSTER":
            port = 10_000 + masters * nodes[0].count("CLUSTER")
            others = [[i, i, [b"127.0.0.2", port + i]] for i in range(masters)]
            return [*others, [masters, 16383, [b"127.0.0.1", nodes[0].port]]]
        return FREE if command.word in SCRIPTS else []

    nodes = two_nodes(answer)
    with redlatch.connect(nodes[0].url, tuning=redlatch.Tuning(dns_interval=0.1)) as client:
        name = next(name for name in (f"{lock_name}:{i}" for i in range(100)) if key_slot(name.encode()) >= masters)
        assert client.lock(name).acquire(timeout=5)
        for topologies in (4, 20):
            wait_until(lambda topologies=topologies: nodes[0].count("CLUSTER") > topologies, 20.0)
            sizes.append(data_size())
    assert sizes[1] - sizes[0] < 100_000_000, sizes
