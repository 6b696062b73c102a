"""A Celery task. Its runs for the same account never overlap, on any worker.

    celery -A celery_tasks worker

The broker may deliver a task twice, for example when a worker dies. The lock makes such runs follow each other. If a
worker is killed, for example by a hard time limit, its lock is free when the lease ends: 30 s after the last renewal.
SPDX-License-Identifier: Apache-2.0
"""

import os
from typing import Any

from celery import Celery

import redlatch

URL = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0")
app = Celery("celery_tasks", broker=URL)
app.conf.broker_connection_retry_on_startup = True
client = redlatch.connect(URL, lazy=True)  # each worker of the prefork pool connects at its first use


def recalculate(account: int, held: redlatch.Hold) -> None:
    """Replace this by the work. Between its steps it checks that the lock is still held."""
    held.check()


@app.task(bind=True, max_retries=None, acks_late=True)
def recalculate_account(task: Any, account: int) -> None:
    try:
        # A short wait only: while a task waits, its worker can run nothing else.
        with client.lock(f"account:{account}", timeout=0.5) as held:
            recalculate(account, held)
    except redlatch.LockTimeoutError as error:
        raise task.retry(exc=error, countdown=1) from error  # back to the broker
    except redlatch.LockLostError as error:
        raise task.retry(exc=error, countdown=1) from error  # the work is done again from its beginning
