"""A store that checks fencing tokens rejects the write of a holder whose lease has ended.

    python fenced_store.py

Two clients play two processes. The first one is paused for longer than its lease and then writes.
SPDX-License-Identifier: Apache-2.0
"""

import sqlite3

import redlatch


class Account:
    """A row that stores the largest token seen."""

    def __init__(self) -> None:
        self._database = sqlite3.connect(":memory:")
        self._database.execute("CREATE TABLE account (sum INTEGER, token INTEGER)")
        self._database.execute("INSERT INTO account VALUES (0, 0)")

    def write(self, amount: int, token: int) -> bool:
        """Writes unless a larger token has been used. One statement checks and writes."""
        statement = "UPDATE account SET sum = ?, token = ? WHERE token <= ?"
        return self._database.execute(statement, (amount, token, token)).rowcount == 1


def main() -> None:
    account = Account()
    with redlatch.connect() as first, redlatch.connect() as second:
        slow = first.fenced_lock("example:account", lease=0.5)
        slow.acquire()
        hold = slow.held()
        assert hold is not None and hold.token is not None
        hold.lost_event.wait()  # plays a pause of the whole process
        with second.fenced_lock("example:account") as held:
            assert held.token is not None
            print("the second writes:", account.write(100, held.token))
        print("the first writes late:", account.write(50, hold.token))
        try:
            slow.release()
        except redlatch.LockLostError as lost:
            print("the first is told:", lost.reason)


if __name__ == "__main__":
    main()
