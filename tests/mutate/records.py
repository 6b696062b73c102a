"""Results of earlier runs, so that a run can be resumed and only survivors are tested again:
build/mutate/records.jsonl.

SPDX-License-Identifier: Apache-2.0
"""

import json
import threading
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Dict, List, Optional

NOTICED, LIVED, EQUIVALENT = "noticed", "lived", "equivalent"


@dataclass
class Record:
    """The results of one mutant: what noticed it, or which layers did not, in which state of the project."""

    key: str
    layer: str = ""
    by: str = ""
    silent: List[str] = field(default_factory=list)
    digest: str = ""

    def verdict(self, layers: List[str], digest: str) -> Optional[str]:
        """Returns the verdict of these layers, or None if they have to run."""
        if self.layer and self.layer in layers:
            return NOTICED
        if self.digest == digest and set(layers) <= set(self.silent):
            return LIVED
        return None


class Records:
    """All records, in a file. Each record is appended as soon as it is known, and the last record of a key counts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = threading.Lock()
        self.known: Dict[str, Record] = {}
        if path.is_file():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    record = Record(**json.loads(line))
                except ValueError:
                    continue  # an incomplete line of a killed run
                self.known[record.key] = record

    def get(self, key: str, digest: str) -> Record:
        """Returns the record of a key. From another state of the project, only what noticed the mutant counts, since
        tests may have been added."""
        record = self.known.get(key, Record(key))
        if record.digest != digest:
            record = Record(key, record.layer, record.by, [], digest)
        return record

    def forget(self) -> None:
        """Deletes all records."""
        self.known = {}
        self.path.unlink(missing_ok=True)

    def add(self, record: Record) -> None:
        """Writes a record at once."""
        with self.lock, self.path.open("a", encoding="utf-8") as out:
            self.known[record.key] = record
            out.write(json.dumps(asdict(record)) + "\n")
