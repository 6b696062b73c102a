"""once(), locked() and elect() reject wrong arguments before anything is sent.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import pickle
from datetime import timedelta
from typing import Any, Dict

import pytest
import redlatch


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ({"at_least": 300, "at_most": 60}, "at_least is 300, at_most 60; expected at_least <= at_most"),
        ({"at_least": timedelta(hours=1), "at_most": 60}, "at_least is datetime.timedelta"),
        ({"at_least": -1, "at_most": 60}, "at_least is -1; expected 0 or more seconds"),
        ({"at_most": 0}, "at_most is 0; expected more than 0 seconds"),
        ({"at_most": float("inf")}, "at_most is inf; expected more than 0 seconds"),
        ({"at_most": 5, "on_lost": "cancel"}, "on_lost is 'cancel'; expected"),
    ],
)
def test_times_of_once(client: redlatch.Client, times: Dict[str, Any], message: str) -> None:
    with pytest.raises(redlatch.InvalidArgumentError) as caught:
        client.once("report", **times)
    assert message in str(caught.value)


def test_once_needs_a_lease(client: redlatch.Client) -> None:
    with pytest.raises(TypeError, match="at_most"):
        client.once("report")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="did you mean at_most='PT5M'"):
        client.once("report", lock_at_most_for="PT5M")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("user:{uid}", "name is 'user:{uid}', with {uid}; expected an argument of charge(), which has user_id, more"),
        ("user:{}", "name is 'user:{}', with {}; expected an argument of charge()"),
        ("user:{0}", "name is 'user:{0}', with {0}; expected an argument of charge()"),
        ("user:{user_id", "name is 'user:{user_id': expected '}' before end of string; expected text with fields"),
    ],
)
def test_fields_of_names(client: redlatch.Client, name: str, message: str) -> None:
    def charge(user_id: int, more: int = 1) -> None:
        """Nothing."""

    with pytest.raises(redlatch.InvalidArgumentError) as caught:
        client.locked(name)(charge)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"timeout": -3}, redlatch.InvalidArgumentError),
        ({"lease": 0}, redlatch.InvalidArgumentError),
        ({"max_hold": "1"}, TypeError),
        ({"on_lost": "no"}, redlatch.InvalidArgumentError),
        ({"reentrant": 1}, TypeError),
        ({"blocking_timeout": 5}, TypeError),
    ],
)
def test_options_of_locked(client: redlatch.Client, options: Dict[str, Any], kind: Any) -> None:
    with pytest.raises(kind, match=next(iter(options))):
        client.locked("x", **options)


@pytest.mark.parametrize("name", [b"user:{user_id}", None, 7])
def test_a_name_with_fields_is_text(client: redlatch.Client, name: Any) -> None:
    with pytest.raises(TypeError, match=f"name is of type {type(name).__name__}; expected str"):
        client.locked(name)


@pytest.mark.parametrize("decorator", ["@once", "@locked"])
def test_coroutines_are_for_redlatch_aio(client: redlatch.Client, decorator: str) -> None:
    async def coroutine() -> None:
        """Nothing."""

    decorate: Any = client.once("x", at_most=5) if decorator == "@once" else client.locked("x")
    with pytest.raises(TypeError, match=f"{decorator} cannot decorate .*redlatch.aio"):
        decorate(coroutine)
    with pytest.raises(TypeError, match=f"{decorator} decorates functions; 7 is none"):
        decorate(7)


@pytest.mark.parametrize("argument", ["on_gain", "on_loss"])
def test_callbacks_of_elections(client: redlatch.Client, argument: str) -> None:
    with pytest.raises(redlatch.InvalidArgumentError, match=f"{argument} is 7; expected a function"):
        client.elect("x", **{argument: 7})  # type: ignore[arg-type]


def test_they_belong_to_their_process(client: redlatch.Client) -> None:
    for each in (client.once("x", at_most=5), client.elect("x")):
        with pytest.raises(TypeError, match="cannot be pickled or copied"):
            pickle.dumps(each)
        assert repr(each) in ("<redlatch.Once 'x'>", "<redlatch.Election 'x', does not lead>")
