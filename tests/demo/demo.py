"""`./dev demo`: scenes on private redis-servers. The exit status is 0 only if each scene showed what it should.

SPDX-License-Identifier: Apache-2.0
"""

import sys
import tempfile
from pathlib import Path

import failover
import pause
import race
import redlatch
import watchdog
from show import say, title
from support import RedisServer

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Returns the exit status."""
    with RedisServer() as server, tempfile.TemporaryDirectory() as folder:
        say(f"redlatch {redlatch.__version__} on a private redis-server at {server.url}")
        results = [
            race.run(server.url, ROOT / "build" / "tests", Path(folder)),
            watchdog.run(server.url, server.client()),
            pause.run(server.url),
            failover.run(),
        ]
    title("All scenes showed what they should." if all(results) else "A scene did not show what it should.")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
