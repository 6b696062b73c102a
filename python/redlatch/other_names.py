"""Options of other libraries, and what they are called in redlatch: for the TypeError of a call with such an option.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Dict, NoReturn, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

# The options of redis-py's locks and client, then those of other lock libraries. {value} stands for the value in the
# call.
_ADVICE: Dict[str, str] = {
    "blocking_timeout": "did you mean timeout={value}?",
    "blocking": "did you mean timeout=0, which tries once? An acquire has blocking",
    "sleep": "there is no such option, as a waiter does not poll: it gets a message",
    "thread_local": 'did you mean owner="thread" (True) or owner="handle" (False)?',
    "raise_on_release_error": 'did you mean on_lost="log"?',
    "lock_class": "redlatch.compat.redis_py.Lock is what redis-py takes as lock_class",
    "token": "there is no such option: redlatch makes the owner id, which Hold.owner is",
    "additional_time": "did you mean seconds, which count from now?",
    "replace_ttl": "there is no such option: extend(seconds) always replaces what is left",
    "socket_timeout": "did you mean command_timeout={value}?",
    "socket_connect_timeout": "did you mean connect_timeout={value}?",
    "client_name": "did you mean label={value}?",
    "db": "did you mean database={value}?",
    "host": "did you mean the URL redis://host:port/database?",
    "port": "did you mean the URL redis://host:port/database?",
    "unix_socket_path": "did you mean the URL unix:///path?",
    "ssl": "did you mean a rediss:// URL?",
    "ssl_ca_certs": "did you mean tls_ca_file?",
    "ssl_certfile": "did you mean tls_cert_file?",
    "ssl_keyfile": "did you mean tls_key_file?",
    "ssl_cert_reqs": "did you mean tls_verify?",
    "credential_provider": "did you mean credentials?",
    # python-redis-lock
    "expire": "did you mean lease={value}?",
    "auto_renewal": "a lock without lease is renewed",
    # pottery
    "auto_release_time": "did you mean lease={value}?",
    "num_extensions": "did you mean max_hold, in seconds?",
    "context_manager_blocking": "did you mean timeout=0, which tries once?",
    "context_manager_timeout": "did you mean timeout={value}?",
    # ShedLock
    "lock_at_most_for": "did you mean at_most={value}?",
    "lock_at_least_for": "did you mean at_least={value}?",
    # Redisson, and what others call a lease
    "wait_time": "did you mean timeout={value}?",
    "lease_time": "did you mean lease={value}?",
    "ttl": "did you mean lease={value}?",
}


def refuse_other_names(function: str, others: Dict[str, Any]) -> NoReturn:
    """Raises the TypeError of explain_other_names() for a function that takes unknown options as `others`. Such a
    function acquires. The decorator would run between its end and its caller, and an interrupt there would lose what
    was acquired."""
    name, value = next(iter(others.items()))
    if name in _ADVICE:
        raise TypeError(f"{function}() has no option {name!r}: {_ADVICE[name].format(value=repr(value))}")
    raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")


def explain_other_names(function: Function) -> Function:
    """Decorates a function: if a call has an option of another library, the TypeError says what it is called in
    redlatch."""

    @functools.wraps(function)
    def explained(*arguments: Any, **keywords: Any) -> Any:
        try:
            return function(*arguments, **keywords)
        except TypeError:
            own = inspect.signature(function).parameters
            for name, value in keywords.items():
                if name in _ADVICE and name not in own:
                    advice = _ADVICE[name].format(value=repr(value))
                    raise TypeError(f"{function.__name__}() has no option {name!r}: {advice}") from None
            raise

    return cast(Function, explained)
