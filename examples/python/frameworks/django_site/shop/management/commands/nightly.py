"""A management command that cron starts on every machine. It runs on one machine at a time.

    python manage.py nightly              # does not wait: status 1 while another one runs
    python manage.py nightly --wait 60    # waits at most a minute

SPDX-License-Identifier: Apache-2.0
"""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

import redlatch
from shop import work
from shop.locks import client


class Command(BaseCommand):
    help = "Recalculates the accounts, on one machine at a time."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--wait", type=float, default=0, help="for how many seconds to wait for another one")
        parser.add_argument("--accounts", type=int, nargs="*", default=[1, 2, 3])

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with client.lock("nightly", timeout=options["wait"]) as held:
                for account in options["accounts"]:
                    work.recalculate(account, held)
        except redlatch.LockTimeoutError as error:
            raise CommandError("another machine is at it") from error
        except redlatch.LockLostError as error:
            raise CommandError(f"stopped: the lock was lost ({error.reason})") from error
        self.stdout.write("done")
