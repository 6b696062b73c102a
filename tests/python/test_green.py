"""Which threads are greenlets. Locks in greenlets are tested with gevent itself, in tests/frameworks.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest
import redlatch
from redlatch import green


def module(name: str, **functions: Any) -> types.ModuleType:
    """Returns a module that replaces another one."""
    made = types.ModuleType(name)
    vars(made).update(functions)
    return made


def test_without_gevent() -> None:
    assert not green.patched() and green.hub_here() is None


@pytest.mark.parametrize(
    "functions",
    [{}, {"is_module_patched": lambda name: name != "threading"}],
    ids=["another thread is importing it", "all but the threads are patched"],
)
def test_where_threads_are_threads(monkeypatch: pytest.MonkeyPatch, functions: Any) -> None:
    monkeypatch.setitem(sys.modules, "gevent.monkey", module("gevent.monkey", **functions))
    assert not green.patched() and green.hub_here() is None


def test_eventlet_is_refused(client: redlatch.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    patcher = module("eventlet.patcher", is_monkey_patched=lambda name: name == "thread")
    monkeypatch.setitem(sys.modules, "eventlet.patcher", patcher)
    with redlatch.connect(client.url, lazy=True) as opened:
        with pytest.raises(redlatch.UnsupportedError, match="eventlet has patched the threads; expected gevent"):
            opened.lock("x")
