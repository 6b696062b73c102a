"""The methods of Client for whole jobs: once(), a function that runs at most once in a period; locked(), a function
that holds a lock named by its arguments; elect(), the election of a leader.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Callable, Optional, TypeVar, cast

from redlatch.decorators import NameOfCall, check_function, check_template
from redlatch.durations import Seconds, lease_ms, limit_ms, wait_ms
from redlatch.elections import Callback, Election
from redlatch.errors import LockName
from redlatch.losses import OnLost
from redlatch.once import Once
from redlatch.options import flag, on_lost_option
from redlatch.other_names import explain_other_names

if TYPE_CHECKING:
    from typing_extensions import ParamSpec

    from redlatch.client import Client

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
        """Returns a decorator for a job that many processes start at the same time, but only one of them should run, as
        with ShedLock. A call is skipped and returns None if another process runs the job, or if it comes before
        `at_least` is over.

        Args:
            name: See lock(). For other clients it is a mutex.
            at_most: The fixed lease. A process that dies holds the lock for this long. The job must take less: after
                this time another process may run it.
            at_least: How long the lock stays held from the start of the job, even if the job ends earlier or raises.
                Choose more than the difference of the machines' clocks, and less than the period.
            on_lost: See lock(). A job that takes longer than at_most loses its hold.

        Example:
            >>> @client.once("report", at_least=300, at_most=3600)
            ... def report() -> str:
            ...     return "done"
            >>> report(), report()
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
    ) -> Callable[[Callable[Parameters, Returned]], Callable[Parameters, Returned]]:
        """Returns a decorator: each call of the function holds a mutex whose name is made from the call's arguments.

        Args:
            name: A template of str.format(). Each field names an argument: "user:{user_id}", "{order.id:08}". A doubled
                brace is one brace.
            timeout: How long a call waits before it raises a LockTimeoutError. For details of the options see lock().
            lease: Renewed or fixed.
            max_hold: The longest hold.
            on_lost: "raise", "log" or a callable.
            reentrant: Whether the function may call itself with the same arguments.

        Example:
            >>> @client.locked("user:{user_id}", timeout=5)
            ... def charge(user_id: int, amount: int = 1) -> bool:
            ...     return client.inspect("user:7").locked
            >>> charge(7), charge(user_id=8)
            (True, False)
        """
        check_template(name)
        wait_ms(timeout, "timeout"), lease_ms(lease, "lease"), limit_ms(max_hold, "max_hold")
        on_lost_option(on_lost), flag(reentrant, "reentrant")

        def decorate(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
            check_function(function, "@locked", "with client.lock(...):")
            names = NameOfCall(name, function)

            @functools.wraps(function)
            def holding(*arguments: Parameters.args, **keywords: Parameters.kwargs) -> Returned:
                with _client(self).lock(
                    names.of(arguments, keywords),
                    timeout=timeout,
                    lease=lease,
                    max_hold=max_hold,
                    on_lost=on_lost,
                    reentrant=reentrant,
                ):
                    return function(*arguments, **keywords)

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
        """Returns an election. Within its `with` block this process is a candidate, and of the candidates in all
        processes one leads. When a leader dies, another candidate leads after the `watchdog_lease` (see connect()).

        Args:
            name: See lock(). For other clients it is a mutex.
            on_gain: Called when this candidate becomes the leader, by a thread of the election. It should start the
                work of a leader, and return soon.
            on_loss: Called when this candidate no longer leads, by the same thread. If the candidate resigns, this is
                before the lock is released; after a loss another candidate may lead already. It should return when the
                work has stopped.

        Example:
            >>> with client.elect("scheduler", on_gain=lambda: print("leads")) as election:
            ...     while not election.is_leader:
            ...         pass
            leads
        """
        return Election(_client(self), name, on_gain, on_loss)
