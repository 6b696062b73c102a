# SPDX-License-Identifier: Apache-2.0
"""A TCP proxy between Redis clients and a server. It knows where commands begin and end, and makes faults.

    with Proxy(server.address) as proxy:
        fault = proxy.cut_after(Script("acquire", text), nth=2)    # armed when this returns
        ...                                                        # the client works through proxy.url
        assert fault.wait_hit().outcome ...

It runs on a thread of its own. `match` says which commands are meant: None all of them, a str the leading words, bytes
any part of an argument, or a predicate such as Script and containing().
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import time
from collections import deque
from types import TracebackType
from typing import Callable, Coroutine, Deque, Dict, List, Optional, Set, Tuple, Type, TypeVar, Union
from urllib.parse import quote

from .fault_kinds import (
    Answer,
    CommandFault,
    Condition,
    CutAfter,
    CutBefore,
    CutInside,
    Delay,
    Drop,
    Duplicate,
    Hold,
    HoldReply,
    Refuse,
    ReplyFault,
    Split,
    Stall,
    SwallowReply,
)
from .faults import Command, Fault, Match, ReplyPredicate, Target, executed
from .link import ClientSide, Link, ServerSide, reset_soon
from .pipe import Barrier
from .ports import listen_anywhere, listening_socket
from .resp import Value

Address = Union[Tuple[str, int], str]
Result = TypeVar("Result")
Kind = TypeVar("Kind", bound=Fault)

_RUN_TIMEOUT = 10.0


class Connection:
    """One client's connection as a test sees it. `server_port` is the port the server knows the client by."""

    def __init__(self, proxy: Proxy, client_port: int) -> None:
        self._proxy = proxy
        self.client_port = client_port
        self.server_port: Optional[int] = None
        self.client_open = True
        self.server_open = False

    def cut(self) -> None:
        """Reset both sides."""
        self._proxy.run(self._proxy.links[self].cut)

    def cut_client(self) -> None:
        """Reset the client's side only; the server sees an end of file after all that is still on its way."""
        self._proxy.run(lambda: self._proxy.links[self].cut(server_too=False))

    def __repr__(self) -> str:
        state = f"client {'open' if self.client_open else 'gone'}, server {'open' if self.server_open else 'gone'}"
        return f"<connection from port {self.client_port}, {state}>"


