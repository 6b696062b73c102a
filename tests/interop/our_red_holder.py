# SPDX-License-Identifier: Apache-2.0
"""A redlatch process that holds a RedLock until it is killed.

    our_red_holder.py NAME WATCHDOG_LEASE URL URL URL      prints "held" when it has the lock
"""

from __future__ import annotations

import sys

import redlatch


def main() -> None:
    """Holds the lock as long as the input is open."""
    name, lease, *urls = sys.argv[1:]
    clients = [redlatch.connect(url, watchdog_lease=float(lease)) for url in urls]
    redlatch.redlock(*(client.lock(name) for client in clients)).acquire()
    print("held", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
