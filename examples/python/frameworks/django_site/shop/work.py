"""What must not be done twice at the same time. It stands for the site's own work.

SPDX-License-Identifier: Apache-2.0
"""

import redlatch


def recalculate(account: int, held: redlatch.Hold) -> None:
    """Between its steps it checks that the lock is still held."""
    held.check()
