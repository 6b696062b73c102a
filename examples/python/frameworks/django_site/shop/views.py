"""A view under a lock: for each account, one request works at a time, in all processes of all machines.

select_for_update() does the same for rows of one database. A lock on Redis also holds outside of transactions, and for
resources that are in no database.
SPDX-License-Identifier: Apache-2.0
"""

from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

import redlatch
from shop import work
from shop.locks import client


@csrf_exempt  # the example has no forms
@require_POST
def recalculate(request: HttpRequest, account: int) -> JsonResponse:
    try:
        # Around transaction.atomic(), not inside: the next holder has to see committed data.
        with client.lock(f"account:{account}", timeout=5) as held:
            work.recalculate(account, held)
    except redlatch.LockTimeoutError:
        return JsonResponse({"error": "another request works on it"}, status=409, headers={"Retry-After": "1"})
    except redlatch.LockLostError:
        return JsonResponse({"error": "the lock was lost on the way; the work may be half done"}, status=503)
    return JsonResponse({"account": account})
