# SPDX-License-Identifier: Apache-2.0
"""The kinds of lock that the soak takes, one row each: how each language makes it, and what judges its history.

Workers know shapes: how a thing is taken and given back. A kind whose shape they know needs a row here and no more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, Optional, Tuple

LANGUAGES = ("c", "python", "lua", "java")


@dataclass(frozen=True)
class Kind:
    """A kind of lock. `number` is C's, `maker` the method of a client in Python and Lua, `theirs` Redisson's word in
    tests/interop/redisson/.../Objects.java, or None where Redisson has none."""

    number: int
    maker: str
    theirs: Optional[str]
    # The checkers that judge it, by their names in checkers/__init__.py; what is true of every wait is always judged.
    checks: Tuple[str, ...] = ("exclusion",)
    shape: str = "lock"
    # Options of the maker, the same in C, Python and Lua: 0 and 1.
    options: Dict[str, int] = field(default_factory=dict)
    reentrant: bool = True
    # Kinds of one family share their names, and are judged together.
    family: str = ""
    # How many names there are.
    names: int = 2
    # Keys that stay when nobody holds anything, with {name} in the place of the name.
    stays: Tuple[str, ...] = ()

    def languages(self) -> Tuple[str, ...]:
        """Those that have it."""
        return LANGUAGES if self.theirs else LANGUAGES[:-1]

    def word(self, language: str) -> str:
        """What a worker of a language calls it."""
        return {"c": str(self.number), "java": str(self.theirs)}.get(language, self.maker)


KINDS: Dict[str, Kind] = {
    "mutex": Kind(1, "lock", "lock"),
    "non-reentrant": Kind(1, "lock", "non-reentrant", options={"reentrant": 0}, reentrant=False),
    "fenced": Kind(
        2, "fenced_lock", "fenced", ("exclusion", "tokens"), stays=("redisson_lock_token:{{{name}}}",)
    ),
    "spin": Kind(4, "spin_lock", "spin"),
    "plain": Kind(7, "plain_lock", None, reentrant=False),
}


def names_of(kind_name: str) -> Tuple[str, ...]:
    """The names that locks of a kind have."""
    kind = KINDS[kind_name]
    return tuple(f"soak:{kind.family or kind_name}:{index}" for index in range(kind.names))
