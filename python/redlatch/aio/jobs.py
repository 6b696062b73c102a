"""The methods of Client for whole jobs, for tasks; see redlatch/jobs.py.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Callable, Coroutine, Optional, TypeVar, cast

from redlatch.aio.elections import Callback, Election
from redlatch.aio.locks import OnLost, on_lost_option
from redlatch.aio.once import Once
from redlatch.decorators import NameOfCall, check_coroutine_function, check_template
from redlatch.durations import Seconds, lease_ms, limit_ms, wait_ms
from redlatch.errors import LockName
from redlatch.options import flag
from redlatch.other_names import explain_other_names

if TYPE_CHECKING:
    from typing_extensions import ParamSpec

    from redlatch.aio.client import Client

    Parameters = ParamSpec("Parameters")

Returned = TypeVar("Returned")


def _client(jobs: Jobs) -> Client:
    return cast("Client", jobs)  # Jobs is a base class of Client alone


class Jobs:
    """The part of Client for whole jobs."""

    @explain_other_names
    def once(
        self, name: LockName, *, at_most: Seconds, at_least: Seconds = 0, on_lost: OnLost = "raise"
    ) -> Once:
        """Returns a decorator for a job that many processes start at the same time, but only one of them should run;
        see redlatch.Client.once(). With on_lost="cancel" a job that takes longer than at_most is cancelled.

        Example:
            >>> @client.once("report", at_least=300, at_most=3600)
            ... async def report() -> str:
            ...     return "done"
            >>> await report(), await report()
            ('done', None)
        """
        return Once(_client(self), name, at_least, at_most, on_lost)

    @explain_other_names
    def locked(
        self,
        name: str,
        *,
        timeout: Optional[Seconds] = None,
        lease: Optional[Seconds] = None,
        max_hold: Optional[Seconds] = None,
        on_lost: OnLost = "raise",
        reentrant: bool = True,
    ) -> Callable[
        [Callable[Parameters, Coroutine[Any, Any, Returned]]], Callable[Parameters, Coroutine[Any, Any, Returned]]
    ]:
        """Returns a decorator for coroutine functions: each call holds a mutex whose name is made from the call's
        arguments; see redlatch.Client.locked().

        Example:
            >>> @client.locked("user:{user_id}", timeout=5)
            ... async def charge(user_id: int, amount: int = 1) -> bool:
            ...     return (await client.inspect("user:7")).locked
            >>> await charge(7), await charge(user_id=8)
            (True, False)
        """
        check_template(name)
        wait_ms(timeout, "timeout"), lease_ms(lease, "lease"), limit_ms(max_hold, "max_hold")
        on_lost_option(on_lost), flag(reentrant, "reentrant")

        def decorate(
            function: Callable[Parameters, Coroutine[Any, Any, Returned]],
        ) -> Callable[Parameters, Coroutine[Any, Any, Returned]]:
            check_coroutine_function(function, "@locked", "async with client.lock(...):")
            names = NameOfCall(name, function)

            @functools.wraps(function)
            async def holding(*arguments: Parameters.args, **keywords: Parameters.kwargs) -> Returned:
                async with _client(self).lock(
                    names.of(arguments, keywords),
                    timeout=timeout,
                    lease=lease,
                    max_hold=max_hold,
                    on_lost=on_lost,
                    reentrant=reentrant,
                ):
                    return await function(*arguments, **keywords)

            return holding

        return decorate

    @explain_other_names
    def elect(
        self,
        name: LockName,
        *,
        on_gain: Optional[Callback] = None,
        on_loss: Optional[Callback] = None,
    ) -> Election:
        """Returns an election. Within its `async with` block this process is a candidate, and of the candidates in all
        processes one leads; see redlatch.Client.elect(). The callbacks may be coroutine functions. A task of the
        election calls them.

        Example:
            >>> async with client.elect("scheduler") as election:
            ...     repr(election)
            "<redlatch.aio.Election 'scheduler', does not lead>"
        """
        return Election(_client(self), name, on_gain, on_loss)
