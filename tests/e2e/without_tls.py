# SPDX-License-Identifier: Apache-2.0
"""A build with -DREDLATCH_TLS=OFF takes no URL of TLS for a plain one. The stage `without-tls` runs this file."""

from __future__ import annotations

import pytest
import redlatch
from support import RedisServer


@pytest.mark.parametrize("url", ["rediss://127.0.0.1", "rediss+sentinel://127.0.0.1/orders"])
def test_urls_of_tls_are_not_supported(url: str) -> None:
    """The error says that the build lacks TLS."""
    with pytest.raises(redlatch.UnsupportedError, match="need TLS, which this build lacks .*expected redis://"):
        redlatch.connect(url)


def test_plain_connections_work(server: RedisServer, lock_name: str) -> None:
    """Connections without TLS work as in other builds."""
    with redlatch.connect(server.url) as client, client.lock(lock_name) as held:
        assert not held.lost
    with pytest.raises(redlatch.InvalidArgumentError, match="tls_verify .*expected a rediss:// URL"):
        redlatch.connect(server.url, tls_verify="none")
