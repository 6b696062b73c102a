"""Places that have never seen the project, made in build/release/chroots: an empty folder, other Debians, another
processor; and the README's programs, which are run there.

SPDX-License-Identifier: Apache-2.0
"""

import contextlib
import http.server
import os
import re
import shutil
import subprocess
import threading
from functools import partial
from pathlib import Path
from typing import Dict, Iterator, List

ROOT = Path(__file__).resolve().parents[2]
CHROOTS = ROOT / "build" / "release" / "chroots"
URL = "redis://127.0.0.1:6379/0"


def run(command: List[str], folder: Path = ROOT, **environment: str) -> str:
    """What a command that must succeed prints."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          stdin=subprocess.DEVNULL, env={**os.environ, **environment}, cwd=folder)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}\nended with {done.returncode}\n{done.stdout[-3000:]}")
    return done.stdout


def expect(good: bool, what: str) -> None:
    """Fails with what was expected."""
    if not good:
        raise AssertionError(f"expected {what}")


def only(folder: Path, pattern: str) -> Path:
    """The one file of that name."""
    found = sorted(folder.glob(pattern))
    expect(len(found) == 1, f"one {pattern} in {folder}, found {len(found)}")
    return found[0]


def fresh(name: str) -> Path:
    """An empty folder."""
    folder = CHROOTS / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def debian(name: str, suite: str, options: List[str]) -> Path:
    """Another Debian, which is kept for the next time."""
    folder = CHROOTS / name
    if not folder.is_dir():
        CHROOTS.mkdir(parents=True, exist_ok=True)
        partial = CHROOTS / f"{name}.partial"
        run(["mmdebstrap", "--quiet", *options, suite, str(partial)])
        partial.rename(folder)
    return folder


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and logs nothing."""

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serves a folder on a free port meanwhile; the address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def example(language: str, url: str) -> str:
    """The first program of a language in the README, for a server at another port."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found: Dict[str, List[str]] = {}
    for fence, program in re.findall(r"^```(\w+)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE):
        found.setdefault(fence, []).append(program)
    return found[language][0].replace(URL, url)
