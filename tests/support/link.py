# SPDX-License-Identifier: Apache-2.0
"""One proxied connection: two pipes, and the pairing of replies with commands.

Everything here runs on the proxy's thread. The end of a stream goes through its pipe, too, so a held command is
delivered even if the client is gone. Replies are paired with commands by order; CLIENT REPLY is not supported.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Deque, Optional, Set, Union, cast

from .faults import Command, Hit, Outcome
from .pipe import EOF, Canned, Data, End, Pipe
from .resp import Frame, FrameReader, ProtocolError, Push, Value

if TYPE_CHECKING:
    from .proxy import Connection, Proxy

_MESSAGES = {b"message", b"pmessage", b"smessage"}
_CONFIRMATIONS = {b"subscribe", b"psubscribe", b"ssubscribe", b"unsubscribe", b"punsubscribe", b"sunsubscribe"}
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


@dataclass
class Expected:
    """A reply that the server has not sent yet."""

    command: Command
    hit: Optional[Hit]
    swallow: bool
    confirmations: int
    seen: bool = False


class Link:
    """A client's connection and the connection to the server made for it."""

    def __init__(self, proxy: Proxy, connection: Connection, loop: asyncio.AbstractEventLoop) -> None:
        self.proxy = proxy
        self.connection = connection
        self._loop = loop
        self.client: Optional[asyncio.Transport] = None
        self.server: Optional[asyncio.Transport] = None
        self.to_server = Pipe(loop, self._emit_to_server)
        self.to_client = Pipe(loop, self._emit_to_client)
        self.obligations: Set[Hit] = set()
        self._commands: Optional[FrameReader] = FrameReader(commands=True)
        self._replies: Optional[FrameReader] = FrameReader()
        self._expected: Deque[Union[Expected, Canned]] = deque()
        self._subscribed = False
        self._closing_server = False
        self._cut = False

    @property
    def ended(self) -> bool:
        """Whether neither side is open, nor will be opened."""
        open_yet = self.connection.client_open or self.connection.server_open
        return not open_yet and (self._cut or self.server is not None)

    # ------------------------------------------------------------------------------------------ client to server --

    def client_data(self, data: bytes) -> None:
        """Bytes came from the client."""
        if self._commands is None:
            self.to_server.put(Data(data))
            return
        try:
            frames = self._commands.feed(data)
        except ProtocolError:
            # Bytes that are not RESP are passed on; command faults do not see them.
            frames, rest, self._commands = [], self._commands.take_rest(), None
            self.to_server.put(Data(rest))
        for frame in frames:
            if not self.connection.client_open:
                return
            command = Command(frame.value, frame.raw)
            self.proxy.record(self.connection, command)
            fault = self.proxy.due_before(self, command)
            if fault is None:
                self.forward(command)
            else:
                fault.strike_command(self, fault.note(self, command), command)

    def forward(self, command: Command, hit: Optional[Hit] = None, swallow_reply: bool = False) -> None:
        """Send a command on towards the server."""
        self.to_server.put(Data(command.raw, command, hit, swallow_reply))

    def _emit_to_server(self, item: Union[Data, Canned, End], piece: bytes) -> None:
        if isinstance(item, End):
            self._closing_server = True
            self.close_server_if_done()
        elif isinstance(item, Canned):
            self._expected.append(item)
            self._send_canned()
        elif self.server is None or self.server.is_closing():
            if item.hit is not None:
                self.quiesce(item.hit, EOF)
        else:
            if item.command is not None and item.sent == 0 and item.command.word:
                self._expect(item.command, item.hit, item.swallow_reply)
            self.server.write(piece)

    def _expect(self, command: Command, hit: Optional[Hit], swallow: bool) -> None:
        confirmations = 0
        if command.word.lower().encode() in _CONFIRMATIONS:
            self._subscribed = True
            confirmations = max(1, len(command.arguments) - 1)
        self._expected.append(Expected(command, hit, swallow, confirmations))

    # ------------------------------------------------------------------------------------------ server to client --

    def server_data(self, data: bytes) -> None:
        """Bytes came from the server."""
        if self._replies is None:
            self.to_client.put(Data(data))
            return
        try:
            frames = self._replies.feed(data)
        except ProtocolError:
            frames, rest, self._replies = [], self._replies.take_rest(), None
            self.to_client.put(Data(rest))
        for frame in frames:
            if self._cut:
                return
            self._reply(frame)
            self._send_canned()

    def _reply(self, frame: Frame) -> None:
        expected = self._expected_for(frame.value)
        if expected is None:
            self.to_client.put(Data(frame.raw))
            return
        if expected.hit is not None:
            self.quiesce(expected.hit, Outcome("reply", frame.value))
        if expected.swallow:
            return
        fault = self.proxy.due_after(self, expected.command, frame.value)
        if fault is None:
            self.to_client.put(Data(frame.raw))
            return
        hit = fault.note(self, expected.command, fault.outcome_of(frame.value))
        fault.strike_reply(self, hit, frame)

    def _expected_for(self, value: Value) -> Optional[Expected]:
        """The command that a frame answers. None if the server sent it unasked, or if it confirms a further channel."""
        kind = value[0] if isinstance(value, list) and value and isinstance(value[0], bytes) else b""
        confirming = self._subscribed and kind in _CONFIRMATIONS
        unasked = isinstance(value, Push) or (self._subscribed and kind in _MESSAGES)
        first = self._expected[0] if self._expected else None
        if not isinstance(first, Expected) or (unasked and not confirming):
            return None
        if confirming and first.confirmations == 0:
            return None
        first.confirmations -= 1
        if first.confirmations <= 0 or not confirming:
            self._expected.popleft()
        was_seen, first.seen = first.seen, True
        return None if was_seen else first

    def _send_canned(self) -> None:
        while self._expected and isinstance(self._expected[0], Canned):
            canned = self._expected.popleft()
            assert isinstance(canned, Canned)
            self.to_client.put(Data(canned.reply))

    def _emit_to_client(self, item: Union[Data, Canned, End], piece: bytes) -> None:
        if self.client is None or self.client.is_closing():
            return
        if isinstance(item, End):
            self.client.close()
        else:
            self.client.write(piece)

    # ------------------------------------------------------------------------------------------------------- ends --

    def server_connected(self, transport: asyncio.Transport) -> None:
        """The connection to the server was made. It is used unless both sides were cut meanwhile."""
        self.server = transport
        address = transport.get_extra_info("sockname")
        self.connection.server_port = address[1] if isinstance(address, tuple) else None
        self.connection.server_open = True
        if self._cut:
            reset_soon(transport, self._loop)

    def client_ended(self) -> None:
        """The client closed or reset its connection."""
        if self.connection.client_open:
            self.connection.client_open = False
            self.to_server.put(End())

    def server_ended(self) -> None:
        """The server closed or reset its connection."""
        if self.connection.server_open:
            self.connection.server_open = False
            for expected in self._expected:
                if isinstance(expected, Expected) and expected.hit is not None:
                    self.quiesce(expected.hit, EOF)
            self.to_client.put(End())

    def quiesce(self, hit: Hit, outcome: Outcome) -> None:
        """Record the outcome of a hit, which does not need the server's side any more."""
        hit.quiesce(outcome)
        self.obligations.discard(hit)
        self.close_server_if_done()

    def close_server_if_done(self) -> None:
        """Pass the client's end of stream on, if it has come through the pipe and no fault needs the server's side."""
        if self._closing_server and not self.obligations and self.server is not None and not self.server.is_closing():
            self.server.write_eof()

    def cut(self, server_too: bool = True) -> None:
        """Reset the client's side, and with `server_too` the server's side."""
        reset(self.client)
        self.connection.client_open = False
        if server_too:
            self._cut = True
            self.to_server.clear()
            reset(self.server)
        else:
            self.to_server.put(End())


