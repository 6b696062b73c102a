"""connect_like(): a client for tasks, for the server of a redis-py client; see redlatch/like.py.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import Any

from redlatch.aio.client import Client, connect
from redlatch.like import options_like


def connect_like(redis_client: Any, **options: Any) -> Client:
    """Returns a client for the server of a redis-py client, usually one of redis.asyncio; see redlatch.connect_like().
    Enter it by `async with`, or await it, like a client of connect().

    Example:
        >>> import redis.asyncio
        >>> theirs = redis.asyncio.Redis.from_url(client.url, socket_timeout=2)
        >>> async with redlatch.aio.connect_like(theirs) as ours:
        ...     ours.url == client.url
        True
    """
    return connect(**options_like(redis_client, options))
