"""Checks the arguments of callers, and puts them into the option structs of the core.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Union, cast

from redlatch._ffi import CData, ffi, lib
from redlatch.durations import delay_ms, span_ms
from redlatch.errors import InvalidArgumentError, LockName, failure
from redlatch.losses import OnLost
from redlatch.tuning import UrlDefault

FilePath = Union[str, "os.PathLike[str]"]


def name_bytes(name: LockName, argument: str = "name") -> bytes:
    """Returns a lock's name as bytes, and checks its size."""
    data = _encoded(name, argument)
    if not 1 <= len(data) <= lib.REDLATCH_NAME_SIZE_MAX:
        raise InvalidArgumentError(
            f"{argument} is {len(data)} bytes long; expected 1 to {lib.REDLATCH_NAME_SIZE_MAX} bytes"
        )
    return data


def values_of_group(values: Iterable[LockName]) -> List[bytes]:
    """Returns the values of a group as bytes."""
    if isinstance(values, (str, bytes)):
        raise TypeError(f"values is {values!r}; expected an iterable of str or bytes, such as [{values!r}]")
    if not isinstance(values, Iterable):
        raise TypeError(
            f"values is {values!r}, of type {type(values).__name__}; expected an iterable of str or bytes"
        )
    return [_encoded(value, "a value") for value in values]


def value_list(values: List[bytes]) -> Tuple[CData, List[CData]]:
    """Returns the values as the core takes them, and the objects that must live as long as they do."""
    alive = [ffi.new("char[]", value) for value in values]
    listed = ffi.new("redlatch_value[]", [(text, len(value)) for text, value in zip(alive, values)])
    return listed, alive


def pattern_bytes(pattern: LockName) -> bytes:
    """Returns a glob of Redis as bytes, and checks its size."""
    data = _encoded(pattern, "pattern")
    if len(data) > lib.REDLATCH_NAME_SIZE_MAX:
        raise InvalidArgumentError(
            f"pattern is {len(data)} bytes long; expected at most {lib.REDLATCH_NAME_SIZE_MAX} bytes"
        )
    return data


def c_string(value: LockName, argument: str) -> bytes:
    """Returns a string for C, and checks that it has no NUL. The error does not show the value, which may be a
    password."""
    data = _encoded(value, argument)
    if b"\0" in data:
        raise InvalidArgumentError(f"{argument} holds a NUL byte; expected a string without one")
    return data


def _encoded(value: LockName, argument: str) -> bytes:
    if isinstance(value, str):
        try:
            return value.encode("utf-8")
        except UnicodeEncodeError as error:
            raise InvalidArgumentError(
                f"{argument} holds a lone surrogate at position {error.start}; expected text, or bytes"
            ) from None
    if isinstance(value, bytes):
        return value
    raise TypeError(f"{argument} is of type {type(value).__name__}; expected str or bytes")


def flag(value: bool, argument: str) -> int:
    """Checks a bool, and returns it as 1 or 0 for the core."""
    if not isinstance(value, bool):
        raise TypeError(f"{argument} is {value!r}, of type {type(value).__name__}; expected True or False")
    return int(value)