def reset(transport: Optional[asyncio.Transport]) -> None:
    """Close a connection with RST. What is not sent yet is dropped."""
    if transport is None:
        return
    connection: Optional[socket.socket] = transport.get_extra_info("socket")
    if connection is not None and connection.fileno() >= 0 and connection.family != socket.AF_UNIX:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
    transport.abort()


def reset_soon(transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
    """reset() for a new transport, a moment later: asyncio begins to read from it only after connection_made()."""
    loop.call_soon(reset, transport)


class ClientSide(asyncio.Protocol):
    """Receives what a client sends."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self._link: Optional[Link] = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._link = self._proxy.accept(cast(asyncio.Transport, transport))

    def data_received(self, data: bytes) -> None:
        assert self._link is not None
        self._link.client_data(data)

    def eof_received(self) -> bool:
        # A client may close its sending side only and still read; the server decides when it is over.
        assert self._link is not None
        self._link.client_ended()
        return True

    def connection_lost(self, error: Optional[Exception]) -> None:
        assert self._link is not None
        self._link.client_ended()


class ServerSide(asyncio.Protocol):
    """Receives what the server sends."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._link.server_connected(cast(asyncio.Transport, transport))

    def data_received(self, data: bytes) -> None:
        self._link.server_data(data)

    def connection_lost(self, error: Optional[Exception]) -> None:
        self._link.server_ended()
