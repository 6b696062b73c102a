"""The guard that cancels a task of asyncio when its hold is lost. After its block it cancels nothing.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import asyncio
import gc

import pytest
from redlatch.aio.asyncio_loop import _Guard


def test_a_loss_ends_the_block() -> None:
    async def block() -> object:
        guard = _Guard()
        guard.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await asyncio.sleep(60)
        return await guard.leave(asyncio.CancelledError, caught.value, None)

    assert asyncio.run(block()) is True


def test_a_loss_after_the_block_cancels_nothing() -> None:
    async def block() -> None:
        guard = _Guard()
        assert await guard.leave(None, None, None) is False
        guard.cancel()
        await asyncio.sleep(0)

    asyncio.run(block())


def test_a_loss_after_the_task_is_gone_does_nothing() -> None:
    async def made() -> _Guard:
        return _Guard()

    async def outer() -> _Guard:
        return await asyncio.create_task(made())

    guard = asyncio.run(outer())
    gc.collect()
    guard.cancel()
