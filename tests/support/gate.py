# SPDX-License-Identifier: Apache-2.0
"""A gate in front of a server for bytes of any protocol, TLS too: it can be shut in either direction.

    with Gate(port) as gate:
        gate.replies.clear()        # what the server sends waits in the gate, until gate.replies.set()
        gate.requests.clear()       # the gate no longer reads what clients send, until gate.requests.set()
"""

from __future__ import annotations

import socket
import threading
from types import TracebackType
from typing import List, Optional, Type

__all__ = ["Gate"]

_TURN = 0.05
_WINDOW = 4096


class Gate:
    """Listens on a port of its own, at 127.0.0.1 or another address of this machine."""

    def __init__(self, server_port: int, *, host: str = "127.0.0.1") -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._server_port = server_port
        self._listener = socket.socket(family)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _WINDOW)  # so that it fills soon
        self._listener.bind((host, 0))
        self._listener.listen(64)
        self._stopping = threading.Event()
        self.requests, self.replies = threading.Event(), threading.Event()
        self.requests.set()
        self.replies.set()
        self.connections = 0
        self.received = 0  # bytes from clients
        self.ended = 0  # connections that clients closed
        self.host = f"[{host}]" if ":" in host else host
        self.port = self._listener.getsockname()[1]
        self._threads: List[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept)
        self._accepting.start()

    def url(self, scheme: str = "rediss") -> str:
        """Its address."""
        return f"{scheme}://{self.host}:{self.port}"

    def __enter__(self) -> Gate:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self._stopping.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self.requests.set()
        self.replies.set()
        self._accepting.join()
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._threads.append(threading.Thread(target=self._serve, args=(near,)))
            self._threads[-1].start()

    def _serve(self, near: socket.socket) -> None:
        with near, socket.create_connection(("127.0.0.1", self._server_port)) as far:
            near.settimeout(_TURN)
            far.settimeout(_TURN)
            back = threading.Thread(target=self._pass, args=(far, near, self.replies))
            back.start()
            self._pass(near, far, self.requests)
            back.join()

    def _pass(self, source: socket.socket, target: socket.socket, is_open: threading.Event) -> None:
        """Pass on what comes, until one side ends; then end both."""
        from_client = is_open is self.requests
        while not self._stopping.is_set():
            if not is_open.wait(_TURN):
                continue
            try:
                data = source.recv(1 << 16)
            except socket.timeout:
                continue
            except OSError:
                data = b""
            self.received += len(data) if from_client else 0
            if not data or not self._send(target, data, is_open):
                self.ended += from_client
                break
        for each in (source, target):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def _send(self, target: socket.socket, data: bytes, is_open: threading.Event) -> bool:
        while not is_open.wait(_TURN) and not self._stopping.is_set():
            pass
        while data and not self._stopping.is_set():
            try:
                data = data[target.send(data):]
            except socket.timeout:
                continue
            except OSError:
                return False
        return not data
