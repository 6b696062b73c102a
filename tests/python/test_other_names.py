"""Options of other libraries are rejected, with redlatch's name for them.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import inspect
import re
from typing import Any, Callable, Dict

import pytest
import redlatch
from redis import Redis
from redis.lock import Lock as TheirLock
from redlatch import other_names
from redlatch.other_names import _ADVICE

MAKERS = [
    "lock", "fenced_lock", "fair_lock", "spin_lock", "plain_lock", "read_write_lock", "semaphore", "permit_semaphore",
    "latch",
]  # fmt: skip


@pytest.mark.parametrize("maker", MAKERS)
def test_of_what_a_client_makes(client: redlatch.Client, maker: str) -> None:
    with pytest.raises(TypeError) as caught:
        getattr(client, maker)("x", blocking_timeout=5)
    assert str(caught.value) == f"{maker}() has no option 'blocking_timeout': did you mean timeout=5?"
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda client: client.lock("x", blocking=False), "did you mean timeout=0, which tries once?"),
        (lambda client: client.lock("x", sleep=0.1), "a waiter does not poll"),
        (lambda client: client.lock("x", thread_local=False), 'owner="handle"'),
        (lambda client: client.lock("x", raise_on_release_error=False), 'on_lost="log"'),
        (lambda client: client.lock("x", expire=60), "did you mean lease=60?"),
        (lambda client: client.lock("x", timeout=1, ttl="5 s"), "did you mean lease='5 s'?"),
        (lambda client: client.group_lock("x", ["a"], blocking_timeout=1), "did you mean timeout=1?"),
        (lambda client: client.lock("x").acquire(blocking_timeout=1), "acquire() has no option 'blocking_timeout'"),
        (lambda client: client.lock("x").acquire(token="t"), "Hold.owner"),
        (lambda client: client.lock("x").extend(additional_time=5), "did you mean seconds"),
        (lambda client: client.lock("x").extend(5, replace_ttl=True), "always replaces what is left"),
        (lambda client: client.semaphore("x").acquire(blocking_timeout=1), "did you mean timeout=1?"),
        (lambda client: client.permit_semaphore("x").acquire(blocking_timeout=1), "did you mean timeout=1?"),
        (lambda client: redlatch.multi_lock(client.lock("x"), blocking_timeout=1), "did you mean timeout=1?"),
        (lambda client: redlatch.redlock(client.lock("x"), auto_release_time=9), "did you mean lease=9?"),
        (lambda client: redlatch.connect(socket_timeout=2), "did you mean command_timeout=2?"),
        (lambda client: redlatch.connect(db=2), "did you mean database=2?"),
    ],
)
def test_of_calls(client: redlatch.Client, call: Callable[[redlatch.Client], Any], words: str) -> None:
    with pytest.raises(TypeError, match=re.escape(words)):
        call(client)


def test_what_is_unknown_to_all_is_refused_in_python_s_words(client: redlatch.Client) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'blockingtimeout'"):
        client.lock("x", blockingtimeout=5)  # type: ignore[call-arg]


def test_an_own_option_is_never_explained(client: redlatch.Client) -> None:
    """An acquire has an option `blocking`, so a wrong value of it is reported as such."""
    with pytest.raises(TypeError, match="blocking is 5; expected True or False"):
        client.lock("x").acquire(blocking=5)


@pytest.mark.parametrize("name", [name for name, advice in _ADVICE.items() if "did you mean " in advice])
def test_advice_names_an_option_that_exists(client: redlatch.Client, name: str) -> None:
    lock = client.lock("x")
    calls = [redlatch.connect, client.lock, lock.acquire, lock.extend, client.once]
    options = {option for call in calls for option in inspect.signature(call).parameters}
    word = re.search(r"did you mean (the URL |a )?(rediss?://|unix://|\w+)", _ADVICE[name])
    assert word and (word[1] or word[2] in options), _ADVICE[name]


def test_all_options_of_redis_py_are_known(client: redlatch.Client) -> None:
    """Each option that a call of redlatch lacks has its advice, which names the option to use."""
    pairs: Dict[Any, Any] = {
        Redis.lock: client.lock, TheirLock.acquire: client.lock("x").acquire, TheirLock.extend: client.lock("x").extend
    }  # fmt: skip
    for theirs, ours in pairs.items():
        lacking = set(inspect.signature(theirs).parameters) - set(inspect.signature(ours).parameters) - {"self"}
        assert lacking and lacking <= set(_ADVICE), lacking


def test_a_decorated_function_keeps_its_face() -> None:
    @other_names.explain_other_names
    def function(one: int, *, two: str = "2") -> str:
        """Its text."""
        return two * one

    assert function(2, two="x") == "xx" and function.__doc__ == "Its text."
    assert list(inspect.signature(function).parameters) == ["one", "two"]
