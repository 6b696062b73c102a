"""The mutants whose change cannot be noticed, each with its reason: equivalent.txt in this folder.

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
        """The key of the mutant of this entry."""
        words = [self.area, self.function, self.operator, self.before, self.after]
        return "\n".join(words + ([self.number] if self.number else []))


def read(path: Path = PATH) -> Dict[str, Entry]:
    """Returns all entries by their keys. Empty lines separate entries; lines that begin with # are comments."""
    found: Dict[str, Entry] = {}
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    for block in "\n".join(lines).split("\n\n"):
        if block.strip():
            entry = parse(block.strip("\n"))
            found[entry.key] = entry
    return found


def parse(block: str) -> Entry:
    """Parses one entry: `area function operator`, the line before and after, and the reason."""
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
    """Returns a mutant as an entry without its reason."""
    number = f" {mutant.number}" if mutant.number else ""
    return (f"mutant: {mutant.place} {mutant.function} {mutant.edit.operator}{number}\n"
            f"- {mutant.before}\n+ {mutant.after}\nbecause: ")


def stale(entries: Dict[str, Entry], mutants: Iterable[Mutant]) -> List[Entry]:
    """Returns the entries that no mutant fits any more."""
    keys = {mutant.key for mutant in mutants}
    return [entry for key, entry in entries.items() if key not in keys]
