"""Environments without the project, made in build/release/chroots: an empty folder, other versions of Debian, another
processor; and the README's programs, which run there.

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
    """Runs a command that must succeed, and returns its output."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          stdin=subprocess.DEVNULL, env={**os.environ, **environment}, cwd=folder)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}\nended with {done.returncode}\n{done.stdout[-3000:]}")
    return done.stdout


def expect(good: bool, what: str) -> None:
    """Fails with what was expected, unless `good`."""
    if not good:
        raise AssertionError(f"expected {what}")


def only(folder: Path, pattern: str) -> Path:
    """Returns the one file that matches the pattern."""
    found = sorted(folder.glob(pattern))
    expect(len(found) == 1, f"one {pattern} in {folder}, found {len(found)}")
    return found[0]


def fresh(name: str) -> Path:
    """Returns an empty folder."""
    folder = CHROOTS / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def debian(name: str, suite: str, options: List[str]) -> Path:
    """Returns another Debian, which is kept for the next time."""
    folder = CHROOTS / name
    if not folder.is_dir():
        CHROOTS.mkdir(parents=True, exist_ok=True)
        partial = CHROOTS / f"{name}.partial"
        run(["mmdebstrap", "--quiet", *options, suite, str(partial)])
        partial.rename(folder)
    return folder


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files without logging."""

    def log_message(self, *_: object) -> None:
        """Logs nothing."""


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serves a folder on a free port meanwhile. Yields the address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def example(language: str, url: str) -> str:
    """Returns the README's first program of a language, with another server's URL."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found: Dict[str, List[str]] = {}
    for fence, program in re.findall(r"^```(\w+)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE):
        found.setdefault(fence, []).append(program)
    return found[language][0].replace(URL, url)
