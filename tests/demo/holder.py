"""A process that takes a lock and reports the grant, a loss and the release.

    holder.py URL NAME LEASE

Prints a line for each event. Releases the lock after a line on standard input.
SPDX-License-Identifier: Apache-2.0
"""

import sys
import threading

import redlatch


def main() -> None:
    """holder.py URL NAME LEASE"""
    url, name, lease = sys.argv[1:]
    client = redlatch.connect(url, watchdog_lease=float(lease))
    lock = client.lock(name)
    lock.acquire()
    held = lock.held()
    print("held", held.owner, flush=True)

    def report_loss() -> None:
        held.lost_event.wait()
        print("event lost", flush=True)

    threading.Thread(target=report_loss, daemon=True).start()
    sys.stdin.readline()
    print("lost" if held.lost else "still held", flush=True)
    try:
        lock.release()
        print("released", flush=True)
    except redlatch.LockLostError as error:
        print("release says:", error, flush=True)


if __name__ == "__main__":
    main()
