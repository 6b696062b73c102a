"""What earlier runs found, so that a run can be resumed and only what lived is asked again: build/mutate/records.jsonl.

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
    """What is known of one mutant: who noticed it, or which layers did not, in which state of the project."""

    key: str
    layer: str = ""
    by: str = ""
    silent: List[str] = field(default_factory=list)
    digest: str = ""

    def verdict(self, layers: List[str], digest: str) -> Optional[str]:
        """What these layers say; None if they have to be asked."""
        if self.layer and self.layer in layers:
            return NOTICED
        if self.digest == digest and set(layers) <= set(self.silent):
            return LIVED
        return None


class Records:
    """All records, in a file to which each is appended as soon as it is known; the last one of a key counts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = threading.Lock()
        self.known: Dict[str, Record] = {}
        if path.is_file():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    record = Record(**json.loads(line))
                except ValueError:
                    continue  # a line that a killed run did not finish
                self.known[record.key] = record

    def get(self, key: str, digest: str) -> Record:
        """What is known; of another state of the project only what noticed it, since a test may have come since."""
        record = self.known.get(key, Record(key))
        if record.digest != digest:
            record = Record(key, record.layer, record.by, [], digest)
        return record

    def forget(self) -> None:
        """Begins anew."""
        self.known = {}
        self.path.unlink(missing_ok=True)

    def add(self, record: Record) -> None:
        """Notes a record at once."""
        with self.lock, self.path.open("a", encoding="utf-8") as out:
            self.known[record.key] = record
            out.write(json.dumps(asdict(record)) + "\n")
