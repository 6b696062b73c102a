# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest: redis-py's tests of its lock get ours, and those that cannot pass are expected to fail."""

from __future__ import annotations

import sys
from typing import Any, Dict, List, Tuple, Type

import pytest
import redis.asyncio.lock
import redis.lock
from redlatch.compat import redis_py, redis_py_asyncio

# What each module of tests takes for Lock, and what it gets.
MODULES: Dict[str, Tuple[Type[Any], Type[Any]]] = {
    "tests.test_lock": (redis.lock.Lock, redis_py.Lock),
    "tests.test_asyncio.test_lock": (redis.asyncio.lock.Lock, redis_py_asyncio.Lock),
}
TOKEN = "acquire(token=...) is refused: the value of the key is redlatch's own"
# Of both modules, and of one. docs/how-to/migrate.md says the same.
CANNOT_PASS: Dict[str, str] = {
    "TestLock::test_lock": "a lock without timeout is renewed, so its key has a TTL",
    "TestLock::test_lock_token": TOKEN,
    "TestLock::test_lock_token_thread_local_false": TOKEN,
}
CANNOT_PASS_OF: Dict[str, Dict[str, str]] = {
    "tests/test_asyncio/test_lock.py": {
        "TestLock::test_blocking_timeout": "a wait lasts for its whole blocking_timeout, and is over after that",
    },
}


def pytest_collection_modifyitems(items: List[pytest.Item]) -> None:
    """The tests are collected, and take the class from their module when they run."""
    for name, (theirs, ours) in MODULES.items():
        module: Any = sys.modules[name]
        if module.Lock is not theirs:
            raise pytest.UsageError(f"{name} has no Lock of redis-py's that could be swapped")
        module.Lock = ours
    listed = {(file, test) for file in map(path, MODULES) for test in _cannot_pass(file)}
    for item in items:
        file, _, test = item.nodeid.partition("::")
        test = test.partition("[")[0]  # with asyncio each is played with two kinds of pools
        reason = _cannot_pass(file).get(test)
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
            listed.discard((file, test))
    if listed and len(items) > len(listed):
        raise pytest.UsageError(f"redis-py has no tests {sorted(listed)}")


def path(module: str) -> str:
    """The file of a module of tests."""
    return f"{module.replace('.', '/')}.py"


def _cannot_pass(file: str) -> Dict[str, str]:
    return {**CANNOT_PASS, **CANNOT_PASS_OF.get(file, {})}
