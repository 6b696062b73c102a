# SPDX-License-Identifier: Apache-2.0
"""A build with -DREDLATCH_TLS=OFF: no URL of TLS is mistaken for a plain one. A stage of its own, with that build."""

from __future__ import annotations

import pytest
import redlatch
from support import RedisServer


@pytest.mark.parametrize("url", ["rediss://127.0.0.1", "rediss+sentinel://127.0.0.1/orders"])
def test_urls_of_tls_are_not_supported(url: str) -> None:
    """The message says which build it takes."""
    with pytest.raises(redlatch.UnsupportedError, match="need TLS, which this build lacks .*expected redis://"):
        redlatch.connect(url)


def test_plain_connections_work(server: RedisServer, lock_name: str) -> None:
    """All else is the same."""
    with redlatch.connect(server.url) as client, client.lock(lock_name) as held:
        assert not held.lost
    with pytest.raises(redlatch.InvalidArgumentError, match="tls_verify .*expected a rediss:// URL"):
        redlatch.connect(server.url, tls_verify="none")
