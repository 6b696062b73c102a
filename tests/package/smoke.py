"""What a wheel must be able to do where nothing but the wheel is installed: smoke.py URL prints the module's path.

SPDX-License-Identifier: Apache-2.0
"""

import sys

import redlatch
import redlatch._core


def threads(url: str) -> None:
    """A lock is held inside `with`, refused to somebody else, and free afterwards."""
    with redlatch.connect(url) as client, redlatch.connect(url) as other:
        lock = client.lock("smoke")
        with lock as held:
            if held.lost or not lock.owned() or other.lock("smoke").acquire(blocking=False):
                raise SystemExit("the lock does not hold")
        if lock.state().locked:
            raise SystemExit("the lock is not free after `with`")


if __name__ == "__main__":
    threads(sys.argv[1])
    print(redlatch._core.__file__)
