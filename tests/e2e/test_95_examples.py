# SPDX-License-Identifier: Apache-2.0
"""The programs under examples/ run as their first lines say. Those for Lua's event loops are in test_95_lua.py."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Dict, Tuple

import pytest
import redlatch
from support import RedisServer
from support.lua_programs import ROOT
from support.shell import program as command
from support.wire import build_directory

EXAMPLES = ROOT / "examples"
# What each example prints, in this order.
SAYS: Dict[str, Tuple[str, ...]] = {
    "c/lock.c": ("held as", "released"),
    "c/event_loop.c": ("task 0 has the lock", "task 1 has the lock", "done"),
    "python/leader.py": ("leading", "turn 0", "turn 1", "no longer leading"),
    "python/fenced_store.py": ("second writes: True", "first writes late: False", "first is told: expired"),
    "python/worker.py": ("working", "job 0 step 0", "job 1 step 2", "done"),
    "python/test_worker.py": ("3 passed",),
    "python/limit.py": ("10 workers are done, never more than 3 at a time: True",),
    "shell/nightly.sh": ("doing the work of",),
    "shell/deploy.sh": ("building shop", "shop is switched over"),
}
ARGUMENTS = {"python/leader.py": ["2"], "shell/deploy.sh": ["shop"]}


def run(example: str, server: RedisServer, folder: Path, **more: str) -> str:
    """Runs an example, which must succeed, and returns what it prints."""
    source, library = EXAMPLES / example, build_directory() / "core"
    start = [str(source)]
    if source.name.startswith("test_"):
        start = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(source)]
    elif source.suffix == ".py":
        start = [sys.executable, str(source)]
    elif source.suffix == ".c":
        start = [str(folder / "program")]
        flags = ["-Wall", "-Wextra", "-Werror", f"-I{ROOT}/core/include", f"-L{library}", "-lredlatch"]
        subprocess.run(["cc", str(source), *flags, "-o", *start], check=True, timeout=60)
    values = {**os.environ, "REDIS_URL": server.url, "LD_LIBRARY_PATH": str(library),
              "PYTHONPATH": str(Path(redlatch.__file__).resolve().parents[1]),
              "PATH": f"{Path(command()).parent}:{os.environ['PATH']}", "AT_LEAST": "0", **more}
    done = subprocess.run([*start, *ARGUMENTS.get(example, [])], capture_output=True, text=True, timeout=60,
                          check=False, env=values)
    assert done.returncode == 0, f"{example}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("example", SAYS)
def test_example(server: RedisServer, tmp_path: Path, example: str) -> None:
    printed = run(example, server, tmp_path)
    places = [printed.find(words) for words in SAYS[example]]
    assert -1 not in places and places == sorted(places), printed
    # Counters of tokens stay for ever, records of operations for a minute.
    keys = [key for key in server.admin.keys("*") if not key.startswith((b"redisson_lock_token:", b"redlatch_op:"))]
    assert keys == []


def test_the_nightly_job_runs_once(server: RedisServer, tmp_path: Path) -> None:
    """The second machine comes while the lock is kept, and leaves without an error."""
    assert "doing the work" in run("shell/nightly.sh", server, tmp_path, AT_LEAST="30")
    assert run("shell/nightly.sh", server, tmp_path, AT_LEAST="30") == ""


def test_every_example_is_run_and_listed() -> None:
    found = {str(path.relative_to(EXAMPLES)) for language in ("c", "python", "shell")
             for path in (EXAMPLES / language).iterdir() if path.is_file()}
    assert found - {"python/conftest.py"} == set(SAYS)
    frameworks = {str(path.relative_to(EXAMPLES)) for path in (EXAMPLES / "python" / "frameworks").iterdir()
                  if not path.name.startswith((".", "__"))}  # run by tests/frameworks
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert [example for example in {*SAYS, *frameworks} if f"]({example})" not in page] == []
