# SPDX-License-Identifier: Apache-2.0
"""redis-py's own tests of its locks, run with those of redlatch.compat.redis_py and redis_py_asyncio in their place.

    run.py [PYTEST ARGUMENT...]

They are no part of this tree: the source distribution of the redis-py that tests/requirements.txt names is fetched, and
its tests are unpacked into build/redis-py. What cannot pass is listed in swap.py with the reason, and must fail.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import List, Tuple

import swap
from support import RedisServer

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "tests" / "requirements.txt"
FOLDER = ROOT / "build" / "redis-py"
# pip runs the build backend of what it downloads as source. Of that only the version is fixed.
BACKEND = "hatchling==1.27.0"


def requirement() -> Tuple[str, List[str]]:
    """The version of redis-py, and its lines in the requirements, with the hashes."""
    text = REQUIREMENTS.read_text(encoding="utf-8")
    found = re.search(r"^redis==(\S+) \\\n(?: +--hash=\S+(?: \\)?\n)+", text, re.MULTILINE)
    if not found:
        raise SystemExit(f"{REQUIREMENTS}: redis is missing, or without hashes")
    return found[1], found[0].splitlines()


def fetched() -> Path:
    """The folder that has the package `tests` of redis-py; fetches it if it is not there."""
    version, lines = requirement()
    folder = FOLDER / version
    if not (folder / "tests").is_dir():
        with tempfile.TemporaryDirectory() as temporary:
            listed, backend = Path(temporary) / "requirements.txt", Path(temporary) / "backend.txt"
            listed.write_text("\n".join(lines) + "\n", encoding="utf-8")
            backend.write_text(BACKEND + "\n", encoding="utf-8")
            subprocess.run(
                [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                 "--no-binary=redis", "--require-hashes", "--dest", temporary, "-r", str(listed)],
                check=True, env={**os.environ, "PIP_CONSTRAINT": str(backend)},
            )  # fmt: skip
            unpack(next(Path(temporary).glob("redis-*.tar.gz")), folder)
    return folder


def unpack(archive: Path, folder: Path) -> None:
    """The tests of a source distribution, which is known by its hash."""
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive) as opened:
        for member in opened.getmembers():
            path = Path(*Path(member.name).parts[1:])
            content = opened.extractfile(member) if member.isfile() else None
            if content is not None and path.suffix == ".py" and path.parts[0] == "tests":
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(content.read())


def main() -> int:
    """The exit status."""
    folder = fetched()
    settings = folder / "pytest.ini"
    settings.write_text("[pytest]\nasyncio_mode = auto\n", encoding="utf-8")
    with RedisServer() as server:
        command = [
            sys.executable, "-m", "pytest", "-c", str(settings), "--rootdir", str(folder), "-p", "swap", "-q", "-rx",
            "--timeout=120", "--color=no", "--redis-url", server.url, *sys.argv[1:],
            *(str(folder / swap.path(module)) for module in swap.MODULES),
        ]  # fmt: skip
        paths = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
        return subprocess.run(command, cwd=folder, env={**os.environ, "PYTHONPATH": paths}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
