"""One of many processes leads: it does a periodic job while it holds the lock.

    python leader.py [TURNS]

The lock is renewed while the process lives. When the process dies, another one leads one lease later, here 10 s.
SPDX-License-Identifier: Apache-2.0
"""

import sys

import redlatch

PERIOD = 0.1


def lead(held: redlatch.Hold, turns: int) -> None:
    """Does the job `turns` times, or until the lock is lost."""
    for turn in range(turns):
        print("turn", turn)
        if held.lost_event.wait(PERIOD):
            return


def main() -> int:
    """Returns the exit status."""
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    with redlatch.connect(watchdog_lease=10) as client:
        try:
            with client.lock("example:leader") as held:
                print("leading")
                lead(held, turns)
        except redlatch.LockLostError as lost:
            print("another process may lead now:", lost.reason)
            return 1
    print("no longer leading")
    return 0


if __name__ == "__main__":
    sys.exit(main())
