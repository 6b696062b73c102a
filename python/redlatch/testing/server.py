"""Server: a private Redis or Valkey server for tests.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
import weakref
from pathlib import Path
from types import TracebackType
from typing import Optional, Type

PROGRAMS = ("redis-server", "valkey-server")
START_TIMEOUT = 15.0
POLL = 0.005
# Short, because another program that has taken the port may never reply.
ANSWER_TIMEOUT = 0.25
REPLY_TIMEOUT = 5.0
# Another program may take a port between the choice and the start.
PORT_TRIES = 20
# The shell becomes the server. A child of the shell waits for the end of a pipe that the test process holds, so that
# the server ends with the test process, however the test process ends.
LAUNCHER = 'exec 3<&0 </dev/null; { cat <&3 >/dev/null; kill -9 $$; } & exec 3<&-; exec "$@"'


class Server:
    """A server that belongs to this process: it listens on 127.0.0.1, is empty, writes no data to the disk, and ends
    with close() or with the process.

    Example:
        >>> with Server() as server, redlatch.connect(server.url) as client:
        ...     client.lock("orders:42").acquire(blocking=False)
        True
    """

    def __init__(self) -> None:
        program = next(filter(None, map(shutil.which, PROGRAMS)), None)
        if program is None:
            raise FileNotFoundError(
                f"none of {', '.join(PROGRAMS)} is in PATH; expected one of the packages redis-server (Debian), "
                "redis (Fedora, Alpine, Homebrew) or valkey to be installed"
            )
        self._program = program
        self._folder = Path(tempfile.mkdtemp(prefix="redlatch-testing-"))
        self._log = self._folder / "log"
        self._process: Optional[subprocess.Popen[bytes]] = None
        _everybody.add(self)
        try:
            self.port = self._start()
        except BaseException:
            self.close()
            raise

    @property
    def url(self) -> str:
        """Its URL, as redlatch.connect() and most other libraries take it."""
        return f"redis://127.0.0.1:{self.port}/0"

    def clear(self) -> None:
        """Removes all data: locks, semaphores, latches, the counters of tokens. All holds are lost."""
        self._ask("FLUSHALL")

    def close(self) -> None:
        """Ends the server and removes its folder. Closing twice is harmless."""
        process, self._process = self._process, None
        if process is not None:
            assert process.stdin is not None
            # The launcher's child kills it. The process id stays taken until wait().
            process.stdin.close()
            process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _begin_child(self) -> None:
        """Called in a forked child. Its copy of the pipe would keep the server running after close() of the parent."""
        process = self._process
        if process is not None and process.stdin is not None:
            process.stdin.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<redlatch.testing.Server at {self.url}, {'closed' if self._process is None else 'running'}>"

    def _start(self) -> int:
        """Starts the server on a free port, and returns the port when the server replies."""
        for _ in range(PORT_TRIES):
            self.port = _free_port()
            if self._start_here():
                return self.port
        raise RuntimeError(f"found no free port for {self._program} in {PORT_TRIES} tries")

    def _start_here(self) -> bool:
        """Starts the server on self.port. Returns False if another program has taken the port."""
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        options += ["--dir", str(self._folder), "--daemonize", "no"]
        with self._log.open("wb") as log:
            self._process = process = subprocess.Popen(
                ["/bin/sh", "-c", LAUNCHER, "sh", self._program, *options],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C goes to the tests only, which then end the server
            )
        deadline = time.monotonic() + START_TIMEOUT
        while process.poll() is None and time.monotonic() < deadline:
            if f"process_id:{process.pid}\r" in self._answer():
                return True
            time.sleep(POLL)
        log_text = self._log.read_text(encoding="utf-8", errors="replace")
        if process.poll() is not None and "Address already in use" in log_text:
            return False
        raise RuntimeError(f"{self._program} did not start at port {self.port}:\n{log_text}")

    def _answer(self) -> str:
        """Returns the reply to INFO of the program that listens at the port; empty if there is none."""
        try:
            return self._ask("INFO server", ANSWER_TIMEOUT)
        except OSError:
            return ""

    def _ask(self, command: str, timeout: float = REPLY_TIMEOUT) -> str:
        """Sends a command, and returns its reply and what follows it."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as connection:
            connection.sendall(f"{command}\r\nQUIT\r\n".encode())
            received = b""
            while True:
                part = connection.recv(65536)
                if not part:
                    return received.decode("utf-8", "replace")
                received += part


# All servers, for a forked child.
_everybody: weakref.WeakSet[Server] = weakref.WeakSet()


def _begin_child() -> None:
    for server in list(_everybody):
        server._begin_child()


os.register_at_fork(after_in_child=_begin_child)


def _free_port() -> int:
    """Returns a port that nobody uses at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
