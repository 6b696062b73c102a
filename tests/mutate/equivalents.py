"""The mutants that change nothing anybody could notice, each with its reason: equivalent.txt beside this file.

SPDX-License-Identifier: Apache-2.0
"""

from pathlib import Path
from typing import Dict, Iterable, List, NamedTuple

from mutants import Mutant

PATH = Path(__file__).with_name("equivalent.txt")


class Entry(NamedTuple):
    """One entry: the parts of a mutant's key, and the reason."""

    area: str
    function: str
    operator: str
    before: str
    after: str
    number: str
    reason: str

    @property
    def key(self) -> str:
        """The key of the mutant that is meant."""
        words = [self.area, self.function, self.operator, self.before, self.after]
        return "\n".join(words + ([self.number] if self.number else []))


def read(path: Path = PATH) -> Dict[str, Entry]:
    """All entries by their keys. Entries are parted by empty lines; lines that begin with # are for readers."""
    found: Dict[str, Entry] = {}
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    for block in "\n".join(lines).split("\n\n"):
        if block.strip():
            entry = parse(block.strip("\n"))
            found[entry.key] = entry
    return found


def parse(block: str) -> Entry:
    """One entry: `area function operator`, the line before and after, why."""
    parts: Dict[str, str] = {}
    for line in block.splitlines():
        mark, _, rest = line.partition(" ")
        parts[mark] = f"{parts[mark]} {rest.strip()}" if mark in parts else rest.strip()
    words = parts.get("mutant:", "").split()
    if len(words) not in (3, 4) or set(parts) != {"mutant:", "-", "+", "because:"} or not parts["because:"]:
        raise SystemExit(f"{PATH.name}: expected the lines 'mutant: AREA FUNCTION OPERATOR [NUMBER]', '- ...', '+ ...' "
                         f"and 'because: ...', got:\n{block}")
    number = words[3] if len(words) == 4 else ""
    return Entry(words[0], words[1], words[2], parts["-"], parts["+"], number, parts["because:"])


def entry_text(mutant: Mutant) -> str:
    """A mutant as an entry that lacks its reason."""
    number = f" {mutant.number}" if mutant.number else ""
    return (f"mutant: {mutant.place} {mutant.function} {mutant.edit.operator}{number}\n"
            f"- {mutant.before}\n+ {mutant.after}\nbecause: ")


def stale(entries: Dict[str, Entry], mutants: Iterable[Mutant]) -> List[Entry]:
    """The entries that no mutant fits any more."""
    keys = {mutant.key for mutant in mutants}
    return [entry for key, entry in entries.items() if key not in keys]