class Proxy:
    """Carries connections to `target`, a (host, port) or the path of a unix socket."""

    def __init__(
        self, target: Address, *, password: Optional[str] = None, seed: int = 1, log_size: int = 100_000
    ) -> None:
        self._target = target
        self._password = password
        self._seed = seed
        self._faults: List[Fault] = []
        self._log: Deque[Tuple[float, Connection, Command]] = deque(maxlen=log_size)
        self._errors: List[BaseException] = []
        self._tasks: Set[asyncio.Task[None]] = set()
        self.links: Dict[Connection, Link] = {}
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(self._note_error)
        self._thread = threading.Thread(target=self._loop.run_forever, name="e2e-proxy", daemon=True)
        listener, self.port = listen_anywhere()
        self._listener: Optional[asyncio.AbstractServer] = None
        self._refusing: List[Refuse] = []
        self._thread.start()
        serving = self._loop.create_server(lambda: ClientSide(self), sock=listener)
        self._listener = asyncio.run_coroutine_threadsafe(serving, self._loop).result(_RUN_TIMEOUT)

    # ---------------------------------------------------------------------------------------------- command faults --

    def cut_before(
        self, match: Match = None, *, nth: int = 1, times: Optional[int] = 1, connection: Optional[Connection] = None
    ) -> Fault:
        """Reset the connection in place of forwarding the command."""
        return self._place(CutBefore(self, Target(match, nth, times, connection)))

    def cut_inside(
        self, match: Match = None, *, nth: int = 1, times: Optional[int] = 1, connection: Optional[Connection] = None
    ) -> Fault:
        """Forward half of the command, then cut the connection."""
        return self._place(CutInside(self, Target(match, nth, times, connection)))

    def hold(
        self, match: Match = None, *, nth: int = 1, times: Optional[int] = 1, connection: Optional[Connection] = None
    ) -> Fault:
        """Keep the command, and all behind it, until released; the outcome is what the server then answered."""
        return self._place(Hold(self, Target(match, nth, times, connection)))

    def answer(
        self,
        reply: Value,
        match: Match = None,
        *,
        nth: int = 1,
        times: Optional[int] = 1,
        connection: Optional[Connection] = None,
    ) -> Fault:
        """Answer the command in the server's place, for instance with ErrorReply("BUSY ...")."""
        return self._place(Answer(self, Target(match, nth, times, connection), reply))

    # ------------------------------------------------------------------------------------------------ reply faults --
    # Replies for which `on_reply` is false do not count as a match; by default that is NOSCRIPT, where nothing ran.

    def cut_after(
        self,
        match: Match = None,
        *,
        nth: int = 1,
        times: Optional[int] = 1,
        connection: Optional[Connection] = None,
        on_reply: ReplyPredicate = executed,
    ) -> Fault:
        """Reset the connection when the reply has come here, so the command is known to be executed."""
        return self._place(CutAfter(self, Target(match, nth, times, connection), on_reply))

    def swallow_reply(
        self,
        match: Match = None,
        *,
        nth: int = 1,
        times: Optional[int] = 1,
        connection: Optional[Connection] = None,
        on_reply: ReplyPredicate = executed,
    ) -> Fault:
        """Lose the reply and all that follows on that connection, which stays open until it is cut."""
        return self._place(SwallowReply(self, Target(match, nth, times, connection), on_reply))

    def hold_reply(
        self,
        match: Match = None,
        *,
        nth: int = 1,
        times: Optional[int] = 1,
        connection: Optional[Connection] = None,
        on_reply: ReplyPredicate = executed,
    ) -> Fault:
        """Keep the reply and all that follows on that connection until released."""
        return self._place(HoldReply(self, Target(match, nth, times, connection), on_reply))

    def duplicate(
        self,
        match: Match = None,
        *,
        nth: int = 1,
        times: Optional[int] = 1,
        connection: Optional[Connection] = None,
        on_reply: ReplyPredicate = executed,
    ) -> Fault:
        """Remember the command, and when released send it again on the same connection to the server.

        The client never sees the second reply; it is the outcome.
        """
        return self._place(Duplicate(self, Target(match, nth, times, connection), on_reply))

    # -------------------------------------------------------------------------------------------------- conditions --
    # `direction` is "to_server", "to_client" or "both"; connections that come later are concerned too.

    def delay(
        self, ms: float, jitter_ms: float = 0.0, *, direction: str = "both", connection: Optional[Connection] = None
    ) -> Fault:
        """Let everything take `ms` longer, and up to `jitter_ms` more, in each direction concerned."""
        target = Target(connection=connection)
        return self._place(Delay(self, target, direction, ms / 1000.0, jitter_ms / 1000.0, self._seed))

    def stall(self, direction: str = "both", *, connection: Optional[Connection] = None) -> Fault:
        """Let nothing move until released."""
        return self._place(Stall(self, Target(connection=connection), direction))

    def drop(self, direction: str = "both", *, connection: Optional[Connection] = None) -> Fault:
        """Let everything vanish."""
        return self._place(Drop(self, Target(connection=connection), direction))

    def split(self, direction: str = "both", *, gap_ms: float = 0.0, connection: Optional[Connection] = None) -> Fault:
        """Pass everything on byte by byte; a slow receiver may still find several at once, unless there is a gap."""
        return self._place(Split(self, Target(connection=connection), direction, gap_ms / 1000.0))

    def refuse(self) -> Fault:
        """Accept new connections and reset them at once; existing ones go on."""
        fault = Refuse(self, lambda: self._refusing.remove(fault))
        self.run(lambda: self._refusing.append(fault))
        return self._place(fault)

    def stop_listening(self) -> Fault:
        """Close the port, so that connecting fails at once; existing connections go on. It never counts as hit."""

        def stop() -> None:
            if self._listener is not None:
                self._listener.close()
                self._listener = None

        self.run(stop)
        return self._place(Refuse(self, self._listen_again))

    # ---------------------------------------------------------------------------------------------------- the rest --

    @property
    def url(self) -> str:
        """redis:// address of the proxy, with the password if one was given."""
        login = f":{quote(self._password, safe='')}@" if self._password else ""
        return f"redis://{login}127.0.0.1:{self.port}/0"

    @property
    def address(self) -> Tuple[str, int]:
        """Host and port of the proxy."""
        return "127.0.0.1", self.port

    @property
    def connections(self) -> List[Connection]:
        """The connections of which at least one side is open, oldest first."""
        return self.run(lambda: [known for known in self.links if known.client_open or known.server_open])

    def connection_from(self, client_port: int) -> Connection:
        """The open connection that comes from a client's local port."""
        found = [known for known in self.connections if known.client_port == client_port]
        if not found:
            raise LookupError(f"no open connection from port {client_port}; there are {self.connections}")
        return found[-1]

    def commands(self, connection: Optional[Connection] = None) -> List[Command]:
        """What clients have sent so far (the latest `log_size`), whether or not it reached the server."""
        return self.run(lambda: [sent for _, by, sent in self._log if connection is None or by is connection])

    def last_words(self) -> List[str]:
        """The latest commands' first words, for messages."""
        return [command.word for command in self.commands()[-8:]]

    def turn_to(self, target: Address) -> None:
        """Carry connections that come from now on to another server."""

        def turn() -> None:
            self._target = target

        self.run(turn)

    def cut_all(self) -> None:
        """Reset every connection, on both sides."""

        def cut() -> None:
            for link in self.links.values():
                link.cut()

        self.run(cut)

    def resume(self) -> None:
        """Release every fault; the network works again, except for connections that have lost bytes."""

        def release() -> None:
            for fault in list(self._faults):
                fault.release_now()

        self.run(release)

    def discard(self, fault: Fault) -> None:
        """Release a fault and forget it. Otherwise a proxy that lives long asks more and more faults."""

        def discard() -> None:
            fault.release_now()
            self._faults.remove(fault)

        self.run(discard)

    def forget_ended(self) -> None:
        """Forget the connections that have ended on both sides. Otherwise a proxy that lives long applies its faults to
        more and more connections."""

        def forget() -> None:
            self.links = {connection: link for connection, link in self.links.items() if not link.ended}

        self.run(forget)

    def close(self) -> None:
        """Reset all connections and end the thread. Raises what a predicate raised on that thread."""
        if not self._thread.is_alive():
            return
        asyncio.run_coroutine_threadsafe(self._shut_down(), self._loop).result(_RUN_TIMEOUT)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_RUN_TIMEOUT)
        self._loop.close()
        self._raise_errors()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def run(self, function: Callable[[], Result]) -> Result:
        """Call a function on the proxy's thread and return what it returns."""
        self._raise_errors()
        if threading.current_thread() is self._thread:
            return function()
        future: concurrent.futures.Future[Result] = concurrent.futures.Future()

        def call() -> None:
            try:
                future.set_result(function())
            except BaseException as error:
                future.set_exception(error)

        self._loop.call_soon_threadsafe(call)
        return future.result(_RUN_TIMEOUT)

    # ------------------------------------------------------------------------------- called on the proxy's thread --

    def accept(self, transport: asyncio.Transport) -> Link:
        """Take a client's new connection in, and open one to the server for it."""
        connection = Connection(self, transport.get_extra_info("peername")[1])
        link = Link(self, connection, self._loop)
        link.client = transport
        if self._refusing:
            self._refusing[-1].note(link, None)
            reset_soon(transport, self._loop)
            return link
        self.links[connection] = link
        connecting = Barrier()
        link.to_server.put(connecting)
        for fault in self._faults:
            if isinstance(fault, Condition):
                fault.apply(link)
        self._start(self._connect(link, connecting))
        return link

    async def _connect(self, link: Link, connecting: Barrier) -> None:
        try:
            if isinstance(self._target, str):
                await self._loop.create_unix_connection(lambda: ServerSide(link), self._target)
            else:
                await self._loop.create_connection(lambda: ServerSide(link), *self._target)
        except OSError:
            link.cut()
        else:
            link.to_server.lift(connecting)

    def record(self, connection: Connection, command: Command) -> None:
        """Note that a client sent a command."""
        self._log.append((time.monotonic(), connection, command))

    def due_before(self, link: Link, command: Command) -> Optional[CommandFault]:
        """The fault that is to strike a command before it goes to the server. Each fault that matches counts it."""
        faults = [fault for fault in self._faults if isinstance(fault, CommandFault)]
        return next(iter([fault for fault in faults if fault.due(link, command)]), None)

    def due_after(self, link: Link, command: Command, reply: Value) -> Optional[ReplyFault]:
        """The fault that is to strike a command whose reply has come."""
        faults = [fault for fault in self._faults if isinstance(fault, ReplyFault)]
        return next(iter([fault for fault in faults if fault.due_on(link, command, reply)]), None)

    def _place(self, fault: Kind) -> Kind:
        def place() -> None:
            self._faults.append(fault)
            if isinstance(fault, Condition):
                for link in self.links.values():
                    fault.apply(link)

        self.run(place)
        return fault

    def _listen_again(self) -> None:
        listener = listening_socket(self.port)

        async def serve() -> None:
            self._listener = await self._loop.create_server(lambda: ClientSide(self), sock=listener)

        self._start(serve())

    def _start(self, work: Coroutine[object, object, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _shut_down(self) -> None:
        if self._listener is not None:
            self._listener.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for link in self.links.values():
            link.cut()
        # Transports close their sockets one round of the loop after abort().
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    def _note_error(self, loop: asyncio.AbstractEventLoop, context: Dict[str, object]) -> None:
        error = context.get("exception")
        self._errors.append(error if isinstance(error, BaseException) else RuntimeError(str(context)))

    def _raise_errors(self) -> None:
        if self._errors:
            error, self._errors = self._errors[0], []
            raise RuntimeError(f"an error on the proxy's thread: {error!r}") from error
