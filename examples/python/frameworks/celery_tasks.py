"""A Celery task of which no two runs for the same account overlap, on any worker.

    celery -A celery_tasks worker

The broker delivers a task twice now and then, as when a worker dies: the lock makes such runs follow each other. The
lock of a worker that is killed, as by a hard time limit, is free when its lease ends: 30 s after the last renewal.
SPDX-License-Identifier: Apache-2.0
"""

import os
from typing import Any

from celery import Celery

import redlatch

URL = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0")
app = Celery("celery_tasks", broker=URL)
app.conf.broker_connection_retry_on_startup = True
client = redlatch.connect(URL, lazy=True)  # each worker that the prefork pool forks connects at its first use


def recalculate(account: int, held: redlatch.Hold) -> None:
    """Stands for the work. Between its steps it checks that the lock is still held."""
    held.check()


@app.task(bind=True, max_retries=None, acks_late=True)
def recalculate_account(task: Any, account: int) -> None:
    try:
        # It waits for a moment only: a task that waits is one that the worker cannot use for something else.
        with client.lock(f"account:{account}", timeout=0.5) as held:
            recalculate(account, held)
    except redlatch.LockTimeoutError as error:
        raise task.retry(exc=error, countdown=1) from error  # back to the broker
    except redlatch.LockLostError as error:
        raise task.retry(exc=error, countdown=1) from error  # what was begun is done again
