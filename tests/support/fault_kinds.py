# SPDX-License-Identifier: Apache-2.0
"""What each fault does to a connection. Everything here runs on the proxy's thread.

Three families: command faults strike before a command leaves for the server, reply faults strike when its reply has
come, conditions hold for whole directions from the moment they are placed until they are released.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple, Union

from .faults import Command, Fault, Hit, Outcome, ReplyPredicate, Target, executed
from .link import Link
from .pipe import Barrier, Canned, Data, Pipe
from .resp import Frame, Value, encode_reply

if TYPE_CHECKING:
    from .proxy import Proxy

DIRECTIONS = ("to_server", "to_client", "both")


class CommandFault(Fault):
    """Strikes a command on its way to the server."""

    def strike_command(self, link: Link, hit: Hit, command: Command) -> None:
        """Apply the fault to the command. If the command is to be forwarded, this forwards it."""
        raise NotImplementedError


class CutBefore(CommandFault):
    """The connection is reset; the server never sees the command."""

    kind = "cut_before"

    def strike_command(self, link: Link, hit: Hit, command: Command) -> None:
        link.cut()


class CutInside(CommandFault):
    """The server gets the first half of the command, then both sides are cut."""

    kind = "cut_inside"

    def strike_command(self, link: Link, hit: Hit, command: Command) -> None:
        link.to_server.put(Data(command.raw[: len(command.raw) // 2]))
        link.cut(server_too=False)


class Hold(CommandFault):
    """The command and all that follows it wait here until released, even if the client is gone by then."""

    kind = "hold"

    def __init__(self, proxy: Proxy, target: Target) -> None:
        super().__init__(proxy, target)
        self._kept: List[Tuple[Link, Barrier]] = []

    def strike_command(self, link: Link, hit: Hit, command: Command) -> None:
        barrier = Barrier()
        self._kept.append((link, barrier))
        link.obligations.add(hit)
        link.to_server.put(barrier)
        link.forward(command, hit)

    def let_go(self) -> None:
        for link, barrier in self._kept:
            link.to_server.lift(barrier)


class Answer(CommandFault):
    """The server never sees the command; a made-up reply comes in its turn."""

    kind = "answer"

    def __init__(self, proxy: Proxy, target: Target, reply: Value) -> None:
        super().__init__(proxy, target)
        self._reply = encode_reply(reply)

    def strike_command(self, link: Link, hit: Hit, command: Command) -> None:
        link.to_server.put(Canned(self._reply))


class ReplyFault(Fault):
    """Strikes when the reply to a command has come. `on_reply` decides which replies count."""

    def __init__(self, proxy: Proxy, target: Target, on_reply: ReplyPredicate = executed) -> None:
        super().__init__(proxy, target)
        self._on_reply = on_reply

    def due_on(self, link: Link, command: Command, reply: Value) -> bool:
        """due(), for a command whose reply is known."""
        return self._on_reply(reply) and self.due(link, command)

    def outcome_of(self, reply: Value) -> Optional[Outcome]:
        """What is known of the outcome when this strikes."""
        return Outcome("reply", reply)

    def strike_reply(self, link: Link, hit: Hit, reply: Frame) -> None:
        """Apply the fault to the reply. If the reply is to be passed on, this passes it on."""
        raise NotImplementedError


class CutAfter(ReplyFault):
    """The command was executed; the client gets a reset in place of the reply."""

    kind = "cut_after"

    def strike_reply(self, link: Link, hit: Hit, reply: Frame) -> None:
        link.cut()


class SwallowReply(ReplyFault):
    """The command was executed; its reply and all that follows in that direction vanishes."""

    kind = "swallow_reply"

    def strike_reply(self, link: Link, hit: Hit, reply: Frame) -> None:
        link.to_client.lost = True


class HoldReply(ReplyFault):
    """The command was executed; its reply and all that follows in that direction wait here until released."""

    kind = "hold_reply"

    def __init__(self, proxy: Proxy, target: Target, on_reply: ReplyPredicate = executed) -> None:
        super().__init__(proxy, target, on_reply)
        self._kept: List[Tuple[Link, Barrier]] = []

    def strike_reply(self, link: Link, hit: Hit, reply: Frame) -> None:
        barrier = Barrier()
        self._kept.append((link, barrier))
        link.to_client.put(barrier)
        link.to_client.put(Data(reply.raw))

    def let_go(self) -> None:
        for link, barrier in self._kept:
            link.to_client.lift(barrier)


class Duplicate(ReplyFault):
    """The command is executed. When released, it is sent again, and the client does not get the second reply."""

    kind = "duplicate"

    def __init__(self, proxy: Proxy, target: Target, on_reply: ReplyPredicate = executed) -> None:
        super().__init__(proxy, target, on_reply)
        self._kept: List[Tuple[Link, Hit, Command]] = []

    def outcome_of(self, reply: Value) -> Optional[Outcome]:
        return None

    def strike_reply(self, link: Link, hit: Hit, reply: Frame) -> None:
        assert hit.command is not None
        self._kept.append((link, hit, hit.command))
        link.obligations.add(hit)
        link.to_client.put(Data(reply.raw))

    def let_go(self) -> None:
        for link, hit, command in self._kept:
            link.forward(command, hit, swallow_reply=True)


class Condition(Fault):
    """Acts on a direction of the connections that it concerns, later ones included, until it is released."""

    def __init__(self, proxy: Proxy, target: Target, direction: str) -> None:
        if direction not in DIRECTIONS:
            raise ValueError(f"direction is {direction!r}; expected one of {', '.join(DIRECTIONS)}")
        super().__init__(proxy, target)
        self._direction = direction
        self._undo: Dict[Pipe, Callable[[], None]] = {}

    def apply(self, link: Link) -> None:
        """Begin to act on a connection."""
        if self.released or not self.target.concerns(link.connection):
            return
        pipes = {"to_server": link.to_server, "to_client": link.to_client}
        for name, pipe in pipes.items():
            if self._direction in (name, "both"):
                self._undo[pipe] = self._enter(link, pipe)

    def let_go(self) -> None:
        for undo in self._undo.values():
            undo()

    def _meet(self, link: Link, command: Optional[Command]) -> None:
        """Note a hit, once for each connection."""
        if not any(hit.connection is link.connection for hit in self.hits):
            self.note(link, command)

    def _enter(self, link: Link, pipe: Pipe) -> Callable[[], None]:
        """Begin to act on one direction; return a function that ends that."""
        raise NotImplementedError

    def _register(
        self, functions: List[Any], function: Callable[[Optional[Command]], Union[float, None]]
    ) -> Callable[[], None]:
        functions.append(function)
        return lambda: functions.remove(function)


class Delay(Condition):
    """Everything takes longer, by a fixed time and a random one; order is kept."""

    kind = "delay"

    def __init__(self, proxy: Proxy, target: Target, direction: str, pause: float, jitter: float, seed: int) -> None:
        super().__init__(proxy, target, direction)
        self._pause = pause
        self._jitter = jitter
        self._random = random.Random(seed)

    def _enter(self, link: Link, pipe: Pipe) -> Callable[[], None]:
        def next_pause(command: Optional[Command]) -> float:
            self._meet(link, command)
            return self._pause + self._random.uniform(0.0, self._jitter)

        return self._register(pipe.delays, next_pause)


class Stall(Condition):
    """Nothing moves until released; then everything arrives."""

    kind = "stall"

    def _enter(self, link: Link, pipe: Pipe) -> Callable[[], None]:
        barrier = Barrier(lambda command: self._meet(link, command))
        pipe.put(barrier)
        return lambda: pipe.lift(barrier)


class Drop(Condition):
    """Everything vanishes. A connection that has lost bytes stays dead also when this is released."""

    kind = "drop"

    def _enter(self, link: Link, pipe: Pipe) -> Callable[[], None]:
        return self._register(pipe.black_holes, lambda command: self._meet(link, command))


class Split(Condition):
    """Everything arrives byte by byte."""

    kind = "split"

    def __init__(self, proxy: Proxy, target: Target, direction: str, gap: float) -> None:
        super().__init__(proxy, target, direction)
        self._gap = gap

    def _enter(self, link: Link, pipe: Pipe) -> Callable[[], None]:
        def gap_after(command: Optional[Command]) -> float:
            self._meet(link, command)
            return self._gap

        return self._register(pipe.splitters, gap_after)


class Refuse(Fault):
    """New connections are accepted and reset, or not accepted at all because nobody listens."""

    kind = "refuse"

    def __init__(self, proxy: Proxy, let_go: Callable[[], None]) -> None:
        super().__init__(proxy, Target())
        self._let_go = let_go

    def let_go(self) -> None:
        self._let_go()
