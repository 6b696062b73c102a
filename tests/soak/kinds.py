# SPDX-License-Identifier: Apache-2.0
"""The kinds of lock that the soak takes, one row each: how each language makes it, and what judges its history.

Workers know shapes: how a thing is taken and given back. A kind whose shape they know needs a row here and no more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, Sequence, Tuple

from support.kind_table import NUMBERS

LANGUAGES = ("c", "python", "asyncio", "trio", "lua", "java")
OURS = LANGUAGES[:-1]
# Independent servers. All locks of one name are on the first, but those of multi locks and RedLocks.
SERVERS = 3


@dataclass(frozen=True)
class Kind:
    """A kind of lock. `core` is its name in the table of kinds, empty for locks of several names; `maker` the method of
    a client in Python and Lua, with what it leads to behind a dot; `theirs` Redisson's word in
    tests/interop/redisson/.../Objects.java."""

    core: str
    maker: str
    theirs: str = ""
    # The checkers that judge it, by their names in checkers/__init__.py; what is true of every wait is always judged.
    checks: Tuple[str, ...] = ("exclusion", "witness")
    languages: Tuple[str, ...] = LANGUAGES
    shape: str = "lock"
    # Numbers that its workers are told: of a lock the options of its maker, 0 and 1; of a semaphore its permits, of a
    # latch its count; epoch_ms: there is a new one under a new name whenever so much time has passed.
    options: Dict[str, int] = field(default_factory=dict)
    reentrant: bool = True
    # Kinds of one family share their names, and are judged together.
    family: str = ""
    # How many names there are.
    names: int = 2
    # Keys that stay when nobody holds anything, with {name} in the place of the name.
    stays: Tuple[str, ...] = ()
    # The list in which its waiters queue, in the same way.
    queue: str = ""

    def word(self, language: str) -> str:
        """What a worker of a language calls it."""
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
    # What a killed process had taken of a semaphore stays taken, so there are new ones all the time.
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
    """The names that locks of a kind have; of several locks at once, all of them with + in between, and values of a
    group behind a slash. A member that is not on the first server has its server's number behind an @. Members of multi
    locks are also taken one by one. Their order is the same everywhere: Redisson's stall each other in opposite ones.
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
    """Members of multi locks that are no mutexes, and their kinds; of read-write locks they are the writing side."""
    names = [name for kind in kind_names if KINDS[kind].shape == "multi" for name in names_of(kind)]
    members = {member for name in names for member in name.split("+")}
    kinds = {member: member.split(":")[1].replace("read-write", "write") for member in sorted(members)}
    return {member: kind for member, kind in kinds.items() if kind not in ("mutex", "multi")}


def is_redissons(owner: str) -> bool:
    """Whether an owner on the wire is Redisson's: its uuids have the version 4, ours 8."""
    return owner[14] == "4"


def queues_of(kind_names: Sequence[str]) -> Dict[str, str]:
    """The names of kinds that queue, and the keys of their queues."""
    return {
        name: KINDS[kind].queue.format(name=name) for kind in kind_names if KINDS[kind].queue for name in names_of(kind)
    }


def sections_of(kind_names: Sequence[str]) -> Sequence[Tuple[str, str]]:
    """Kinds, and names of theirs that a witness is to watch."""
    return [
        (kind, member)
        for kind in kind_names
        if "witness" in KINDS[kind].checks
        for member in sorted({member for name in names_of(kind) for member in name.split("+")})
    ]
