"""Credentials that change. The core never runs Python code, so the credentials of a provider are pushed into the core
ahead of time.

A provider has the interface of redis-py's CredentialProvider or StreamingCredentialProvider; redis-py is not needed.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import logging
import os
import threading
import weakref
from typing import Any, Callable, Optional, Protocol, Tuple, Union

from redlatch._ffi import CData, ffi, lib
from redlatch.durations import Seconds, span_ms
from redlatch.errors import InvalidArgumentError, LockName, failure
from redlatch.options import c_string

logger = logging.getLogger("redlatch")

# A user, or None for the default user, and a password.
Pair = Tuple[Optional[LockName], LockName]

# The pause after which a provider that failed is called again, in seconds. Each further failure doubles it, up to the
# interval.
FIRST_PAUSE = 1.0
# How long join() waits for the end of the thread, in seconds.
END = 1.0


class CredentialProvider(Protocol):
    """The type of connect()'s argument `credentials`, with the interface of redis-py's class of this name. A provider
    that also has on_next(), on_error() and is_streaming(), like redis-py's StreamingCredentialProvider, reports new
    credentials by itself.

    Example:
        >>> class Token:
        ...     def get_credentials(self):
        ...         return ("default", "a token")
        >>> with redlatch.connect(client.url, credentials=Token(), credentials_interval=300) as other:
        ...     other.closed
        False
    """

    def get_credentials(self) -> Union[Tuple[str], Tuple[str, str]]:
        """Returns (password,) or (username, password). It may block. Its exceptions are logged; those during connect()
        are raised.

        Example:
            >>> class Static:
            ...     def get_credentials(self):
            ...         return ("a password",)
            >>> Static().get_credentials()
            ('a password',)
        """


def set_credentials(handle: CData, username: Optional[LockName], password: LockName) -> int:
    """Gives new credentials to the core. Returns the status of the call."""
    user = ffi.NULL if username is None else c_string(username, "username")
    status: int = lib.redlatch_client_set_credentials(handle, user, c_string(password, "password"))
    return status


def pair_of(given: Any) -> Pair:
    """Returns the user and the password in what a provider gave: a tuple or a token. The user of a token is its claim
    `oid`, as in redis-py. Errors do not show the values."""
    if isinstance(given, (tuple, list)) and len(given) in (1, 2):
        username, password = (None, *given) if len(given) == 1 else given
    elif callable(getattr(given, "get_value", None)) and callable(getattr(given, "try_get", None)):
        # pyright takes it for a tuple of another length.
        username, password = given.try_get("oid"), given.get_value()  # pyright: ignore[reportAttributeAccessIssue]
    else:
        raise TypeError(
            f"the provider gave a {type(given).__name__}; expected (password,), (username, password) or a token"
        )
    for what, value, may_be_none in (("username", username, True), ("password", password, False)):
        if not isinstance(value, (str, bytes)) and not (may_be_none and value is None):
            raise TypeError(f"the {what} of the provider is of type {type(value).__name__}; expected str or bytes")
    return username or None, password


class Renewal:
    """Pushes the credentials of one provider into one client: whenever the provider reports new ones, or at an
    interval, by a daemon thread."""

    def __init__(self, provider: CredentialProvider, interval: Optional[Seconds]) -> None:
        if not callable(getattr(provider, "get_credentials", None)):
            raise TypeError(
                f"credentials is {provider!r}, of type {type(provider).__name__}; expected an object with"
                " get_credentials(), as redis-py's CredentialProvider has"
            )
        self._provider = provider
        self._interval = None if interval is None else span_ms(interval, "credentials_interval") / 1000
        self._handle: Optional[CData] = None
        self._newest: Optional[Pair] = None
        self._guard = threading.Lock()
        self._stop = threading.Event()
        self._thread: Optional[threading.Thread] = None
        self._inherited = False  # this is a forked child, and the parent had the thread
        self._resumed = False
        _everybody.add(self)

    def first(self) -> Pair:
        """Returns the credentials of the first connection. The provider is called in the caller's thread, and its
        errors are raised."""
        tells = all(callable(getattr(self._provider, name, None)) for name in ("on_next", "on_error", "is_streaming"))
        provider: Any = self._provider
        if tells:  # before get_credentials(): a provider may start in on_next(), and report, or fail, at once
            provider.on_error(_weakly(self, Renewal._failed))
            provider.on_next(_weakly(self, Renewal._next))
        first = pair_of(provider.get_credentials())
        if (not tells or not provider.is_streaming()) and self._interval is None:
            raise InvalidArgumentError(
                "credentials_interval is None; expected seconds, with a provider that does not tell of new credentials"
            )
        return first

    def start(self, handle: CData) -> None:
        """Starts to push credentials into the client."""
        with self._guard:
            self._handle = handle
            if self._newest is not None:
                self._push(self._newest)
        if self._interval is not None:
            self._start()

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="redlatch-credentials", daemon=True)
        self._thread.start()

    def begin_child(self) -> None:
        """Called in a forked child, which lacks the thread."""
        self._guard = threading.Lock()
        self._stop = threading.Event()
        self._inherited = self._thread is not None or self._inherited
        self._thread = None

    def resume(self) -> None:
        """Called when a forked child first uses its client. The provider is called at once, because it is not known
        when it was called last."""
        if self._inherited:
            self._inherited = False
            self._resumed = True
            self._stop = threading.Event()  # gevent may have patched the threads since the fork
            self._start()

    def stop(self) -> None:
        """Ends the thread, when the client is closed."""
        self._stop.set()

    def join(self) -> None:
        """Waits for the end of the thread, at most END: it may be in a call of the provider."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(END)

    def _next(self, given: Any) -> None:
        try:
            pair = pair_of(given)
            with self._guard:  # so that older credentials are not pushed after these
                self._newest = pair
                if self._handle is not None:
                    self._push(pair)
        except Exception as error:  # must not end the provider's thread
            self._failed(error)

    def _failed(self, error: Any) -> None:
        # Logs only the text of the error. A log record that is kept would keep the frames of the exception, and by them
        # the client.
        logger.warning("no new credentials from %s: %s", type(self._provider).__name__, repr(error))

    def _push(self, pair: Pair) -> bool:
        """Returns False if the client is closed, or belongs to the parent process."""
        status = set_credentials(self._handle, *pair)
        if status in (lib.REDLATCH_CLOSED, lib.REDLATCH_FORKED):
            return False
        if status:
            raise failure(status)
        return True

    def _run(self) -> None:
        interval = self._interval or 0.0
        pause = 0.0 if self._resumed else interval
        failed = FIRST_PAUSE
        while not self._stop.wait(pause):
            try:
                if not self._push(pair_of(self._provider.get_credentials())):
                    return
                pause, failed = interval, FIRST_PAUSE
            except Exception as error:  # of any kind: the old credentials may still be valid
                self._failed(error)
                pause, failed = min(failed, interval), failed * 2


# Those of all clients, for a forked child.
_everybody: weakref.WeakSet[Renewal] = weakref.WeakSet()


def _begin_child() -> None:
    for renewal in list(_everybody):
        renewal.begin_child()


os.register_at_fork(after_in_child=_begin_child)


def _weakly(renewal: Renewal, method: Callable[[Renewal, Any], None]) -> Callable[[Any], None]:
    """Returns a callback that does not keep the client alive, because a provider may outlive the client."""
    reference = weakref.ref(renewal)

    def call(given: Any) -> None:
        alive = reference()
        if alive is not None:
            method(alive, given)

    return call
