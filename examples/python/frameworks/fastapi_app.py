"""Locks in FastAPI: in endpoints that are coroutines, and in endpoints that run in threads.

    uvicorn fastapi_app:app

SPDX-License-Identifier: Apache-2.0
"""

from contextlib import asynccontextmanager
from typing import Annotated, Any, AsyncIterator, Dict, Iterator

from fastapi import Depends, FastAPI, Request
from fastapi.responses import JSONResponse

import redlatch
import redlatch.aio


async def recalculate(account: int, held: redlatch.aio.Hold) -> None:
    """Replace this by the work of a coroutine. When the lock is lost, it is cancelled at its next `await`."""


def recalculate_in_thread(account: int, held: redlatch.Hold) -> None:
    """Replace this by work that blocks. Between its steps it checks that the lock is still held."""
    held.check()


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[Dict[str, Any]]:
    """One client for the event loop, and one for the threads in which FastAPI runs `def` endpoints. Each worker process
    of uvicorn has its own clients, since this runs after the fork."""
    async with redlatch.aio.connect() as tasks:
        with redlatch.connect() as threads:
            yield {"tasks": tasks, "threads": threads}


app = FastAPI(lifespan=lifespan)


async def task_hold(account: int, request: Request) -> AsyncIterator[redlatch.aio.Hold]:
    """The lock of an account, for coroutines: held until the endpoint has returned."""
    tasks: redlatch.aio.Client = request.state.tasks
    async with tasks.lock(f"account:{account}", timeout=5, on_lost="cancel") as held:
        yield held


def thread_hold(account: int, request: Request) -> Iterator[redlatch.Hold]:
    """The lock of an account, for threads. FastAPI may enter and leave this block in different threads, so the lock
    object is the owner, not a thread."""
    threads: redlatch.Client = request.state.threads
    with threads.lock(f"account:{account}", timeout=5, owner="handle") as held:
        yield held


@app.post("/accounts/{account}/by-task")
async def by_task(account: int, held: Annotated[redlatch.aio.Hold, Depends(task_hold)]) -> Dict[str, int]:
    await recalculate(account, held)
    return {"account": account}


@app.post("/accounts/{account}/by-thread")
def by_thread(account: int, held: Annotated[redlatch.Hold, Depends(thread_hold)]) -> Dict[str, int]:
    recalculate_in_thread(account, held)
    return {"account": account}


@app.post("/accounts/{account}/without-dependency")
async def without_dependency(account: int, request: Request) -> Dict[str, int]:
    """A lock for only a part of a request, as in a program without FastAPI."""
    tasks: redlatch.aio.Client = request.state.tasks
    async with tasks.lock(f"account:{account}", timeout=5, on_lost="cancel") as held:
        await recalculate(account, held)
    return {"account": account}


@app.exception_handler(redlatch.LockTimeoutError)
async def busy(request: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"error": "another request works on it"}, 409, {"Retry-After": "1"})


@app.exception_handler(redlatch.LockLostError)
async def lost(request: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"error": "the lock was lost on the way; the work may be half done"}, 503)
