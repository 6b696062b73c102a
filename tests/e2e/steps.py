# SPDX-License-Identifier: Apache-2.0
"""The steps of a lock, for tests in which replies get lost. One call makes a step, and one call checks its result."""

from __future__ import annotations

import threading
from typing import Callable, Dict, List, Optional, Type

import redlatch
from support import Monitor, RedisServer, Script, wait_until
from support.wire import SCRIPTS, counts, fields, load_scripts
from waiters import Waiting


class Call:
    """A call on its own thread. The owner of a step's lock is the handle, so any thread may call it."""

    def __init__(self, function: Callable[[], object]) -> None:
        self._function = function
        self._value: object = None
        self._error: Optional[BaseException] = None
        self._thread = threading.Thread(target=self._run, name="e2e-call", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._value = self._function()
        except BaseException as error:
            self._error = error

    @property
    def done(self) -> bool:
        """Returns whether the call has returned or raised."""
        return not self._thread.is_alive()

    def result(self, timeout: float = 10.0) -> object:
        """Returns what the call returned, or raises what it raised."""
        self._thread.join(timeout)
        assert self.done, f"the call is not done within {timeout} s"
        if self._error is not None:
            raise self._error
        return self._value

    def error(self, timeout: float = 10.0) -> Optional[BaseException]:
        """Returns what the call raised, or None."""
        self._thread.join(timeout)
        assert self.done, f"the call is not done within {timeout} s"
        return self._error


class Step:
    """A lock in the state before one command. `timeout` is how long an acquire of the step waits, in seconds."""

    script_name = ""
    # The hold counts on the server after the step was made, and after it was given up.
    made: List[int] = []
    given_up: List[int] = []

    def __init__(
        self, server: RedisServer, monitor: Monitor, client: redlatch.Client, name: str, timeout: float = 10.0
    ) -> None:
        load_scripts(server)
        self.server = server
        self.monitor = monitor
        self.client = client
        self.name = name
        self.timeout = timeout
        self.lock = client.lock(name, owner="handle")
        self.prepare()

    @property
    def script(self) -> Script:
        """The script that is sent for the step."""
        return SCRIPTS[self.script_name]

    def prepare(self) -> None:
        """Bring the lock into the state before the step."""

    def make(self) -> None:
        """Make the step."""
        raise NotImplementedError

    def check_made(self) -> None:
        """Check that the step was made exactly once, in the client and on the server."""
        assert counts(self.server, self.name) == self.made
        assert self.lock.hold_count() == sum(self.made)
        if self.made:
            held = self.lock.held()
            assert held is not None and set(fields(self.server, self.name)) == {held.owner.encode()}

    def wait_given_up(self) -> None:
        """Wait until all calls that take part in the step have given up."""

    def check_given_up(self) -> None:
        """Check the state after the step was given up: an acquire is undone, a release is carried out."""
        wait_until(lambda: self.lock.hold_count() == sum(self.given_up))
        assert counts(self.server, self.name) == self.given_up

    def finish(self) -> None:
        """Release the lock completely, and check that it is free."""
        for _ in range(self.lock.hold_count()):
            self.lock.release()
        assert fields(self.server, self.name) == {}


class Acquire(Step):
    """The first acquire."""

    script_name = "acquire"
    made = [1]

    def make(self) -> None:
        assert self.lock.acquire(timeout=self.timeout)


class Reenter(Step):
    """A nested acquire."""

    script_name = "reenter"
    made = [2]
    given_up = [1]

    def prepare(self) -> None:
        self.lock.acquire()

    def make(self) -> None:
        assert self.lock.acquire(timeout=self.timeout)


class PartialRelease(Step):
    """The first release of a hold with hold count 2."""

    script_name = "release"
    made = [1]
    given_up = [1]

    def prepare(self) -> None:
        self.lock.acquire()
        self.lock.acquire()

    def make(self) -> None:
        self.lock.release()


class Release(Step):
    """The release of a hold with hold count 1."""

    script_name = "release"

    def prepare(self) -> None:
        self.lock.acquire()

    def make(self) -> None:
        self.lock.release()


class HandOver(Step):
    """A release while another thread of the client waits for the lock, for longer than the release may take."""

    script_name = "hand_over"
    made = [1]

    def prepare(self) -> None:
        self.lock.acquire()
        before = self.client.stats()["round_trips"]
        self.waiter = self.client.lock(self.name, owner="handle")
        self.waiting = Waiting(self.waiter, 3 * self.timeout, keep=True)
        # The waiter acquires, subscribes, rechecks, and is parked after that second command.
        wait_until(lambda: self.client.stats()["round_trips"] == before + 2)

    def make(self) -> None:
        self.lock.release()

    def check_made(self) -> None:
        assert self.waiting.result() is True
        held = self.waiter.held()
        assert held is not None and held.count == 1 and not held.lost
        assert fields(self.server, self.name) == {held.owner.encode(): b"1"}
        assert self.lock.hold_count() == 0

    def wait_given_up(self) -> None:
        try:
            assert self.waiting.result() is False
        except redlatch.UnreachableError as error:
            assert error.status_name == "no_reply", error

    def check_given_up(self) -> None:
        super().check_given_up()
        assert self.waiter.hold_count() == 0

    def finish(self) -> None:
        if self.waiting.granted:
            self.waiting.leave()
        super().finish()


STEPS: Dict[str, Type[Step]] = {
    "acquire": Acquire,
    "reenter": Reenter,
    "partial_release": PartialRelease,
    "release": Release,
    "hand_over": HandOver,
}
