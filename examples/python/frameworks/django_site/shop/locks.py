"""The site's redlatch client, for the server of REDIS_URL. Each process connects at its first use, even if it was
forked after the import, as by gunicorn --preload.

SPDX-License-Identifier: Apache-2.0
"""

import redlatch

client = redlatch.connect(lazy=True)
