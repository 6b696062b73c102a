# SPDX-License-Identifier: Apache-2.0
"""A redlatch process that holds a lock until it is killed.

    our_holder.py URL KIND NAME WATCHDOG_LEASE      prints "held" when it has the lock
"""

from __future__ import annotations

import sys

import redlatch
from kinds import KINDS


def main() -> None:
    """Holds the lock as long as the input is open."""
    url, kind, name, lease = sys.argv[1:]
    lock = KINDS[kind].ours(redlatch.connect(url, watchdog_lease=float(lease)), name)
    lock.acquire()
    print("held", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
