"""Checks the locks of Python packages: each requirements.txt is made from the requirements.in in its folder, has a hash
of every package, and no address.

SPDX-License-Identifier: Apache-2.0
"""

import re
from pathlib import Path
from typing import List, Set, Tuple

from tree import complaint, files, lines


def entries(path: Path) -> List[Tuple[int, str, int]]:
    """Returns the pins of a file of requirements: the line, "name==version", and the number of hashes."""
    found: List[Tuple[int, str, int]] = []
    for number, line in lines(path):
        words = line.split("#")[0].split()
        if words and not words[0].startswith("--"):
            found.append((number, words[0], 0))
        elif words and words[0].startswith("--hash=sha256:") and found:
            first, pin, hashes = found[-1]
            found[-1] = (first, pin, hashes + 1)
    return found


def check(root: Path) -> List[str]:
    """Returns all complaints about the locks."""
    return [each for wanted in files(root, ["requirements.in"]) for each in check_pair(root, wanted)]


def check_pair(root: Path, wanted: Path) -> List[str]:
    """Returns all complaints about the two files of one folder."""
    complaints: List[str] = []
    lock = wanted.with_suffix(".txt")
    locked: Set[str] = set()
    for number, pin, hashes in entries(lock):
        locked.add(pin)
        if not hashes or not re.fullmatch(r"[a-z0-9-]+==[0-9a-z.]+", pin):
            complaints.append(complaint(root, lock, number, f"{pin}: expected name==version with its hashes"))
    for number, pin, _ in entries(wanted):
        if pin not in locked:
            complaints.append(complaint(root, wanted, number, f"{pin} is not in {lock.relative_to(root).as_posix()};"
                                        " ./dev requirements makes it anew"))
    for path in (wanted, lock):
        for number, line in lines(path):
            if "://" in line or "index-url" in line:
                complaints.append(complaint(root, path, number, "names a place; where pip looks is its user's"))
    return complaints
