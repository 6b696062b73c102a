"""Records which end-to-end test files run which functions of C and Python, so that only those files run against a
mutant: ./dev mutate --map.

Each test file is run once against a build that counts lines. The results of gcov and of recorder/sitecustomize.py are
kept in build/mutate/map.json. If the map does not know a function, all test files run, so an old map costs time and
hides nothing.
SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Dict, List, Set

from layer import configure
from worktree import Worktree

FOLDER = "build/coverage"
FILE_LIMIT = 1800.0  # seconds for one file of tests
RECORDER = Path(__file__).with_name("recorder")


def functions_run(build: Path) -> Set[str]:
    """Returns the functions of the core and the command that ran, by the counters in a build folder."""
    counters = sorted(str(path) for path in build.rglob("*.gcda"))
    found: Set[str] = set()
    for begin in range(0, len(counters), 50):
        done = subprocess.run(["gcov", "--json-format", "--stdout", *counters[begin:begin + 50]], cwd=build,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
        for line in done.stdout.splitlines():
            for file in json.loads(line)["files"]:
                found.update(function["name"] for function in file["functions"] if function["execution_count"] > 0)
    return found


def run_file(tree: Worktree, file: str) -> Set[str]:
    """Returns the functions that one test file runs. Tests that fail because of the slow build count, too."""
    build = tree.path / FOLDER
    for path in build.rglob("*.gcda"):
        path.unlink()
    of_python = tree.home / "functions.txt"
    of_python.write_text("", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": f"{RECORDER}:{build / 'python'}:{tree.path / 'tests'}",
                   "REDLATCH_FUNCTIONS": str(of_python), "REDLATCH_TEST_LUA_BUILD": FOLDER}
    subprocess.run([str(tree.python), "-m", "pytest", "--timeout=120", "-q", "-n", "4", "--dist", "worksteal", file],
                   cwd=tree.path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   timeout=FILE_LIMIT, check=False)
    return functions_run(build) | set(of_python.read_text(encoding="utf-8").split())


def record(tree: Worktree) -> None:
    """Runs every test file and keeps the map. Results of an interrupted run are kept, and these files do not run
    again."""
    definitions = ["-DREDLATCH_COVERAGE=ON", "-DREDLATCH_PYTHON=ON", "-DREDLATCH_LUA=lua5.1;lua5.4",
                   f"-DPython_EXECUTABLE={tree.python}"]
    configure(tree, FOLDER, definitions)
    subprocess.run(["cmake", "--build", FOLDER, "--parallel", "2"], cwd=tree.path, stdout=subprocess.DEVNULL,
                   check=True)
    path = tree.home / "map.json"
    partial = path.with_suffix(".partial")
    ran: Dict[str, List[str]] = json.loads(partial.read_text(encoding="utf-8")) if partial.is_file() else {}
    for file in sorted(f"tests/e2e/{test.name}" for test in (tree.path / "tests" / "e2e").glob("test_*.py")):
        if file not in ran:
            ran[file] = sorted(run_file(tree, file))
            partial.write_text(json.dumps(ran), encoding="utf-8")
            print(f"{file}: {len(ran[file])} functions", flush=True)
    partial.replace(path)
