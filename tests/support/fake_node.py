# SPDX-License-Identifier: Apache-2.0
"""A fake node of a cluster. A test chooses its replies: such as real nodes give only for a moment, or late.

    with FakeNode(answer) as node: ...      # answer(command) returns the reply to a command behind the greeting
"""

from __future__ import annotations

import socket
from typing import Callable, Dict, List

from .broken import BrokenServer
from .faults import Command
from .resp import ErrorReply, FrameReader, Value, encode_reply

_SLOTS = 16384


class FakeNode(BrokenServer):
    """One node. `answer` may block, as each connection has a thread of its own. `ended` counts the connections that
    clients have closed."""

    def __init__(self, answer: Callable[[Command], Value]) -> None:
        self._answer = answer
        self._commands: List[Command] = []
        self.ended = 0
        super().__init__()
        info = f"# Server\r\nrun_id:{self.port:040d}\r\n".encode()
        self._greeting: Dict[str, Value] = {"CLIENT": 1, "INFO": info, "PUBSUB": []}

    @property
    def url(self) -> str:
        """redis+cluster:// address of this node alone."""
        return f"redis+cluster://127.0.0.1:{self.port}"

    def count(self, *words: str) -> int:
        """How many commands with one of these first words it received."""
        with self._lock:
            return sum(command.word in words for command in self._commands)

    def serve(self, connection: socket.socket) -> None:
        """Talk to one client."""
        reader = FrameReader(commands=True)
        try:
            while data := connection.recv(65_536):
                for frame in reader.feed(data):
                    connection.sendall(encode_reply(self._reply(Command(frame.value, frame.raw))))
        finally:
            with self._lock:
                self.ended += 1

    def _reply(self, command: Command) -> Value:
        if command.word in self._greeting:
            return self._greeting[command.word]
        with self._lock:
            self._commands.append(command)
        return self._answer(command)


def moved(slot: int, to: FakeNode) -> ErrorReply:
    """A redirection."""
    return ErrorReply(f"MOVED {slot} 127.0.0.1:{to.port}")


def slots(*owners: FakeNode) -> Value:
    """The reply to CLUSTER SLOTS of nodes that share the slots evenly, in this order."""
    bounds = [i * _SLOTS // len(owners) for i in range(len(owners) + 1)]
    return [[begin, end - 1, [b"127.0.0.1", node.port]] for begin, end, node in zip(bounds, bounds[1:], owners)]
