"""The copies of the project in which mutants are planted: build/mutate/tree-1 and so on. The files of the user are
never written.

A copy that a killed run left with a mutant is repaired before it is used again.
SPDX-License-Identifier: Apache-2.0
"""

import fcntl
import os
import subprocess
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import IO, Dict, Iterable, Iterator, List, Set


class Worktree:
    """A copy and its lock, which keeps two runs from sharing the copy."""

    def __init__(self, root: Path, number: int = 1) -> None:
        self.root = root
        self.home = root / "build" / "mutate"
        self.path = self.home / f"tree-{number}"
        self.build = self.path / "build"
        self.python = root / "build" / "venv" / "bin" / "python"
        self.digest = ""
        # Targets that tests load, by build folder: those built with the planted mutant, and those that still contain an
        # earlier mutant.
        self.built: Dict[str, Set[str]] = {}
        self.stale: Dict[str, Set[str]] = {}
        self.path.mkdir(parents=True, exist_ok=True)
        self.lock: IO[str] = self.path.with_suffix(".lock").open("w", encoding="utf-8")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit(f"another run of mutation tests uses {self.path}") from None

    def listed(self) -> List[str]:
        """Returns the project's files, committed or not, without those that git ignores."""
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(command, cwd=self.root, check=True, stdout=subprocess.PIPE).stdout.decode().split("\0")
        return sorted({name for name in names if name and (self.root / name).is_file()})

    def update(self) -> None:
        """Makes the copy equal to the project. Changed files get a new modification time, so they are compiled
        again."""
        names = self.listed()
        digest = sha256()
        for name in names:
            source, copy = self.root / name, self.path / name
            content = source.read_bytes()
            digest.update(name.encode() + b"\0" + content)
            if not copy.is_file() or copy.read_bytes() != content:
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(content)
            copy.chmod(source.stat().st_mode)
        self.remove_others(set(names))
        self.digest = digest.hexdigest()

    def remove_others(self, names: "set[str]") -> None:
        """Removes copies of files that are gone."""
        for folder, folders, files in os.walk(self.path):
            if Path(folder) == self.path:
                folders[:] = [name for name in folders if name != "build"]
            for file in files:
                path = Path(folder) / file
                if str(path.relative_to(self.path)) not in names and path.suffix != ".pyc":
                    path.unlink()

    @contextmanager
    def planted(self, path: str, text: str) -> Iterator[None]:
        """Replaces the text of one file in the copy meanwhile."""
        copy = self.path / path
        original = copy.read_bytes()
        try:
            copy.write_text(text, encoding="utf-8")
            yield
        finally:
            copy.write_bytes(original)
            for folder, targets in self.built.items():
                self.stale.setdefault(folder, set()).update(targets)
            self.built = {}

    def to_build(self, folder: str, targets: Iterable[str]) -> List[str]:
        """Returns the targets, and those that still contain an earlier mutant."""
        wanted = {*targets, *self.stale.pop(folder, set())}
        self.built.setdefault(folder, set()).update(wanted)
        return sorted(wanted)
