"""A lock in a Flask view: of one account at a time, in all processes of all machines, one request is at work.

    flask --app flask_app run
    gunicorn flask_app:app

SPDX-License-Identifier: Apache-2.0
"""

import functools
import os
from typing import Any, Dict, Tuple

from flask import Flask

import redlatch

app = Flask(__name__)


def recalculate(account: int, held: redlatch.Hold) -> None:
    """Stands for the work. Between its steps it checks that the lock is still held."""
    held.check()


@functools.lru_cache(maxsize=1)
def _client_of(pid: int) -> redlatch.Client:
    return redlatch.connect()


def locks() -> redlatch.Client:
    """The client of this process, for all its threads. Servers that fork after the import, as gunicorn --preload does,
    get one in each worker."""
    return _client_of(os.getpid())


@app.post("/accounts/<int:account>/recalculate")
def recalculate_account(account: int) -> Dict[str, int]:
    with locks().lock(f"account:{account}", timeout=5) as held:  # the thread of the request is the owner
        recalculate(account, held)
    return {"account": account}


@app.errorhandler(redlatch.LockTimeoutError)
def busy(error: redlatch.LockTimeoutError) -> Tuple[Dict[str, str], int, Dict[str, Any]]:
    return {"error": "another request works on it"}, 409, {"Retry-After": "1"}


@app.errorhandler(redlatch.LockLostError)
def lost(error: redlatch.LockLostError) -> Tuple[Dict[str, str], int]:
    return {"error": "the lock was lost on the way; the work may be half done"}, 503
