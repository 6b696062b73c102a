# SPDX-License-Identifier: Apache-2.0
"""Running drivers, and how the runner talks to them. A driver lives for many traces."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
from contextlib import ExitStack, suppress
from typing import Any, Dict, List, NoReturn, Protocol

from .drivers import Driver
from .mismatch import Mismatch

ANSWER_SECONDS = 30.0

Answer = Dict[str, Any]


class Speaker(Protocol):
    """The interface through which a trace is played."""

    driver: Driver

    def ask(self, call: Dict[str, Any]) -> Answer:
        """Returns the answer to one call."""

    def reset(self) -> None:
        """Ends all that the trace has begun. The next trace finds nothing of it."""

    def give_up(self) -> None:
        """Called after a trace has failed. Nothing of it may disturb the next trace."""


class DriverProcess:
    """A running driver. If it ends, does not answer or prints anything but an answer, Mismatch is raised."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.running = True
        with ExitStack() as stack:
            self._errors = stack.enter_context(tempfile.TemporaryFile())
            self._process = subprocess.Popen(
                driver.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env={**os.environ, **driver.environment},
                start_new_session=True,
            )
            self._stack = stack.pop_all()

    def ask(self, call: Dict[str, Any]) -> Answer:
        """Sends one call and returns its answer."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(call).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            self._fail("has ended before this call")
        timeout = threading.Timer(ANSWER_SECONDS, self._kill)
        timeout.start()
        try:
            line = self._process.stdout.readline()
        finally:
            timeout.cancel()
        if not line:
            self._fail(f"gave no answer within {ANSWER_SECONDS:.0f} s, or ended")
        try:
            answer: Any = json.loads(line)
        except ValueError:
            self._fail(f"answered with what is no JSON: {line[:200]!r}")
        if not isinstance(answer, dict) or "error" in answer:
            self._fail(f"could not make the call: {answer}")
        found: Answer = answer
        return found

    def reset(self) -> None:
        """Ends the trace: the driver forgets everything. Neither it nor the library may have printed anything else."""
        answer = self.ask({"call": "reset"})
        if answer != {"reset": True} or self._printed():
            self._fail(f"printed what is no answer: {answer}")

    def give_up(self) -> None:
        """Kills the driver, because its remains must not release its locks later."""
        if self.running:
            self._kill()
            self._close()

    def end(self) -> None:
        """Closes the driver's input. The driver must end by itself with success, and nothing may have been printed
        since the last trace."""
        assert self._process.stdin is not None and self._process.stdout is not None
        timeout = threading.Timer(ANSWER_SECONDS, self._kill)
        timeout.start()
        try:
            self._process.stdin.close()
            rest = self._process.stdout.read()
            status = self._process.wait()
        finally:
            timeout.cancel()
        if status != 0:
            self._fail(f"did not end well within {ANSWER_SECONDS:.0f} s")
        if rest or self._printed():
            self._fail(f"printed what is no answer: {rest[:200]!r}")
        self._close()

    def _printed(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode("utf-8", "replace").strip()

    def _kill(self) -> None:
        """Kills the driver and all processes that it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _fail(self, what: str) -> NoReturn:
        self._kill()
        status = self._process.wait()
        printed = self._printed()[-4000:]
        self._close()
        raise Mismatch(f"the driver {self.driver.name} {what} (status {status})\n{printed}".strip())

    def _close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self.running = False
        self._process.wait()
        with suppress(BrokenPipeError):  # from a call that the driver did not read
            self._process.stdin.close()
        self._process.stdout.close()
        self._stack.close()


class Processes:
    """The running drivers, one process each. A process starts when it is first needed, and again after it was given
    up."""

    def __init__(self) -> None:
        self._processes: Dict[str, DriverProcess] = {}

    def get(self, driver: Driver) -> DriverProcess:
        """Returns the process of a driver. It knows nothing of earlier traces."""
        found = self._processes.get(driver.name)
        if found is None or not found.running:
            found = self._processes[driver.name] = DriverProcess(driver)
        return found

    def close(self) -> None:
        """Ends all drivers. Raises Mismatch if one does not end with success."""
        complaints: List[str] = []
        for process in self._processes.values():
            try:
                if process.running:
                    process.end()
            except Mismatch as mismatch:
                complaints.append(str(mismatch))
        if complaints:
            raise Mismatch("\n".join(complaints))
