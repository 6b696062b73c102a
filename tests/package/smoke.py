"""What a wheel must do where only the wheel is installed. smoke.py URL prints the module's path.

SPDX-License-Identifier: Apache-2.0
"""

import asyncio
import sys

import redlatch
import redlatch._core
import redlatch.aio


def threads(url: str) -> None:
    """A lock is held inside `with`, cannot be acquired by others meanwhile, and is free afterwards."""
    with redlatch.connect(url) as client, redlatch.connect(url) as other:
        lock = client.lock("smoke")
        with lock as held:
            if held.lost or not lock.owned() or other.lock("smoke").acquire(blocking=False):
                raise SystemExit("the lock does not hold")
        if lock.state().locked:
            raise SystemExit("the lock is not free after `with`")


async def tasks(url: str) -> None:
    """The same with tasks of asyncio."""
    async with redlatch.aio.connect(url) as client:
        lock = client.lock("smoke")
        async with lock as held:
            other = asyncio.get_running_loop().create_task(refused(client))
            if held.lost or not lock.owned() or not await other:
                raise SystemExit("the lock of a task does not hold")
        if (await lock.state()).locked:
            raise SystemExit("the lock is not free after `async with`")


async def refused(client: redlatch.aio.Client) -> bool:
    """Returns whether another task cannot acquire the lock."""
    return not await client.lock("smoke").acquire(blocking=False)


if __name__ == "__main__":
    threads(sys.argv[1])
    asyncio.run(tasks(sys.argv[1]))
    print(redlatch._core.__file__)
