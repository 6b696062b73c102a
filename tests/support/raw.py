# SPDX-License-Identifier: Apache-2.0
"""A client that sends and reads when told to, and no sooner: for lost replies, pipelines, and sudden departures."""

from __future__ import annotations

import socket
import struct
import time
from collections import deque
from types import TracebackType
from typing import Deque, Optional, Tuple, Type

from .resp import FrameReader, Value, Word, encode_command


class RawClient:
    """One connection to a server or proxy at (host, port)."""

    def __init__(self, address: Tuple[str, int]) -> None:
        self._socket = socket.create_connection(address, timeout=5.0)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._reader = FrameReader()
        self._replies: Deque[Value] = deque()
        self.port = int(self._socket.getsockname()[1])

    def send(self, *words: Word) -> None:
        """Send a command without waiting for its reply."""
        self.send_bytes(encode_command(*words))

    def send_bytes(self, data: bytes) -> None:
        """Send any bytes."""
        self._socket.sendall(data)

    def read(self, timeout: float = 5.0) -> Value:
        """The next reply; TimeoutError if none comes, EOFError or ConnectionResetError if the connection is over."""
        deadline = time.monotonic() + timeout
        while not self._replies:
            self._socket.settimeout(max(deadline - time.monotonic(), 0.001))
            try:
                data = self._socket.recv(65_536)
            except socket.timeout:
                raise TimeoutError(f"no reply in {timeout} s") from None
            if not data:
                raise EOFError("the connection was closed")
            self._replies.extend(frame.value for frame in self._reader.feed(data))
        return self._replies.popleft()

    def call(self, *words: Word) -> Value:
        """Send a command and read a reply."""
        return self.call_within(5.0, *words)

    def call_within(self, timeout: float, *words: Word) -> Value:
        """Send a command and read a reply, which must come within `timeout` seconds."""
        self.send(*words)
        return self.read(timeout)

    def finish_sending(self) -> None:
        """Close the sending side only."""
        self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def reset(self) -> None:
        """Close the connection with RST."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()

    def __enter__(self) -> RawClient:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()
