# SPDX-License-Identifier: Apache-2.0
"""Nodes of a cluster that do not agree, or are late: made of answers, as real ones say so for a moment only."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from typing import Callable, Iterator, List

import pytest
import redlatch
from redis.crc import key_slot
from support.fake_node import FakeNode, moved, slots
from support.faults import Command
from support.resp import Value
from support.waiting import wait_until

SCRIPTS = ("EVALSHA", "EVAL")
# What a script replies for a lock that another one holds, in milliseconds; and for one that was free.
HELD, FREE = 60_000, None

Nodes = Callable[[Callable[[int, Command], Value]], List[FakeNode]]


@pytest.fixture(name="two_nodes")
def two_nodes_fixture() -> Iterator[Nodes]:
    """Makes two nodes; answer(0 or 1, command) is what the first or the second one replies."""
    with ExitStack() as stack:

        def make(answer: Callable[[int, Command], Value]) -> List[FakeNode]:
            return [
                stack.enter_context(FakeNode(lambda command: answer(0, command))),
                stack.enter_context(FakeNode(lambda command: answer(1, command))),
            ]

        yield make


@pytest.mark.parametrize("to_itself", [True, False])
def test_a_loop_of_moved(two_nodes: Nodes, lock_name: str, to_itself: bool) -> None:
    """Two nodes that redirect to each other, or one to itself: a call ends in its time, and says why."""
    slot = key_slot(lock_name.encode())

    def answer(node: int, command: Command) -> Value:
        return slots(nodes[0]) if command.word == "CLUSTER" else moved(slot, nodes[node if to_itself else 1 - node])

    nodes = two_nodes(answer)
    with redlatch.connect(nodes[0].url) as client:
        lock = client.lock(lock_name)
        for timeout in (0, 1):
            started = time.monotonic()
            with pytest.raises(redlatch.ServerError, match="the nodes do not agree who serves the slot"):
                lock.acquire(timeout=timeout)
            assert timeout <= time.monotonic() - started < timeout + 2
    assert sum(node.count(*SCRIPTS) for node in nodes) < 300


def test_a_loop_of_moved_channels(two_nodes: Nodes, lock_name: str) -> None:
    """The channel alone is redirected from node to node: it is followed, with pauses."""
    slot = key_slot(lock_name.encode())

    def answer(node: int, command: Command) -> Value:
        if command.word == "CLUSTER":
            return slots(nodes[node])
        return HELD if command.word in SCRIPTS else moved(slot, nodes[1 - node])

    nodes = two_nodes(answer)
    with redlatch.connect(nodes[0].url) as client:
        assert client.lock(lock_name).acquire(timeout=1) is False
    assert 4 <= sum(node.count("SSUBSCRIBE") for node in nodes) < 100


def test_a_topology_that_is_older_than_a_redirection(two_nodes: Nodes, lock_name: str) -> None:
    """Its reply comes after a redirection that came after its request: the redirection counts."""
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
            wait_until(lambda: len(searches) == 2)  # as the slot was found to have moved
            assert client.lock(names[1]).acquire(timeout=5)
            ended = nodes[0].ended
            late.set()
            wait_until(lambda: nodes[0].ended > ended)
            assert client.lock(f"{names[1]}:other").acquire(timeout=5)
            assert redirected.count(names[1].encode()) == 1
    finally:
        never.set()
