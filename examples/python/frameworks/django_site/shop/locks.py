"""The client of redlatch that all of the site uses; of REDIS_URL. Each process connects at its first use, also one that
was forked after the import, as by gunicorn --preload.

SPDX-License-Identifier: Apache-2.0
"""

import redlatch

client = redlatch.connect(lazy=True)
