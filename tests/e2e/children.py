# SPDX-License-Identifier: Apache-2.0
"""Other processes that hold and wait for locks: the test's side of child_main.py."""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Dict, Optional, Type

_PROGRAM = str(Path(__file__).with_name("child_main.py"))


class ChildProcess:
    """A process with a redlatch client of its own that works with one lock."""

    def __init__(self, url: str, name: str, **options: Any) -> None:
        self._process = subprocess.Popen(
            [sys.executable, _PROGRAM, url, name, json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._results: queue.Queue[Any] = queue.Queue()
        self._events: queue.Queue[Dict[str, Any]] = queue.Queue()
        self._reader = threading.Thread(target=self._read, name="e2e-child", daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            news = json.loads(line)
            if "event" in news:
                self._events.put(news)
            else:
                self._results.put(news["result"])

    def send(self, call: str, *arguments: Any) -> None:
        """Let the process make a call. A stopped process makes it when it continues."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([call, *arguments]) + "\n")
        self._process.stdin.flush()

    def result(self, timeout: float = 30.0) -> Any:
        """Returns the result of the oldest call whose result was not returned yet. The first one includes the start of
        the process."""
        try:
            return self._results.get(timeout=timeout)
        except queue.Empty:
            raise AssertionError(f"no result within {timeout} s (exit status {self._process.poll()})") from None

    def call(self, call: str, *arguments: Any) -> Any:
        """Let the process make a call. Returns its result."""
        self.send(call, *arguments)
        return self.result()

    def event(self, timeout: float = 30.0) -> Dict[str, Any]:
        """Returns the next loss that the process reports."""
        try:
            return self._events.get(timeout=timeout)
        except queue.Empty:
            raise AssertionError(f"no event within {timeout} s (exit status {self._process.poll()})") from None

    def signal(self, number: signal.Signals) -> float:
        """Send a signal. Returns the time before it was sent."""
        sent_at = time.monotonic()
        self._process.send_signal(number)
        return sent_at

    def close(self) -> None:
        """Kill the process, whatever it is doing."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self._process.stdout.close()
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass

    def __enter__(self) -> ChildProcess:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()
