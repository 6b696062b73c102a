"""The client of redlatch that all of the site uses.

SPDX-License-Identifier: Apache-2.0
"""

import functools
import os

import redlatch


@functools.lru_cache(maxsize=1)
def _client_of(pid: int) -> redlatch.Client:
    return redlatch.connect()


def locks() -> redlatch.Client:
    """The client of this process, for all its threads; of REDIS_URL. Servers that fork after the import, as gunicorn
    --preload does, get one in each worker."""
    return _client_of(os.getpid())
