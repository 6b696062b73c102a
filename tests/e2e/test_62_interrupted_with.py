# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while a `with` is entered or left: nothing stays held.

From 3.10 on Python checks for signals after each call of a C function and at the beginning of each Python function; 3.9
also checks between other instructions. The tests raise KeyboardInterrupt at each place of 3.10 in redlatch's code, one
after the other. The only place left out is the beginning of the outermost function, such as `__exit__`, where redlatch
can do nothing.
"""

from __future__ import annotations

import dis
import sys
from pathlib import Path
from types import FrameType
from typing import Any, Callable, ContextManager, Dict, Iterator, Optional, Tuple, Type

import pytest
import redlatch
from redlatch.compat import redis_py
from support import RedisServer, wait_until

PACKAGE = str(Path(redlatch.__file__).parent)
Make = Callable[[redlatch.Client, str], "ContextManager[Any]"]


class Interrupter:
    """Raises KeyboardInterrupt at the place with this number, counted from arm()."""

    def __init__(self, place: int) -> None:
        self._places_left = place
        self._outermost: Optional[FrameType] = None  # the first frame in redlatch after arm()
        self._called: Dict[Optional[FrameType], bool] = {}  # whether the last instruction was a call of a C function
        self.struck = False

    def arm(self) -> None:
        """Begins to count. Call it directly before the tested call."""
        sys.settrace(self._trace)

    def disarm(self) -> None:
        """Ends the counting. Call it directly after the tested call."""
        sys.settrace(None)

    def _trace(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "call":
            frame.f_trace_opcodes = True
            self._called[frame.f_back] = False
            if self._outermost is None:
                self._outermost = frame
            else:
                self._pass()
        elif event == "opcode":
            if self._called.get(frame):
                self._pass()
            self._called[frame] = dis.opname[frame.f_code.co_code[frame.f_lasti]].startswith("CALL")
        return self._trace

    def _pass(self) -> None:
        if self._places_left == 0:
            self.struck = True
            self.disarm()
            raise KeyboardInterrupt
        self._places_left -= 1


class BeforeTheGrant(Interrupter):
    """Raises KeyboardInterrupt before an instruction of _obtain() up to the one that follows the acquire, as CPython
    3.9 may."""

    def _trace(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if frame.f_code.co_name == "_obtain":
            frame.f_trace_opcodes = True
            if event == "opcode" and "status" not in frame.f_locals:
                self._pass()
        return self._trace


def at_each_place(kind: Type[Interrupter] = Interrupter) -> Iterator[Tuple[int, Interrupter]]:
    """Yields the number of each place and its Interrupter, up to the first one that strikes nothing."""
    place, struck = 0, True
    while struck:
        interrupter = kind(place)
        yield place, interrupter
        struck = interrupter.struck
        place += 1
    assert place > 1, "there was no place to interrupt"


def made_semaphore(client: redlatch.Client, name: str) -> ContextManager[Any]:
    """A semaphore with two permits."""
    semaphore = client.semaphore(name)
    semaphore.try_set_permits(2)
    return semaphore


def made_permit_semaphore(client: redlatch.Client, name: str) -> redlatch.PermitSemaphore:
    """A permit semaphore with two permits."""
    semaphore = client.permit_semaphore(name)
    semaphore.try_set_permits(2)
    return semaphore


def a_permit(client: redlatch.Client, name: str) -> ContextManager[Any]:
    """A permit that was acquired."""
    permit = made_permit_semaphore(client, name).acquire()
    assert permit
    return permit


def what_is_held(server: RedisServer, name: str) -> int:
    """Returns how many permits are acquired, or 1 if a lock is held."""
    admin: Any = server.admin
    kind = admin.type(name)
    value = admin.get(name) if kind == b"string" else b""
    return 2 - int(value) if value.isdigit() else int(kind != b"none")


def nothing_is_held(server: RedisServer, name: str, place: int) -> None:
    """Waits until nothing is held. An acquire that was abandoned in flight is undone by the next command, which a slow
    server may execute after the call has ended."""
    wait_until(lambda: what_is_held(server, name) == 0, message=f"interrupted at place {place}")


MANAGERS: Dict[str, Make] = {
    "lock": lambda client, name: client.lock(name),
    "lock, owned by the object": lambda client, name: client.lock(name, owner="handle"),
    "semaphore": made_semaphore,
    "permit semaphore": made_permit_semaphore,
    "permit": a_permit,
    "redis-py's lock": redis_py.Lock,
    "once": lambda client, name: client.once(name, at_most=60),
}


ENTERED = [name for name in MANAGERS if name != "permit"]  # a permit is acquired before its block
LEFT = [name for name in MANAGERS if name != "once"]  # an interrupted end leaves the lock held, until at_most is over


@pytest.mark.parametrize("make", [MANAGERS[name] for name in ENTERED], ids=ENTERED)
def test_entered(server: RedisServer, client: redlatch.Client, lock_name: str, make: Make) -> None:
    for place, interrupter in at_each_place():
        name = f"{lock_name}:{place}"
        manager = make(client, name)
        try:
            interrupter.arm()
            with manager:
                interrupter.disarm()
                raise ZeroDivisionError
        except (KeyboardInterrupt, ZeroDivisionError):
            pass
        finally:
            interrupter.disarm()
        nothing_is_held(server, name, place)


@pytest.mark.parametrize("make", [MANAGERS[name] for name in LEFT], ids=LEFT)
@pytest.mark.parametrize("fails", [False, True], ids=["ends", "raises"])
def test_left(
    server: RedisServer, client: redlatch.Client, lock_name: str, make: Make, fails: bool
) -> None:
    for place, interrupter in at_each_place():
        name = f"{lock_name}:{place}"
        try:
            with make(client, name):
                assert what_is_held(server, name) == 1
                interrupter.arm()
                if fails:
                    raise ZeroDivisionError
        except (KeyboardInterrupt, ZeroDivisionError):
            pass
        finally:
            interrupter.disarm()
        nothing_is_held(server, name, place)


# The permits of a semaphore have no owner that could release one. A lock of redis-py is not released twice.
RELEASED = [name for name in LEFT if name not in ("semaphore", "redis-py's lock")]


@pytest.mark.parametrize("make", [MANAGERS[name] for name in RELEASED], ids=RELEASED)
def test_released_inside(server: RedisServer, client: redlatch.Client, lock_name: str, make: Make) -> None:
    """What release() did not release is released at the end of the block."""
    for place, interrupter in at_each_place():
        name = f"{lock_name}:{place}"
        try:
            with make(client, name) as held:
                interrupter.arm()
                held.release()
                interrupter.disarm()
        except KeyboardInterrupt:
            pass
        finally:
            interrupter.disarm()
        nothing_is_held(server, name, place)


def test_an_acquire_that_was_not_made_is_not_undone(client: redlatch.Client, lock_name: str) -> None:
    for place, interrupter in at_each_place(BeforeTheGrant):
        lock = client.lock(f"{lock_name}:{place}")
        assert lock.acquire()
        try:
            interrupter.arm()
            lock.acquire()
        except KeyboardInterrupt:
            pass
        finally:
            interrupter.disarm()
        assert lock.hold_count() == (1 if interrupter.struck else 2), f"interrupted at place {place}"


def test_several_acquired(server: RedisServer, client: redlatch.Client, lock_name: str) -> None:
    """The call returns all permits, or all of them are released."""
    for place, interrupter in at_each_place():
        name = f"{lock_name}:{place}"
        semaphore = made_permit_semaphore(client, name)
        try:
            interrupter.arm()
            assert len(semaphore.acquire_many(2)) == 2
        except KeyboardInterrupt:
            nothing_is_held(server, name, place)
        finally:
            interrupter.disarm()


def test_the_one_around_it_gives_back_its_own(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    """If the inner `with` is interrupted, each `with` nevertheless releases its own permit."""
    for place, interrupter in at_each_place():
        name = f"{lock_name}:{place}"
        semaphore = made_permit_semaphore(client, name)
        with semaphore:
            try:
                with semaphore:
                    assert what_is_held(server, name) == 2
                    interrupter.arm()
            except KeyboardInterrupt:
                pass
            finally:
                interrupter.disarm()
            assert what_is_held(server, name) == 1
        nothing_is_held(server, name, place)


def test_a_skipped_job_that_is_interrupted_ends_no_other(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    """The block around it leaves its own turn."""
    for place, interrupter in at_each_place():
        name = f"{lock_name}:{place}"
        once = client.once(name, at_most=60)
        with once:
            try:
                interrupter.arm()
                with once as skipped:
                    interrupter.disarm()
                    assert skipped is None
            except KeyboardInterrupt:
                pass
            finally:
                interrupter.disarm()
            assert what_is_held(server, name) == 1
        nothing_is_held(server, name, place)


def test_a_decorated_job(server: RedisServer, client: redlatch.Client, lock_name: str) -> None:
    """The job runs, or nothing stays held."""
    for place, interrupter in at_each_place():
        name = f"{lock_name}:{place}"
        job = client.once(name, at_most=60)(interrupter.disarm)
        try:
            interrupter.arm()
            job()
        except KeyboardInterrupt:
            pass
        finally:
            interrupter.disarm()
        nothing_is_held(server, name, place)
