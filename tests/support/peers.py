# SPDX-License-Identifier: Apache-2.0
"""A peer program as a subprocess. Requests and answers are JSON lines; each answer is entered in its Pending.

Many requests may be under way at once. A peer belongs to the thread that starts it, and does not outlive it.
"""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import threading
import time
from types import TracebackType
from typing import Any, Dict, List, Optional, Type, TypeVar

from . import bound

Self = TypeVar("Self", bound="Peer")

# Long enough for whatever a test asks of a peer, and shorter than the time limit of a test.
TIMEOUT = 30.0


class PeerError(Exception):
    """A request failed in the peer. `kind` is the class of its exception without the package, or the error's name."""

    def __init__(self, call: str, answer: Dict[str, Any]) -> None:
        self.kind = str(answer["error"]).rpartition(".")[2]
        self.causes = [str(cause).rpartition(".")[2] for cause in answer.get("causes", [])]
        self.message = str(answer.get("message"))
        super().__init__(f"{call}: {self.kind}: {self.message}")


class PeerGone(Exception):
    """The peer's process ended before it answered."""


class Pending:
    """A request under way, or its answer. Times are those of time.monotonic()."""

    def __init__(self, call: str) -> None:
        self.call = call
        self.sent_at = time.monotonic()
        self.ended_at = 0.0
        self._answer: Optional[Dict[str, Any]] = None
        self._ended = threading.Event()

    def end(self, answer: Optional[Dict[str, Any]]) -> None:
        """Enter the answer, or None if there will be none."""
        self.ended_at = time.monotonic()
        self._answer = answer
        self._ended.set()

    @property
    def done(self) -> bool:
        """Whether the request was answered, or never will be."""
        return self._ended.is_set()

    def answer(self, timeout: float = TIMEOUT) -> Dict[str, Any]:
        """The whole answer, also that of a request that failed."""
        assert self._ended.wait(timeout), f"the peer has not answered {self.call} within {timeout} s"
        if self._answer is None:
            raise PeerGone(f"the peer ended before it answered {self.call}")
        return self._answer

    def result(self, timeout: float = TIMEOUT) -> Any:
        """The result; PeerError if the request failed."""
        answer = self.answer(timeout)
        if "error" in answer:
            raise PeerError(self.call, answer)
        return answer["result"]

    def error(self, timeout: float = TIMEOUT) -> PeerError:
        """The error of a request that has to fail."""
        answer = self.answer(timeout)
        assert "error" in answer, f"{self.call} was expected to fail; the answer is {answer}"
        return PeerError(self.call, answer)

    @property
    def ms(self) -> float:
        """How long the call took, by the peer's clock."""
        return float(self.answer()["ms"])


class Peer:
    """One process of a peer program."""

    def __init__(self, command: List[str]) -> None:
        self._process = subprocess.Popen(bound(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._numbers = itertools.count(1)
        self._sending = threading.Lock()
        self._changed = threading.Lock()
        self._pending: Dict[int, Pending] = {}
        self._ended = False
        self._reader = threading.Thread(target=self._read, name="interop-peer", daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            answer = json.loads(line)
            with self._changed:
                pending = self._pending.pop(answer["id"])
            pending.end(answer)
        with self._changed:
            self._ended = True
            left = list(self._pending.values())
            self._pending.clear()
        for pending in left:
            pending.end(None)

    def send(self, request: Dict[str, Any]) -> Pending:
        """Send a request. Its answer will be entered in what this returns."""
        pending = Pending(str(request.get("call")))
        with self._changed:
            number = next(self._numbers)
            if not self._ended:
                self._pending[number] = pending
        if self._ended:
            pending.end(None)
            return pending
        assert self._process.stdin is not None
        with self._sending:
            try:
                self._process.stdin.write(json.dumps({**request, "id": number}) + "\n")
                self._process.stdin.flush()
            except BrokenPipeError:
                pass  # the reader sees the end, and ends what is pending
        return pending

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def pause(self) -> None:
        """Stop the process (SIGSTOP)."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a stopped process go on."""
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> float:
        """Kill the process (SIGKILL), stopped or not; return the time of that."""
        at = time.monotonic()
        self._process.kill()
        self._process.wait()
        self._reader.join()
        return at

    def close(self) -> None:
        """Kill the process, if it lives, and close the pipes."""
        self.kill()
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdout.close()
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()
