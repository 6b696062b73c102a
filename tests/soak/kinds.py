# SPDX-License-Identifier: Apache-2.0
"""The kinds of lock in the soak, one row each: how each language makes it, and which checkers judge its history.

Workers know shapes. A shape is the way in which a kind is acquired and released. A kind of a known shape only needs a
row here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, Sequence, Tuple

from support.kind_table import NUMBERS

LANGUAGES = ("c", "python", "asyncio", "trio", "lua", "java")
OURS = LANGUAGES[:-1]
# The number of independent servers. All locks of one name are on the first, but for members of multi locks and
# RedLocks.
SERVERS = 3


@dataclass(frozen=True)
class Kind:
    """A kind of lock. `core` is its name in the table of kinds, empty for locks of several names. `maker` is the method
    of a client in Python and Lua; what follows a dot is an attribute of its result. `theirs` is Redisson's word in
    tests/interop/redisson/.../Objects.java."""

    core: str
    maker: str
    theirs: str = ""
    # The checkers that judge it, by their names in checkers/__init__.py. The checkers of all waits always judge.
    checks: Tuple[str, ...] = ("exclusion", "witness")
    languages: Tuple[str, ...] = LANGUAGES
    shape: str = "lock"
    # Numbers for its workers. For a lock they are options of its maker, 0 or 1; for a semaphore its permits, for a
    # latch its count. epoch_ms: a new one with a new name replaces it after each such time.
    options: Dict[str, int] = field(default_factory=dict)
    reentrant: bool = True
    # Kinds of one family have the same names, and are judged together.
    family: str = ""
    # The number of its names.
    names: int = 2
    # Keys that stay when nobody holds anything. {name} stands for the name.
    stays: Tuple[str, ...] = ()
    # The key of the list in which its waiters queue, in the same notation.
    queue: str = ""

    def word(self, language: str) -> str:
        """Returns the word for it in the plan of a worker of a language."""
        return {"c": str(NUMBERS.get(self.core, 0)), "java": self.theirs}.get(language, self.maker)


_FAIR_QUEUE = "redisson_lock_queue:{{{name}}}"

KINDS: Dict[str, Kind] = {
    "mutex": Kind("mutex", "lock", "lock"),
    "non-reentrant": Kind("mutex", "lock", "non-reentrant", options={"reentrant": 0}, reentrant=False),
    "fenced": Kind(
        "fenced", "fenced_lock", "fenced", ("exclusion", "witness", "tokens"),
        stays=("redisson_lock_token:{{{name}}}",),
    ),
    "fair": Kind("fair", "fair_lock", "fair", ("exclusion", "witness", "order"), queue=_FAIR_QUEUE),
    "non-reentrant-fair": Kind(
        "fair", "fair_lock", "non-reentrant fair", ("exclusion", "witness", "order"),
        options={"reentrant": 0}, reentrant=False, queue=_FAIR_QUEUE,
    ),
    "spin": Kind("spin", "spin_lock", "spin"),
    "read": Kind("read", "read_write_lock.read", "read", ("exclusion",), family="read-write"),
    "write": Kind("write", "read_write_lock.write", "write", family="read-write"),
    "plain": Kind("plain", "plain_lock", languages=OURS, reentrant=False),
    "multi": Kind("", "multi_lock", "multi", shape="multi"),
    "multi-on-servers": Kind("", "multi_lock", "multi", shape="multi"),
    "multi-of-kinds": Kind("", "multi_lock", "multi", shape="multi"),
    "multi-with-plain": Kind("", "multi_lock", shape="multi", languages=OURS),
    "redlock": Kind("", "redlock", "red", shape="redlock"),
    "group": Kind("group", "group_lock", "group", shape="group"),
    # Permits of a semaphore that a killed process had taken stay taken, so there is a new one all the time.
    "semaphore": Kind(
        "semaphore", "semaphore", "semaphore", ("permits", "sums"), shape="semaphore",
        options={"permits": 4, "epoch_ms": 5000}, stays=("{name}:*",),
    ),
    "permit-semaphore": Kind(
        "permit_semaphore", "permit_semaphore", "permit semaphore", ("permits", "permit_ids", "sums"), shape="permits",
        options={"permits": 4, "epoch_ms": 10_000}, stays=("{name}:*", "{{{name}:*"),
    ),
    "latch": Kind(
        "latch", "latch", "latch", ("latch",), shape="latch", options={"count": 2, "epoch_ms": 1000},
        names=1, stays=("{name}:*",),
    ),
}

assert {kind.core for kind in KINDS.values() if kind.core} == set(NUMBERS), "a kind of the core has no row here"


def names_of(kind_name: str) -> Tuple[str, ...]:
    """Returns the names of a kind's locks. Several names at once are joined by +. Values of a group follow a slash. A
    member that is not on the first server has its server's number behind an @. Members of multi locks are also acquired
    one by one. Their order is the same everywhere, since Redisson's multi locks block each other in opposite orders.
    """
    kind = KINDS[kind_name]
    if kind_name == "multi-of-kinds":
        one, other, last = "soak:read-write:0", "soak:spin:0", "soak:non-reentrant:0"
        return f"{one}+{other}", f"{other}+{last}", f"{one}+{other}+{last}"
    if kind_name == "multi-with-plain":
        return "soak:plain:0+soak:spin:0", "soak:read-write:1+soak:plain:0"
    if kind.shape == "group":
        a, b, c = (f"soak:group:0/{value}" for value in "abc")
        return f"{a}+{b}", f"{b}+{c}", f"{a}+{b}+{c}", c
    if kind.shape == "multi":
        third = "soak:multi:0"
        if kind_name == "multi-on-servers":
            second, last = "soak:multi:1@1", "soak:multi:2@2"
            return f"{third}+{second}", f"{second}+{last}", f"{third}+{last}", f"{third}+{second}+{last}"
        one, other = names_of("mutex")
        return f"{one}+{other}", f"{third}+{one}", f"{third}+{other}"
    return tuple(f"soak:{kind.family or kind_name}:{index}" for index in range(kind.names))


def member_kinds(kind_names: Sequence[str]) -> Dict[str, str]:
    """Returns the members of multi locks that are no mutexes, and their kinds. Of read-write locks, members are write
    locks."""
    names = [name for kind in kind_names if KINDS[kind].shape == "multi" for name in names_of(kind)]
    members = {member for name in names for member in name.split("+")}
    kinds = {member: member.split(":")[1].replace("read-write", "write") for member in sorted(members)}
    return {member: kind for member, kind in kinds.items() if kind not in ("mutex", "multi")}


def is_redissons(owner: str) -> bool:
    """Returns whether an owner id is Redisson's: its uuids have the version 4, those of redlatch the version 8."""
    return owner[14] == "4"


def queues_of(kind_names: Sequence[str]) -> Dict[str, str]:
    """Returns the names of kinds that queue, and the keys of their queues."""
    return {
        name: KINDS[kind].queue.format(name=name) for kind in kind_names if KINDS[kind].queue for name in names_of(kind)
    }


def sections_of(kind_names: Sequence[str]) -> Sequence[Tuple[str, str]]:
    """Returns the kinds and names that a witness watches."""
    return [
        (kind, member)
        for kind in kind_names
        if "witness" in KINDS[kind].checks
        for member in sorted({member for name in names_of(kind) for member in name.split("+")})
    ]
