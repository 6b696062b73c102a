"""What a long run of `./dev mutate` or `./dev fuzz` leaves: its date, commit, command and result, as JSON in build/.

A file that is copied into tests/mutate/recorded or tests/fuzz/recorded is a row of docs/proof/verification.md
(lint/recorded.py).
SPDX-License-Identifier: Apache-2.0
"""

import datetime
import json
import shlex
import subprocess
from pathlib import Path
from typing import Any, Dict, List

ROOT = Path(__file__).resolve().parents[1]


def write(path: Path, command: List[str], result: Dict[str, Any]) -> None:
    """Writes the record of a run that ends now. A commit with "-dirty" is one of a tree that was changed."""
    described = subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"], cwd=ROOT,
                               check=False, stdout=subprocess.PIPE, text=True).stdout.strip() or "unknown"
    record = {"date": datetime.date.today().isoformat(), "commit": described, "command": shlex.join(command), **result}
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
