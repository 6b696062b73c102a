# SPDX-License-Identifier: Apache-2.0
"""A TCP relay between a replica and its master, which delays what the master sends.

    with Lag(master.address) as lag:
        replica = RedisServer(replicaof=["127.0.0.1", str(lag.port)])
        lag.seconds = 5.0           # for everything that comes from now on

What the replica sends, such as its acknowledgements, is not delayed.
"""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from queue import SimpleQueue
from types import TracebackType
from typing import Callable, List, Optional, Tuple, Type

from .ports import listen_anywhere

Bytes = Tuple[float, bytes]  # when they are due, and the bytes; empty bytes end the stream


class Lag:
    """The relay. It ends with its `with` block. A connection ends when one of its peers ends it."""

    def __init__(self, master: Tuple[str, int]) -> None:
        self.seconds = 0.0
        self._master = master
        self._sockets: List[socket.socket] = []
        self._listener, self.port = listen_anywhere()
        self._start(self._accept)

    @staticmethod
    def _start(function: Callable[..., None], *arguments: object) -> None:
        threading.Thread(target=function, args=arguments, name="lag", daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                replica, _ = self._listener.accept()
                master = socket.create_connection(self._master)
                self._sockets += [replica, master]
                late: SimpleQueue[Bytes] = SimpleQueue()
                self._start(self._copy, replica, master)
                self._start(self._receive, master, late)
                self._start(self._deliver, late, replica)

    @staticmethod
    def _copy(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _receive(self, master: socket.socket, late: SimpleQueue[Bytes]) -> None:
        data = b"?"
        while data:
            try:
                data = master.recv(65536)
            except OSError:
                data = b""
            late.put((time.monotonic() + self.seconds, data))

    @staticmethod
    def _deliver(late: SimpleQueue[Bytes], replica: socket.socket) -> None:
        with suppress(OSError):
            while True:
                due, data = late.get()
                time.sleep(max(0.0, due - time.monotonic()))
                if not data:
                    break
                replica.sendall(data)
            replica.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End it and all connections."""
        for each in (self._listener, *self._sockets):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def __enter__(self) -> Lag:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()
