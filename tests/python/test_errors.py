"""The exceptions: the class of each status, their attributes, and pickling.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import builtins
import copy
import pickle
from typing import List, Type

import pytest
import redlatch
from redlatch._ffi import ffi, lib
from redlatch.errors import class_of, left_badly

STATUSES = {
    number: name for number, name in ffi.typeof("enum redlatch_status").elements.items() if name != "REDLATCH_OK"
}
CLASSES: List[Type[redlatch.RedlatchError]] = [
    kind for kind in vars(redlatch).values() if isinstance(kind, type) and issubclass(kind, redlatch.RedlatchError)
]


@pytest.mark.parametrize(
    "status, kind",
    [
        ("TIMEOUT", redlatch.LockTimeoutError),
        ("NOT_OWNED", redlatch.NotOwnedError),
        ("LOST", redlatch.LockLostError),
        ("CANCELLED", redlatch.WaitCancelledError),
        ("INVALID", redlatch.InvalidArgumentError),
        ("CLOSED", redlatch.ClosedError),
        ("FORKED", redlatch.ForkedError),
        ("UNSUPPORTED", redlatch.UnsupportedError),
        ("INTERNAL", redlatch.RedlatchError),
        ("AUTHENTICATION", redlatch.AuthenticationError),
        ("NO_PERMISSION", redlatch.PermissionDeniedError),
        ("NOT_REPLICATED", redlatch.NotReplicatedError),
        ("WRONG_TYPE", redlatch.WrongTypeError),
        ("READ_ONLY", redlatch.ServerError),
        ("NO_MEMORY", redlatch.ResourceError),
        ("SYSTEM", redlatch.ResourceError),
    ],
)
def test_a_status_has_its_class(status: str, kind: Type[redlatch.RedlatchError]) -> None:
    assert class_of(getattr(lib, "REDLATCH_" + status)) is kind


def test_groups_share_a_class() -> None:
    assert len(STATUSES) > 20
    for status, name in STATUSES.items():
        if -400 < status <= -300:
            assert class_of(status) is redlatch.UnreachableError, name
        if -500 < status <= -400:
            assert issubclass(class_of(status), redlatch.ServerError), name


def test_statuses_are_those_of_the_header() -> None:
    assert {status.value: f"REDLATCH_{status.name}" for status in redlatch.Status if status} == STATUSES
    assert redlatch.Status.OK == lib.REDLATCH_OK
    assert redlatch.LockTimeoutError().status is redlatch.Status.TIMEOUT


def test_the_module_shows_its_interface_only() -> None:
    assert dir(redlatch) == sorted([*redlatch.__all__, "__version__"])
    assert not hasattr(redlatch, "ConnectionError"), "import * hides no built-in class"


def test_the_built_in_classes_catch_ours() -> None:
    assert issubclass(redlatch.LockTimeoutError, TimeoutError)
    assert issubclass(redlatch.UnreachableError, builtins.ConnectionError)
    assert issubclass(redlatch.InvalidArgumentError, ValueError)
    assert issubclass(redlatch.NotOwnedError, RuntimeError)


@pytest.mark.parametrize("status", STATUSES)
def test_an_error_knows_its_status(status: int) -> None:
    error = class_of(status)("what happened", lock_name="orders:42", status=status)
    assert str(error) == "what happened"
    assert error.lock_name == "orders:42"
    assert error.status == status
    assert error.status_name == STATUSES[status][len("REDLATCH_") :].lower()
    assert error.retryable == (lib.redlatch_status_is_retryable(status) == 1)
    assert error.ambiguous == (lib.redlatch_status_is_ambiguous(status) == 1)


@pytest.mark.parametrize("kind", CLASSES)
def test_an_error_made_by_hand_is_whole(kind: Type[redlatch.RedlatchError]) -> None:
    error = kind()
    assert str(error) and error.lock_name is None
    assert class_of(error.status) is kind


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_errors_travel_between_processes(kind: Type[redlatch.RedlatchError], protocol: int) -> None:
    error = kind("what happened", lock_name=b"\xff", status=kind().status)
    if hasattr(error, "add_note"):
        error.add_note("and where")
    if isinstance(error, redlatch.LockLostError):
        error.reason = "max_hold"
    for other in (pickle.loads(pickle.dumps(error, protocol)), copy.copy(error), copy.deepcopy(error)):
        assert type(other) is kind
        assert str(other) == "what happened"
        assert other.lock_name == b"\xff"
        assert other.status == error.status
        assert getattr(other, "reason", None) == getattr(error, "reason", None)
        assert getattr(other, "__notes__", None) == getattr(error, "__notes__", None)


def test_ours_are_not_confused_with_the_operating_systems() -> None:
    error = redlatch.UnreachableError("no route", status=lib.REDLATCH_UNREACHABLE)
    assert error.errno is None
    assert error.args == ("no route",)


class Unwelcoming(Exception):
    """An exception that accepts no notes."""

    @property
    def add_note(self) -> None:
        """Raises."""
        raise KeyError("no notes")


def test_a_failed_release_is_logged_before_the_exception_of_the_block_is_touched(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with pytest.raises(KeyError, match="no notes"):
        left_badly("the release of lock 'orders'", redlatch.NotOwnedError("it is not held"), Unwelcoming())
    assert caplog.messages == [
        "while the block ran, or when it was left, the release of lock 'orders' failed: it is not held "
        "(the block raised Unwelcoming)"
    ]