def _whole(least: int, most: int) -> Callable[[Any, str], int]:
    """Returns a function that checks a whole number and its bounds."""

    def fit(value: int, argument: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{argument} is {value!r}, of type {type(value).__name__}; expected a whole number")
        if not least <= value <= most:
            raise InvalidArgumentError(f"{argument} is {value}; expected {least} to {most}")
        return value

    return fit


def _after_fork(value: Any, argument: str) -> int:
    known = {"reopen": lib.REDLATCH_AFTER_FORK_REOPEN, "refuse": lib.REDLATCH_AFTER_FORK_REFUSE}
    if value not in ("reopen", "refuse"):
        raise InvalidArgumentError(f'{argument} is {value!r}; expected "reopen" or "refuse"')
    return int(known[value])


# The options of connect() that are numbers in the core, each with its field and the function that converts its value.
_NUMBERS: Dict[str, Tuple[str, Callable[[Any, str], int]]] = {
    "lazy": ("lazy", flag),
    "watchdog_lease": ("watchdog_lease_ms", span_ms),
    "connect_timeout": ("connect_timeout_ms", span_ms),
    "command_timeout": ("command_timeout_ms", span_ms),
    "dead_peer_timeout": ("dead_peer_timeout_ms", span_ms),
    "dns_interval": ("dns_interval_ms", span_ms),
    "unreachable_timeout": ("unreachable_timeout_ms", span_ms),
    "close_timeout": ("close_timeout_ms", delay_ms),
    "claim_timeout": ("claim_timeout_ms", span_ms),
    "linger": ("linger_ms", delay_ms),
    "fair_timeout": ("fair_timeout_ms", span_ms),
    "release_on_close": ("release_on_close", flag),
    "busy_poll": ("busy_poll", flag),
    "database": ("database", _whole(0, 1_000_000)),
    "min_replicas": ("min_replicas", _whole(0, 100)),
    "durable": ("durable", flag),
    "replica_timeout": ("replica_timeout_ms", span_ms),
    "after_fork": ("after_fork", _after_fork),
}
_FILES = ("tls_ca_file", "tls_ca_dir", "tls_cert_file", "tls_key_file")
_OF_SENTINELS = ("sentinel_username", "sentinel_password")
_OF_TLS = (*_FILES, "tls_server_name", "tls_verify", "tls_min_version")
_STRINGS = ("username", "password", "label", *_OF_SENTINELS, *_OF_TLS, "sharded_messages")
_OF_URL = (*_STRINGS, "database", "min_replicas", "durable")

_CONFIRM_OF_LOCK: int = lib.REDLATCH_CONFIRM_OF_LOCK

# The options that only some kinds of locks have, each with its field and the function that converts its value.
_LOCK_SETTINGS: Dict[str, Tuple[str, Callable[[Any, str], int]]] = {
    "reentrant": ("reentrant", flag),
    "confirm_release": ("confirm_release", flag),
    "owner_number": ("owner", lambda value, _: int(value)),
    "token_from_time": ("token_from_time", flag),
    "back_off_initial": ("back_off_initial_ms", span_ms),
    "back_off_max": ("back_off_max_ms", span_ms),
    "back_off_multiplier": ("back_off_multiplier", _whole(1, 1000)),
}


def confirmation(confirm: Optional[bool]) -> int:
    """Converts the argument `confirm` of a release for the core. None stands for the lock's option."""
    return _CONFIRM_OF_LOCK if confirm is None else flag(confirm, "confirm")


def client_options(given: Mapping[str, Any]) -> Tuple[CData, List[CData]]:
    """Returns the core's options for the arguments of connect(), and the objects that must live as long as they do.
    Skips arguments that are not options of the core. A UrlDefault, and None for an option that the URL may have, leave
    the option to the URL."""
    options = ffi.new("redlatch_client_options *")
    status: int = lib.redlatch_client_options_init(options, ffi.sizeof("redlatch_client_options"))
    if status:
        raise failure(status)
    options.language = lib.REDLATCH_LANGUAGE_PYTHON
    alive: List[CData] = []
    for argument, value in given.items():
        if isinstance(value, UrlDefault) or (value is None and argument in _OF_URL):
            continue
        if argument in _NUMBERS:
            field, convert = _NUMBERS[argument]
            setattr(options, field, convert(value, argument))
        elif argument in _STRINGS:
            path = isinstance(value, os.PathLike) and argument in _FILES
            string = os.fspath(value) if path else cast(LockName, value)
            alive.append(ffi.new("char[]", c_string(string, argument)))
            setattr(options, argument, alive[-1])
    prefix = _encoded(given["name_prefix"], "name_prefix")
    if prefix:
        alive.append(ffi.new("char[]", prefix))
        options.name_prefix = alive[-1]
        options.name_prefix_size = len(prefix)
    return options, alive


def on_lost_option(value: OnLost) -> OnLost:
    """Checks the option `on_lost` of a lock, and returns it."""
    if value in ("raise", "log"):
        return value
    if not callable(value):
        raise InvalidArgumentError(f"on_lost is {value!r}; expected 'raise', 'log' or a callable that takes the Hold")
    if any(map(inspect.iscoroutinefunction, (value, type(value).__call__))):
        raise TypeError(f"on_lost is {value!r}, a coroutine function; expected a function, as no loop would run it")
    return value


def lock_options(
    owner: str, lease_ms: int, max_hold_ms: int, settings: Mapping[str, Any], actor: str = "thread"
) -> Tuple[CData, List[CData]]:
    """Returns the core's options of one lock, and the objects that must live as long as they do. `settings` are the
    options that only some kinds have. `actor` is the value of `owner` that makes the caller the owner: "thread" or
    "task"."""
    modes = {actor: lib.REDLATCH_OWNER_THREAD, "handle": lib.REDLATCH_OWNER_HANDLE}
    if not isinstance(owner, str) or owner not in modes:
        raise InvalidArgumentError(f"owner is {owner!r}; expected {actor!r} or 'handle'")
    options = ffi.new("redlatch_lock_options *")
    status: int = lib.redlatch_lock_options_init(options, ffi.sizeof("redlatch_lock_options"))
    if status:
        raise failure(status)
    options.owner_mode = modes[owner]
    options.lease_ms = lease_ms
    options.max_hold_ms = max_hold_ms
    alive: List[CData] = []
    for argument, value in settings.items():
        if argument == "key_template":
            template = _encoded(value, argument)
            alive.append(ffi.new("char[]", template))
            options.key_template = alive[-1]
            options.key_template_size = len(template)
        else:
            field, convert = _LOCK_SETTINGS[argument]
            setattr(options, field, convert(value, argument))
    return options, alive


def semaphore_options(lease_ms: int, limit: int) -> CData:
    """Returns the core's options of a semaphore of either kind. With a limit of 0 an acquire does not make the
    semaphore."""
    options = ffi.new("redlatch_semaphore_options *")
    status: int = lib.redlatch_semaphore_options_init(options, ffi.sizeof("redlatch_semaphore_options"))
    if status:
        raise failure(status)
    options.lease_ms = lease_ms
    options.limit = limit
    return options
