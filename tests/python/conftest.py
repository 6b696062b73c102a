"""Fixtures for the tests of the pure Python parts. None of them needs a server: a lazy client sends nothing.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import Iterator

import pytest
import redlatch

# Nothing listens on the discard port, so a test that would connect fails at once.
NOBODY = "redis://somebody:open-sesame@127.0.0.1:9/0"


@pytest.fixture
def client() -> Iterator[redlatch.Client]:
    """A client that has never connected."""
    tuning = redlatch.Tuning(close_timeout=0.1)
    with redlatch.connect(NOBODY, lazy=True, connect_timeout=0.2, unreachable_timeout=0.2, tuning=tuning) as client:
        yield client
