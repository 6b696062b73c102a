# SPDX-License-Identifier: Apache-2.0
"""Good histories, and violations that are planted into them."""

from __future__ import annotations

from typing import Any, Callable, Dict

from history import History, Operation, Stroke

MS = 1_000_000
LEASE = 2000 * MS


def turn(number: int, *, kind: str = "fenced", name: str = "n", process: str = "c-1.0", **changes: Any) -> Operation:
    """Returns a turn that requests at 100 ms times its number and holds from 10 to 60 ms later. A query during the
    hold returned a long lease."""
    start = number * 100 * MS
    made = Operation(
        f"{process}.{number}", process, process.partition("-")[0], kind, name, start, got=start + 10 * MS,
        give=start + 60 * MS, gave=start + 62 * MS, outcome="ok", facts={"token": number + 1},
        checks=[(start + 10 * MS, start + 10 * MS + LEASE)],
    )
    for field, value in changes.items():
        setattr(made, field, value)
    return made


def good() -> History:
    """Returns twenty turns one after the other, by two processes."""
    history = History([turn(number, process=f"c-{1 + number % 2}.0") for number in range(20)])
    history.ended = {"c-1.0": True, "c-2.0": True}
    return history


def late_release(history: History) -> None:
    """A release that comes a lease later."""
    history.operations[7].give = (history.operations[7].give or 0) + LEASE
    history.operations[7].gave = (history.operations[7].gave or 0) + LEASE


def no_release(history: History) -> None:
    """A hold without a release, by a process that was killed."""
    history.operations[7].give = history.operations[7].gave = None
    history.operations[7].process = "c-3.0"
    history.strokes.append(Stroke("kill", 7 * 100 * MS + 30 * MS, 7 * 100 * MS + 40 * MS, "c-3.0"))


def released_too_early_by_another(history: History) -> None:
    """A grant in the middle of another's hold."""
    history.operations[8].requested = history.operations[7].requested
    history.operations[8].checks = [((history.operations[7].give or 0) - MS, history.operations[8].checks[0][1])]


def a_token_again(history: History) -> None:
    """Two grants with one token."""
    history.operations[8].facts = {"token": history.operations[7].facts["token"]}


def tokens_swapped(history: History) -> None:
    """An older token after a newer one."""
    one, other = history.operations[7], history.operations[8]
    one.facts, other.facts = other.facts, one.facts


def no_token(history: History) -> None:
    """A grant without a token."""
    history.operations[7].facts = {}


def a_wait_without_end(history: History) -> None:
    """An acquire that never returned."""
    waits = turn(30, got=None, give=None, gave=None, checks=[])
    history.operations.append(waits)


def a_release_without_end(history: History) -> None:
    """A release that never returned."""
    history.operations[-1].gave = None


def a_process_that_hangs(history: History) -> None:
    """A process that did not end by itself."""
    history.ended["c-2.0"] = False


def a_wait_too_long(history: History) -> None:
    """A wait of 100 ms that takes a minute."""
    history.operations.append(
        turn(30, name="m", wait=100, got=None, refused=90_000 * MS, why="timeout", give=None, gave=None, checks=[])
    )


def an_error_while_waiting(history: History) -> None:
    """A wait of a second that ends with an error after half of it."""
    history.operations.append(
        turn(30, wait=1000, got=None, refused=(30 * 100 + 500) * MS, why="unreachable", give=None, gave=None, checks=[])
    )


def lost_while_safe(history: History) -> None:
    """A release that returns that the hold is lost, long before its lease ends."""
    history.operations[7].outcome = "lost"


def gone_while_safe(history: History) -> None:
    """A query that finds the hold lost, long before its lease ends."""
    history.operations[7].lost = (history.operations[7].got or 0) + 20 * MS


def somebody_in_the_section(history: History, number: int = 7) -> None:
    """A grant with somebody in its section, although the hold before had ended."""
    got = history.operations[number].got or 0
    history.operations[number].clashes.append(("n", got + MS, got + 2 * MS))


def make_fair(history: History) -> None:
    """Makes all turns acquire a fair lock. 7, 8 and 9 requested it in this order while 6 held it, and an observer saw
    them queue."""
    for each in history.operations:
        each.kind, each.facts = "fair", {"owner": each.id}
    waiting = history.operations[7:10]
    for number, each in enumerate(waiting):
        each.requested = (650 + 10 * number) * MS
    for moment in range(600 * MS, 1000 * MS, 5 * MS):
        owners = [each.id for each in waiting if each.requested < moment < (each.got or 0)]
        line = {"t": moment, "do": "queue", "id": "", "name": "n", "until": moment + 1, "owners": owners}
        history.others.append(line)


