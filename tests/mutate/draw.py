"""Draws the mutants and orders them. The seed and the mutant's own text decide, so changes of other code do not change
the draw.

SPDX-License-Identifier: Apache-2.0
"""

from hashlib import sha256
from typing import Dict, Iterator, List

from mutants import Mutant


def rank(seed: str, text: str) -> bytes:
    """Returns a sort key that the seed decides."""
    return sha256(f"{seed}\n{text}".encode()).digest()


def order_of(seed: str, mutants: List[Mutant]) -> Iterator[Mutant]:
    """Yields the mutants of an area in the order in which they are drawn. The operators take turns."""
    by_operator: Dict[str, List[Mutant]] = {}
    for mutant in mutants:
        by_operator.setdefault(mutant.edit.operator, []).append(mutant)
    piles = [sorted(by_operator[name], key=lambda mutant: rank(seed, mutant.key), reverse=True)
             for name in sorted(by_operator, key=lambda name: rank(seed, f"{mutants[0].area} {name}"))]
    while piles:
        for pile in piles:
            yield pile.pop()
        piles = [pile for pile in piles if pile]


def shares(count: int, areas: List[str]) -> Dict[str, int]:
    """Returns how many mutants are drawn from each area: the same number, and the remainder from the first areas."""
    each, more = divmod(count, len(areas))
    return {area: each + (place < more) for place, area in enumerate(areas)}
