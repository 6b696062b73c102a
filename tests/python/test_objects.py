"""Clients and locks as Python objects: decorating, copying, closing, the names that the package exports.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import builtins
import copy
import dataclasses
import functools
import inspect
import pickle
import re
import typing
from pathlib import Path
from typing import Any, AsyncIterator, Dict, Iterator, List, Set, get_args

import pytest
import redlatch
import redlatch.aio
from redlatch._ffi import ffi, lib, new_record, text
from redlatch.losses import REMEMBERED, Losses
from redlatch.owners import new_number


# Type variables, and types that no program names: an event of a loop, a callback of an election, a context manager.
TYPES_OF_NO_USE = ("Parameters", "Returned", "Function", "Event", "Callback", "Termination")


def types_in_signatures(package: Any) -> Iterator[str]:
    """Yields the names in the annotations of everything that a package exports, and of public methods."""
    for offered in (getattr(package, name) for name in package.__all__):
        members = vars(offered).items() if isinstance(offered, type) else [("", offered)]
        for name, member in members:
            function = member.fget if isinstance(member, property) else inspect.unwrap(member)
            if inspect.isfunction(function) and (name == "__call__" or not name.startswith("_")):
                for annotation in function.__annotations__.values():
                    yield from re.findall(r"\w+", str(annotation))


@pytest.mark.parametrize("package", [redlatch, redlatch.aio])
def test_the_types_of_signatures_are_offered(package: Any) -> None:
    names = {name for name in types_in_signatures(package) if name[0].isupper()}
    known = {*typing.__all__, *dir(builtins), "CData", "TracebackType", *TYPES_OF_NO_USE}
    assert names - known - {*redlatch.__all__, *package.__all__} == set()


async def coroutine() -> None:
    """If a lock decorated it, it would be awaited after the release."""


def generator() -> Iterator[int]:
    yield 1


async def asynchronous_generator() -> AsyncIterator[int]:
    yield 1


def test_the_latest_losses_are_remembered(client: redlatch.Client) -> None:
    losses = Losses(client._handle, client._expected)
    for serial in range(REMEMBERED + 1):
        losses.note(serial, "expired")
    assert [losses.knows(serial) for serial in (0, 1, REMEMBERED)] == [False, True, True]


def test_what_is_handed_out_stays_as_it_was() -> None:
    """Reports and states may be kept, and may be used as keys."""
    handed_out: List[Any] = [value for value in vars(redlatch).values() if dataclasses.is_dataclass(value)]
    assert {each.__name__ for each in handed_out} >= {"LockState", "Party", "Report", "Tuning"}
    assert [each.__name__ for each in handed_out if not each.__dataclass_params__.frozen] == []


class AsynchronousCallable:
    """Some frameworks use it instead of a coroutine function."""

    async def __call__(self) -> None:
        """Nothing."""


@pytest.mark.parametrize(
    "function",
    [coroutine, generator, asynchronous_generator, functools.partial(coroutine), AsynchronousCallable()],
)
def test_functions_whose_body_runs_later_are_not_decorated(client: redlatch.Client, function: Any) -> None:
    with pytest.raises(TypeError) as caught:
        client.lock("x")(function)
    assert str(caught.value) == (
        f"@lock cannot decorate {function!r}: a call would return, and release, before the body ran; "
        "write `with lock:` inside a generator, and for a coroutine use an asynchronous client, of redlatch.aio"
    )


@pytest.mark.parametrize("thing", [7, "function", redlatch.Lock, None])
def test_only_functions_are_decorated(client: redlatch.Client, thing: Any) -> None:
    with pytest.raises(TypeError) as caught:
        client.lock("x")(thing)
    expected = f"@lock decorates functions; {thing!r} is none (@staticmethod and the like go above it)"
    assert str(caught.value) == expected


def test_a_decorated_function_keeps_its_face_and_needs_the_lock(client: redlatch.Client) -> None:
    calls = []

    def work(first: int, *, second: int = 2) -> None:
        """Does it."""
        calls.append((first, second))

    locked = client.lock("x")(work)
    assert (locked.__name__, locked.__doc__) == ("work", "Does it.")
    with pytest.raises(redlatch.UnreachableError):
        locked(1)
    assert calls == []


@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.copy, copy.deepcopy])
def test_objects_stay_in_their_process(client: redlatch.Client, duplicate: Any) -> None:
    refused = {
        client: "Client cannot be pickled or copied: open one in each process",
        client.lock("x"): "Lock cannot be pickled or copied: open a client, and make its locks, in each process",
        client.read_write_lock("x"): "ReadWriteLock cannot be pickled or copied: open a client, and make its locks, in "
        "each process",
        client.latch("x"): "Latch cannot be pickled or copied: open a client, and make its objects, in each process",
        redlatch.Hold.__new__(redlatch.Hold): "Hold cannot be pickled or copied: what a process holds is its own",
        redlatch.Permit.__new__(redlatch.Permit): "Permit cannot be pickled or copied; its id can be passed on",
    }
    for thing, message in refused.items():
        with pytest.raises(TypeError) as caught:
            duplicate(thing)
        assert str(caught.value) == f"a redlatch.{message}"


def test_a_closed_client_says_so(client: redlatch.Client) -> None:
    lock = client.lock("x")
    client.close()
    client.close()
    assert client.closed and "closed" in repr(client)
    for call in (lock.acquire, lock.release, lock.state, lock.held, client.stats, lambda: client.lock("y")):
        with pytest.raises(redlatch.ClosedError):
            call()


def test_a_lock_says_its_kind(client: redlatch.Client) -> None:
    sides = client.read_write_lock("x")
    mutex = client.lock("orders")
    locks: Dict[str, redlatch.Lock] = {
        "mutex": mutex,
        "fenced": client.fenced_lock("x"),
        "fair": client.fair_lock("x"),
        "spin": client.spin_lock("x"),
        "plain": client.plain_lock("x"),
        "group": client.group_lock("x", ["1"]),
        "read": sides.read,
        "write": sides.write,
        "multi": redlatch.multi_lock(mutex, client.lock("y"), owner="handle"),
        "redlock": redlatch.redlock(mutex, allow_few=True),
    }
    assert {kind: lock.kind for kind, lock in locks.items()} == {kind: kind for kind in locks}
    assert repr(mutex) == "<redlatch.Lock 'orders' (mutex), owned by threads>"
    assert repr(locks["multi"]) == "<redlatch.MultiLock 'orders, y' (multi), owned by this object>"


def test_literals_are_the_names_of_the_core() -> None:
    def names(prefix: str, name_of: Any) -> Set[str]:
        return {text(name_of(getattr(lib, each))) for each in dir(lib) if each.startswith(prefix)}

    assert set(get_args(redlatch.DetectedKind)) == names("REDLATCH_DETECTED_", lib.redlatch_detected_kind_name)
    assert set(get_args(redlatch.LossReason)) == names("REDLATCH_REASON_", lib.redlatch_reason_name) - {"none"}
    kinds = {text(lib.redlatch_kind_name(number)) for number in range(1, 100)}
    counted = {"semaphore", "permit_semaphore", "latch"}
    assert set(get_args(redlatch.LockKind)) == kinds - {"unknown"} - counted | {"multi", "redlock"}


def test_leaving_with_closes_the_client_and_lets_errors_through() -> None:
    for error in (None, KeyError("inside")):
        try:
            with redlatch.connect("redis://127.0.0.1:9", lazy=True) as client:
                assert not client.closed
                if error:
                    raise error
        except KeyError as caught:
            assert caught is error
        else:
            assert error is None
        assert client.closed


def test_a_lock_that_was_never_taken_is_not_held(client: redlatch.Client) -> None:
    lock = client.lock("x")
    assert not lock.owned() and lock.hold_count() == 0 and lock.held() is None
    with pytest.raises(redlatch.NotOwnedError) as caught:
        lock.release()
    assert caught.value.lock_name == "x" and not caught.value.ambiguous


def test_a_hold_that_is_over_says_why(client: redlatch.Client) -> None:
    lock, number = client.lock("x"), new_number()

    def over(serial: int) -> redlatch.RedlatchError:
        record = new_record("redlatch_hold")
        record.serial = serial
        hold = redlatch.Hold(lock, number, bytes(ffi.buffer(record)))
        with pytest.raises(redlatch.RedlatchError) as caught:
            hold.extend(1)
        assert caught.value.lock_name == "x"
        return caught.value

    client._losses.note(1, "expired")
    client._losses.note(2, None)
    assert repr(over(1)) == """LockLostError("this hold of lock 'x' was lost (expired)")"""
    assert repr(over(2)) == """LockLostError("this hold of lock 'x' was lost (not known why)")"""
    assert repr(over(3)) == """NotOwnedError("this hold of lock 'x' was released already")"""
    client.close()
    assert repr(over(3)) == """ClosedError("the hold of lock 'x' ended when its client was closed")"""


def test_a_client_has_a_uuid_of_its_own(client: redlatch.Client) -> None:
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", client.uuid)
    with redlatch.connect("redis://127.0.0.1:9", lazy=True) as other:
        assert other.uuid != client.uuid


def test_stats_are_numbers_by_name(client: redlatch.Client) -> None:
    stats = client.stats()
    assert {"round_trips", "acquired", "held", "connections"} <= stats.keys()
    assert not {"struct_size", "reserved"} & stats.keys()
    assert all(type(value) is int for value in stats.values())


def test_the_package_offers_what_it_lists() -> None:
    for package in (redlatch, redlatch.aio):
        assert all(hasattr(package, name) for name in package.__all__)
    assert re.fullmatch(r"\d+\.\d+\.\d+", redlatch.__version__)
    assert (Path(redlatch.__file__).parent / "py.typed").exists()


def test_the_kind_of_what_is_counted(client: redlatch.Client) -> None:
    made = [client.semaphore("x"), client.permit_semaphore("x"), client.latch("x")]
    assert tuple(each.kind for each in made) == get_args(redlatch.CountedKind)
