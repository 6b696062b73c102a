# SPDX-License-Identifier: Apache-2.0
"""A TLS endpoint in front of a plain server. It records which sessions were resumed, can end sessions but not their
connections, and can send records in small pieces."""

from __future__ import annotations

import select
import socket
import ssl
import threading
from types import TracebackType
from typing import List, Optional, Type

from .certificates import Certificate

__all__ = ["TlsFront"]

_TURN = 0.02


class TlsFront:
    """Accepts TLS and passes the plaintext to a server; `piece` is how many bytes of ciphertext it sends at once."""

    def __init__(self, own: Certificate, server_port: int, *, piece: int = 1 << 16) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(own.file, own.key)
        self._server_port = server_port
        self._piece = piece
        self._stopping = threading.Event()
        self._ended = 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.resumed: List[bool] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    @property
    def url(self) -> str:
        """Its address."""
        return f"rediss://127.0.0.1:{self._listening.getsockname()[1]}"

    def end_sessions(self) -> None:
        """End the TLS session of each connection (close_notify), and leave the connections open."""
        self._ended = len(self._threads)

    def __enter__(self) -> TlsFront:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self._stopping.set()
        self._listening.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._listening.close()

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            number = len(self._threads)
            self._threads.append(threading.Thread(target=self._serve, args=(near, number)))
            self._threads[-1].start()

    def _serve(self, near: socket.socket, number: int) -> None:
        with near, socket.create_connection(("127.0.0.1", self._server_port)) as far:
            near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
            session = self._context.wrap_bio(incoming, outgoing, server_side=True)
            try:
                self._pump(near, far, session, incoming, outgoing, number)
            except (OSError, ssl.SSLError):
                return

    def _pump(
        self, near: socket.socket, far: socket.socket, session: ssl.SSLObject, incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO, number: int,
    ) -> None:
        done = ended = False
        while not self._stopping.is_set():
            readable, _, _ = select.select([near, far], [], [], _TURN)
            if near in readable:
                got = near.recv(65536)
                if not got:
                    return
                incoming.write(got)
            try:
                if not done:
                    session.do_handshake()
                    done = True
                    self.resumed.append(bool(session.session_reused))
                while not ended:
                    plain = session.read(65536)
                    if not plain:
                        return  # the client has ended the session
                    far.sendall(plain)
            except ssl.SSLWantReadError:
                pass
            if far in readable:
                got = far.recv(65536)
                if not got:
                    return
                if not ended:
                    session.write(got)
            if done and not ended and number < self._ended:
                ended = True
                try:
                    session.unwrap()
                except ssl.SSLWantReadError:
                    pass
            self._send(near, outgoing)

    def _send(self, near: socket.socket, outgoing: ssl.MemoryBIO) -> None:
        while outgoing.pending:
            near.sendall(outgoing.read(self._piece))
