"""A lock in a Flask view: for each account, one request works at a time, in all processes of all machines.

    flask --app flask_app run
    gunicorn flask_app:app

SPDX-License-Identifier: Apache-2.0
"""

from typing import Any, Dict, Tuple

from flask import Flask

import redlatch

app = Flask(__name__)
client = redlatch.connect(lazy=True)  # each worker of gunicorn connects at its first use, also with --preload


def recalculate(account: int, held: redlatch.Hold) -> None:
    """Replace this by the work. Between its steps it checks that the lock is still held."""
    held.check()


@app.post("/accounts/<int:account>/recalculate")
def recalculate_account(account: int) -> Dict[str, int]:
    with client.lock(f"account:{account}", timeout=5) as held:  # the request's thread is the owner
        recalculate(account, held)
    return {"account": account}


@app.errorhandler(redlatch.LockTimeoutError)
def busy(error: redlatch.LockTimeoutError) -> Tuple[Dict[str, str], int, Dict[str, Any]]:
    return {"error": "another request works on it"}, 409, {"Retry-After": "1"}


@app.errorhandler(redlatch.LockLostError)
def lost(error: redlatch.LockLostError) -> Tuple[Dict[str, str], int]:
    return {"error": "the lock was lost on the way; the work may be half done"}, 503
