# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest: redis-py's tests of its lock get ours, and those that cannot pass are expected to fail."""

from __future__ import annotations

import sys
from typing import Any, Dict, List

import pytest
import redis.lock
from redlatch.compat.redis_py import Lock

MODULE = "tests.test_lock"
TOKEN = "acquire(token=...) is refused: the value of the key is redlatch's own"
# docs/how-to/migrate.md says the same.
CANNOT_PASS: Dict[str, str] = {
    "TestLock::test_lock": "a lock without timeout is renewed, so its key has a TTL",
    "TestLock::test_lock_token": TOKEN,
    "TestLock::test_lock_token_thread_local_false": TOKEN,
}


def pytest_collection_modifyitems(items: List[pytest.Item]) -> None:
    """The tests are collected, and take the class from their module when they run."""
    module: Any = sys.modules[MODULE]
    if module.Lock is not redis.lock.Lock:
        raise pytest.UsageError(f"{MODULE} has no Lock of redis-py's that could be swapped")
    module.Lock = Lock
    known = {item.nodeid.partition("::")[2]: item for item in items}
    missing = CANNOT_PASS.keys() - known.keys()
    if missing and len(known) > len(CANNOT_PASS):
        raise pytest.UsageError(f"redis-py has no tests {sorted(missing)}")
    for name, reason in CANNOT_PASS.items():
        if name in known:
            known[name].add_marker(pytest.mark.xfail(reason=reason, strict=True))
