# SPDX-License-Identifier: Apache-2.0
"""Scenarios register themselves: a file in scenarios/ with a function under @scenario is all that a new one needs."""

from __future__ import annotations

import importlib
import pkgutil
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Callable, Dict, List, Tuple

from .figures import Report

if TYPE_CHECKING:
    from .bench import Bench

Run = Callable[["Bench", Report], None]


@dataclass(frozen=True)
class Scenario:
    """One scenario of the performance targets."""

    name: str
    title: str
    run: Run

    @property
    def order(self) -> Tuple[str, int]:
        """P2 stands before P10."""
        found = re.fullmatch(r"([A-Z]+)(\d+)", self.name)
        if found is None:
            raise ValueError(f"a scenario is named by letters and a number, such as P1, not {self.name!r}")
        return found.group(1), int(found.group(2))


_registered: Dict[str, Scenario] = {}


def scenario(name: str, title: str) -> Callable[[Run], Run]:
    """Registers the decorated function under a name such as "P1"."""

    def register(run: Run) -> Run:
        if name in _registered:
            raise ValueError(f"two scenarios are named {name}")
        _registered[name] = Scenario(name, title, run)
        return run

    return register


def discover(package: str) -> List[Scenario]:
    """All scenarios of a package, in order."""
    found = importlib.import_module(package)
    for module in pkgutil.iter_modules(found.__path__):
        importlib.import_module(f"{package}.{module.name}")
    return sorted(_registered.values(), key=lambda entry: entry.order)