def passed_over(history: History) -> None:
    """A fair lock granted to 9 before 8."""
    one, other = history.operations[8], history.operations[9]
    for field in ("got", "give", "gave", "checks"):
        ones, others = getattr(one, field), getattr(other, field)
        setattr(one, field, others)
        setattr(other, field, ones)
    make_fair(history)


def make_permits(history: History) -> None:
    """Makes all turns acquire 2 of the 4 permits of a permit semaphore, two turns at a time."""
    for each in history.operations:
        each.kind, each.n, each.facts = "permit-semaphore", 2, {"ids": [f"{each.id} 0", f"{each.id} 1"]}
        each.give = (each.give or 0) + 100 * MS
        each.gave = each.give + MS


def one_permit_too_many(history: History) -> None:
    """Three permits taken where two are left."""
    make_permits(history)
    history.operations[7].n = 3
    history.operations[7].facts = {"ids": ["a", "b", "c"]}


def a_permit_twice(history: History) -> None:
    """Two permits with one id."""
    make_permits(history)
    history.operations[7].facts = {"ids": history.operations[3].facts["ids"]}


def a_permit_without_an_id(history: History) -> None:
    """One id for two permits."""
    make_permits(history)
    history.operations[7].facts = {"ids": ["a"]}


def make_semaphore(history: History) -> None:
    """Makes all turns acquire permits of a semaphore, which nobody owns. At the end it has all of them."""
    make_permits(history)
    for each in history.operations:
        each.kind, each.facts = "semaphore", {}
    history.others.append({"t": 9_000 * MS, "do": "count", "id": "", "name": "n", "n": 4})


def a_permit_out_of_nothing(history: History) -> None:
    """One permit more at the end."""
    make_semaphore(history)
    history.others[0]["n"] = 5


def a_permit_gone(history: History) -> None:
    """One permit fewer at the end."""
    make_semaphore(history)
    history.others[0]["n"] = 3


def a_leased_permit_gone(history: History) -> None:
    """One permit fewer at the end, of permits with leases."""
    make_permits(history)
    history.others.append({"t": 9_000 * MS, "do": "count", "id": "", "name": "n", "n": 3})


def not_renewed(history: History) -> None:
    """A hold that is not renewed, and is found lost when its lease has ended."""
    each = history.operations[-1]
    each.lease, each.give, each.gave = -1, (each.got or 0) + 2 * LEASE, (each.got or 0) + 2 * LEASE + MS
    each.outcome = "lost"


def a_hold_left(history: History) -> None:
    """A client that still has a hold at the end."""
    history.remains["c-1.0"] = 1, 0


def make_latch(history: History) -> None:
    """Makes all turns wait for latches that are set to 1 before the wait and counted down during it."""
    for each in history.operations:
        each.kind, each.facts, each.give, each.gave, each.outcome = "latch", {}, None, None, ""
        each.checks = [(each.got or 0, each.got or 0)]
        history.others += [
            {"t": each.requested - MS, "do": "set", "id": "", "name": "n", "n": 1},
            {"t": each.requested + 5 * MS, "do": "counting", "id": "", "name": "n"},
        ]


def through_too_early(history: History) -> None:
    """A count-down that comes after a waiter was let through."""
    make_latch(history)
    history.others[7]["t"] += 10 * MS


# The planted violations, with the checker that has to find each.
PLANTS: Dict[Callable[[History], None], str] = {
    late_release: "exclusion",
    no_release: "exclusion",
    released_too_early_by_another: "exclusion",
    somebody_in_the_section: "witness",
    a_token_again: "tokens",
    tokens_swapped: "tokens",
    no_token: "tokens",
    passed_over: "order",
    one_permit_too_many: "permits",
    a_permit_twice: "permit_ids",
    a_permit_without_an_id: "permit_ids",
    a_permit_out_of_nothing: "sums",
    a_permit_gone: "sums",
    a_leased_permit_gone: "sums",
    through_too_early: "latch",
    lost_while_safe: "honesty",
    gone_while_safe: "honesty",
    not_renewed: "honesty",
    a_wait_without_end: "waits",
    a_release_without_end: "waits",
    a_process_that_hangs: "waits",
    a_wait_too_long: "waits",
    a_hold_left: "waits",
    an_error_while_waiting: "errors",
}
